//! Records in a file: a line of JSON for each item of the table, after one that says when it was written.

use std::{collections::BTreeMap, fs, io::Write as _, path::Path, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use model::{
    ledger::{Decision, Snapshot},
    recorded::RecordedFacts,
};
use report::error::{BadInput, CommandError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Records;

#[derive(Debug, Serialize, Deserialize)]
struct HeaderLine {
    ledger: u32,
    at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
struct ItemLine<'a> {
    item: String,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// The version of the file.
const VERSION: u32 = 1;

/// What decisions were made on, by the number of the facts, as it is written. To pack it takes longer than all else.
#[derive(Debug, Default)]
pub struct PackedFacts(BTreeMap<u64, String>);

impl PackedFacts {
    /// Holds `facts` afterwards, of which those that it held before are not packed again: facts do not change.
    pub fn update(&mut self, facts: &BTreeMap<u64, Rc<RecordedFacts>>) {
        self.0.retain(|number, _| facts.contains_key(number));
        for (number, recorded) in facts {
            let RecordedFacts { question, facts, plan } = &**recorded;
            let packed = || STANDARD.encode(wire::recorded::encode(question, facts, plan));
            self.0.entry(*number).or_insert_with(packed);
        }
    }
}

impl From<&BTreeMap<u64, Rc<RecordedFacts>>> for PackedFacts {
    fn from(facts: &BTreeMap<u64, Rc<RecordedFacts>>) -> Self {
        let mut packed = Self::default();
        packed.update(facts);
        packed
    }
}

/// Writes claims, commands, decisions and what these were made on, as they were at `at`.
pub fn write(
    path: &Path,
    (at, ledger): (Timestamp, &Snapshot),
    decisions: &[Decision],
    facts: &PackedFacts,
) -> Result<(), CommandError> {
    let mut text = json(&HeaderLine { ledger: VERSION, at })?;
    let mut add = |item: String, record: String| -> Result<(), CommandError> {
        let record: Box<RawValue> = serde_json::from_str(&record).map_err(std::io::Error::from)?;
        text.push('\n');
        text.push_str(&json(&ItemLine { item, record: &record })?);
        Ok(())
    };
    for claim in ledger.claims.values() {
        add(format!("claim#{}", claim.name), wire::record::encode_claim(claim))?;
    }
    for (id, command) in &ledger.commands {
        add(format!("command#{id}"), wire::record::encode_command(command))?;
    }
    for decision in decisions {
        add(format!("decision#{}", decision.id()), wire::record::encode_decision(decision))?;
    }
    for (number, packed) in &facts.0 {
        add(facts_item(*number), json(packed)?)?;
    }
    let mut file = fs::File::create(path)
        .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?;
    writeln!(file, "{text}")?;
    Ok(())
}

fn json(line: &impl Serialize) -> Result<String, CommandError> {
    Ok(serde_json::to_string(line).map_err(std::io::Error::from)?)
}

/// The item of the facts that are kept under `number`.
fn facts_item(number: u64) -> String {
    format!("{}{number:016x}", super::FACTS_PREFIX)
}

/// The packed facts under `number`, if they are there.
pub(super) fn facts(path: &Path, number: u64) -> Result<Option<Vec<u8>>, BadInput> {
    let bad = |problem: String| BadInput::one(format!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let wanted = facts_item(number);
    let its = |line: &str| {
        let item: ItemLine<'_> = serde_json::from_str(line).ok()?;
        (item.item == wanted).then(|| serde_json::from_str::<String>(item.record.get()).ok())?
    };
    let Some(packed) = text.lines().skip(1).find_map(its) else { return Ok(None) };
    let packed = STANDARD.decode(packed);
    packed.map(Some).map_err(|error| bad(format!("{wanted}: {error}")))
}

/// Reads what [`write()`] wrote.
pub(super) fn read(path: &Path) -> Result<Records, BadInput> {
    let bad = |problem: String| BadInput::one(format!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let mut lines = text.lines().enumerate();
    let header = lines.next().map(|(_, line)| serde_json::from_str::<HeaderLine>(line));
    let header = match header {
        Some(Ok(header)) if header.ledger == VERSION => header,
        _ => {
            let rule = "is not a ledger that `simulate --ledger` writes";
            return Err(bad(format!("line 1: {rule}, version {VERSION}")));
        }
    };
    let mut records = Records { at: header.at, ..Records::default() };
    for (index, line) in lines {
        let item: ItemLine<'_> = serde_json::from_str(line)
            .map_err(|error| bad(format!("line {}: {error}", index + 1)))?;
        records.add(&item.item, item.record.get());
    }
    Ok(records)
}

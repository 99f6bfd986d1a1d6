//! `journeyman replay`: a decision made again, with today's program, from the facts that were kept with it.

mod html;
mod policy;
mod told;

use std::{io::Write, path::PathBuf};

use model::{
    Function, HourlyPrice, Plan,
    ledger::Decision,
    recorded::{Question, RecordedFacts},
};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    format::Format,
    json::{self, Dollars},
    output::dollars,
    page,
    progress::ProgressLine,
    screen::Screen,
};
use serde_json::{Value, json};

use self::told::Difference;
use crate::{
    manifests::{self, Depth},
    records::{self, RecordsArgs},
};

/// Options of `replay`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// ID of the decision or its beginning, as `explain` and `get decisions -o wide` print it.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Where it is read from.
    #[command(flatten)]
    pub records: RecordsArgs,
    /// Decide with the NodePools and NodeOverlays of these files: each replaces the one of its name
    /// or is added. Other objects are ignored and listed.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub with: Vec<PathBuf>,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
    /// Write a report for the browser: the nodes of both plans. One file, no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A decision, and the same made again.
struct Replay<'a> {
    decision: &'a Decision,
    question: &'a Question,
    then: &'a Plan,
    now: &'a Plan,
    difference: Difference,
    /// What of the files of --with changes nothing.
    notes: Vec<String>,
}

/// Decides again and prints; whether it is the same plan.
pub fn run(args: &ReplayArgs, screen: Screen, out: &mut impl Write) -> Result<bool, CommandError> {
    let source = args.records.found()?;
    let records = source.read()?;
    let decision = named(&records.decisions, &args.id)?;
    let mut recorded = facts_of(decision, &source)?;
    let mut notes = Vec::new();
    if !args.with.is_empty() {
        let loaded = manifests::load_part(&args.with, Depth::default())?;
        notes = policy::replace(&mut recorded, loaded);
    }
    let RecordedFacts { question, facts, plan: then } = &recorded;
    let deciding = ProgressLine::new("deciding again");
    let now = &planner::answer(facts, question, &planner::Memory::default()).plan;
    drop(deciding);
    let difference = Difference::of(then, now);
    let replay = Replay { decision, question, then, now, difference, notes };
    if let Some(path) = &args.html {
        page::write(&html::report(&replay, facts), path)?;
    }
    if args.output.is_document() {
        json::write(&replay.document(), args.output, out)?;
    } else {
        replay.print(screen, out)?;
    }
    Ok(replay.difference.is_none())
}

impl RunCommand for ReplayArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen.with_short_nodes(), &mut { out })
    }
}

/// The decision whose id begins with `id`.
fn named<'d>(decisions: &'d [Decision], id: &str) -> Result<&'d Decision, BadInput> {
    let is_meant =
        |decision: &&Decision| decision.short_id().starts_with(id) || decision.id() == id;
    let meant: Vec<&Decision> = decisions.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [] => Err(BadInput::one(format!(
            "there is no decision whose id begins with {id} in {}",
            model::words::counted(decisions.len(), "decision")
        ))),
        [decision] => Ok(decision),
        [first, second, ..] => Err(BadInput::one(format!(
            "{} decisions begin with {id}, {} and {} among them: give more of the id",
            meant.len(),
            first.short_id(),
            second.short_id()
        ))),
    }
}

/// The facts that were kept with `decision`; or a sentence that says why there are none.
fn facts_of(decision: &Decision, from: &RecordsArgs) -> Result<RecordedFacts, BadInput> {
    let id = decision.short_id();
    let number = decision.origin.as_ref().and_then(|origin| origin.recorded);
    let Some(number) = number else {
        let why = match decision.function {
            Function::Provision | Function::Disrupt | Function::Interrupt => {
                "was made without keeping its facts: they are kept with the setting `Record=facts`, of a \
                 simulation with `simulate --ledger FILE --record facts`"
                    .to_owned()
            }
            other => format!(
                "is by {other}, which chooses nothing: only decisions of provision, disrupt and interrupt are \
                 made again"
            ),
        };
        return Err(BadInput::one(format!("decision {id} {why}")));
    };
    let packed = from.facts(number)?.ok_or_else(|| {
        BadInput::one(format!(
            "the facts of decision {id} are not there any more: facts {number:016x} were deleted, or could not \
             be kept; the decision itself is still explained"
        ))
    })?;
    wire::recorded::decode(&packed)
        .map_err(|error| BadInput::one(format!("the facts of decision {id}: {error}")))
}

/// What was asked, as words.
const fn asked(question: &Question) -> &'static str {
    match question {
        Question::Provision => "which nodes pods and static NodePools need",
        Question::Disrupt { .. } => "which nodes are disrupted",
        Question::CarryOn => "how commands of disruption go on",
        Question::Interrupt(_) => "what becomes of nodes that EC2 takes back or ends",
    }
}

/// What the nodes that `plan` launches cost.
fn price(plan: &Plan) -> HourlyPrice {
    let prices = plan.new_claims.iter().map(|new| new.price);
    prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}

impl Replay<'_> {
    fn print(&self, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
        let decision = self.decision;
        let (id, at) = (decision.short_id(), decision.at);
        screen.title(&format!("decision {id}  {at:.0}  {}", decision.kind.as_str()), out)?;
        screen.text(2, &decision.summary, out)?;
        let version = decision.origin.as_ref().map(|origin| origin.version.as_str());
        let by = format!("{} {}", decision.function, version.unwrap_or_default());
        let this = env!("CARGO_PKG_VERSION");
        screen.text(4, &format!("decided by {by}, repeated by {this}"), out)?;
        screen.text(4, &format!("asked: {}", asked(self.question)), out)?;
        self.notes.iter().try_for_each(|note| screen.text(4, note, out))?;
        writeln!(out)?;
        let section =
            |title: &str, lines: &[String], out: &mut dyn Write| -> Result<(), CommandError> {
                let mut text = Vec::new();
                screen.title(title, &mut text)?;
                for line in lines {
                    screen.text(2, line, &mut text)?;
                }
                Ok(out.write_all(&text)?)
            };
        section("Recorded", &told::lines(self.then), out)?;
        writeln!(out)?;
        if self.difference.is_none() {
            section("Repeated", &["the same plan".to_owned()], out)?;
            return Ok(());
        }
        section("Repeated", &told::lines(self.now), out)?;
        writeln!(out)?;
        section("Difference", &self.difference.lines(), out)?;
        let [before, after] = [self.then, self.now].map(|plan| price(plan).nanos());
        if before != after {
            let [before, after] = [before, after].map(|nanos| dollars(u128::from(nanos)));
            let text = format!("what is launched costs {before} an hour then, {after} now");
            screen.text(2, &text, out)?;
        }
        Ok(())
    }

    fn document(&self) -> Value {
        let plan = |plan: &Plan| {
            json!({
                "plan": told::lines(plan),
                "decisions": plan.decisions.iter().map(records::decision).collect::<Vec<_>>(),
                "launchedPricePerHour": Dollars::from(price(plan)),
            })
        };
        json!({
            "decision": records::decision(self.decision),
            "asked": asked(self.question),
            "notes": self.notes,
            "isSame": self.difference.is_none(),
            "then": plan(self.then),
            "now": plan(self.now),
            "removed": self.difference.removed,
            "added": self.difference.added,
        })
    }
}

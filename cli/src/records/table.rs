//! Records in the table of a stack, asked with the `aws` command: whatever it takes to reach it, `aws` knows
//! already. It needs `dynamodb:Query` on the table.

use std::{collections::BTreeMap, io};

use base64::Engine as _;
use model::ClusterName;
use serde::Deserialize;
use serde_json::json;

use super::{Records, RecordsArgs};
use crate::{
    installation::now,
    manifests::BadInput,
    program::{self, Failed},
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    items: Vec<BTreeMap<String, Attribute>>,
    #[serde(default)]
    next_token: Option<String>,
}

/// An attribute as DynamoDB writes it: a text, bytes in base64, or what nobody here asks for.
#[derive(Default, Deserialize)]
struct Attribute {
    #[serde(rename = "S", default)]
    text: Option<String>,
    #[serde(rename = "B", default)]
    bytes: Option<String>,
}

/// Reads the items of `cluster` in `table`.
pub(super) fn read(
    args: &RecordsArgs,
    table: &str,
    cluster: &ClusterName,
) -> Result<Records, BadInput> {
    let mut records = Records { at: now(), ..Records::default() };
    for prefix in ["batch#", "claim#", "command#"] {
        let answer = query(args, (table, cluster), (prefix, "record"), None)?;
        take(&mut records, &answer);
    }
    let answer = query(args, (table, cluster), ("decision#", "record"), Some(args.records))?;
    records.is_cut = answer.next_token.is_some();
    take(&mut records, &answer);
    Ok(records)
}

/// The packed facts under `number`, if they are there: their items in the order of their keys.
pub(super) fn facts(
    args: &RecordsArgs,
    (table, cluster): (&str, &ClusterName),
    number: u64,
) -> Result<Option<Vec<u8>>, BadInput> {
    let prefix = format!("{}{number:016x}#", super::FACTS_PREFIX);
    let answer = query(args, (table, cluster), (&prefix, PART), None)?;
    let parts =
        put_together(&answer).map_err(|problem| BadInput::one(format!("{prefix}: {problem}")))?;
    Ok((!parts.is_empty()).then_some(parts))
}

/// The attribute of a part of facts.
const PART: &str = "part";

fn put_together(answer: &Answer) -> Result<Vec<u8>, String> {
    let mut packed = Vec::new();
    for item in &answer.items {
        let part = item.get(PART).and_then(|part| part.bytes.as_deref());
        let part = part.ok_or_else(|| format!("a part has no `{PART}`"))?;
        let part = base64::engine::general_purpose::STANDARD.decode(part);
        packed.extend(part.map_err(|error| format!("`{PART}`: {error}"))?);
    }
    Ok(packed)
}

/// `attribute` of items whose keys begin with `prefix`: of all, or of the newest ones.
fn query(
    args: &RecordsArgs,
    (table, cluster): (&str, &ClusterName),
    (prefix, attribute): (&str, &str),
    newest: Option<usize>,
) -> Result<Answer, BadInput> {
    let values = json!({ ":cluster": { "S": cluster.as_str() }, ":prefix": { "S": prefix } });
    let names = json!({ "#cluster": "cluster", "#item": "item", "#attribute": attribute });
    let (names, values) = (names.to_string(), values.to_string());
    let mut words = vec![
        "dynamodb",
        "query",
        "--table-name",
        table,
        "--key-condition-expression",
        "#cluster = :cluster AND begins_with(#item, :prefix)",
        "--projection-expression",
        "#item, #attribute",
        "--expression-attribute-names",
        &names,
        "--expression-attribute-values",
        &values,
    ];
    let most = newest.map(|most| most.to_string());
    match &most {
        Some(most) => words.extend(["--no-scan-index-forward", "--max-items", most]),
        None => words.push("--consistent-read"),
    }
    let mut command = program::aws(args.aws.as_deref(), args.region.as_deref(), words);
    let asked = format!("aws dynamodb query {table} {prefix}");
    let answer = program::output(&mut command).map_err(|failed| {
        BadInput::one(match failed {
            Failed::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => {
                "AWS is asked with the command `aws`, which is not there: install it, or read what a \
                 simulation left (`--ledger FILE`)"
                    .to_owned()
            }
            Failed::NotStarted(error) => format!("{asked}: {error}"),
            Failed::Said(said) => format!("{asked}: {said}"),
        })
    })?;
    // Nothing is printed where nothing is found by some versions.
    let answer = if answer.is_empty() { b"{\"Items\":[]}".to_vec() } else { answer };
    serde_json::from_slice(&answer).map_err(|error| BadInput::one(format!("{asked}: {error}")))
}

fn take(records: &mut Records, answer: &Answer) {
    for item in &answer.items {
        let key = item.get("item").and_then(|key| key.text.as_deref()).unwrap_or_default();
        match record(item.get("record")) {
            Ok(record) => records.add(key, &record),
            Err(problem) => records.cannot_read(key, problem),
        }
    }
}

fn record(attribute: Option<&Attribute>) -> Result<String, String> {
    match attribute {
        Some(Attribute { text: Some(text), .. }) => Ok(text.clone()),
        Some(Attribute { bytes: Some(bytes), .. }) => {
            let packed = base64::engine::general_purpose::STANDARD.decode(bytes);
            let packed = packed.map_err(|error| format!("`record`: {error}"))?;
            wire::packed::unpack(&packed).map_err(|error| format!("`record`: {error}"))
        }
        _ => Err("it has no `record`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_facts_are_put_together_in_their_order() {
        let part = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let answer = json!({ "Items": [
            { "item": { "S": "facts#7#00" }, "part": { "B": part(&[1, 2]) } },
            { "item": { "S": "facts#7#01" }, "part": { "B": part(&[3]) } },
        ] });
        let answer: Answer = serde_json::from_value(answer).unwrap();
        assert_eq!(put_together(&answer), Ok(vec![1, 2, 3]));
        let lacking = json!({ "Items": [{ "item": { "S": "facts#7#00" } }] });
        let lacking: Answer = serde_json::from_value(lacking).unwrap();
        assert_eq!(put_together(&lacking), Err("a part has no `part`".to_owned()));
    }

    /// An answer as `aws` prints it, with what functions write: packed bytes, and a text.
    #[test]
    fn items_are_read_in_either_form() {
        let decision = r#"{"v":1,"at":"2026-11-21T12:00:00Z","function":"provision","claims":[],"summary":"one"}"#;
        let packed = base64::engine::general_purpose::STANDARD.encode(wire::packed::pack(decision));
        let answer = json!({
            "Items": [
                { "item": { "S": "decision#a" }, "record": { "B": packed } },
                { "item": { "S": "decision#b" }, "record": { "S": decision } },
                { "item": { "S": "decision#c" }, "record": { "B": "AAAA" } },
                { "item": { "S": "decision#d" } },
            ],
            "NextToken": "more",
        });
        let answer: Answer = serde_json::from_value(answer).unwrap();
        assert!(answer.next_token.is_some());
        let mut records = Records::default();
        take(&mut records, &answer);
        let summaries: Vec<&str> =
            records.decisions.iter().map(|decision| decision.summary.as_str()).collect();
        assert_eq!(summaries, ["one", "one"]);
        let problems: Vec<String> = records
            .unreadable
            .iter()
            .map(|item| format!("{} {}", item.item, item.problem))
            .collect();
        assert_eq!(
            problems,
            [
                "decision#c `record`: it is packed in version 0, only 1 is supported",
                "decision#d it has no `record`"
            ]
        );
    }
}

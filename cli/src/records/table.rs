//! Records in the table of a stack. It needs `dynamodb:Query` on the table.

use installer::{
    installation::now,
    live::{self, AccountClient, ItemAttribute, ItemQuery, TableItem},
};
use model::ClusterName;
use report::error::BadInput;

use super::{Records, RecordsArgs};

fn account(args: &RecordsArgs) -> Result<AccountClient, BadInput> {
    live::needed("with --table")?;
    AccountClient::open(args.region.as_deref()).map_err(BadInput::one)
}

/// Reads the items of `cluster` in `table`.
pub(super) fn read(
    args: &RecordsArgs,
    table: &str,
    cluster: &ClusterName,
) -> Result<Records, BadInput> {
    let account = account(args)?;
    let query = |prefix, newest| {
        let asked =
            ItemQuery { table, cluster: cluster.as_str(), prefix, attribute: RECORD, newest };
        account.items(asked).map_err(BadInput::one)
    };
    let mut records = Records { at: now(), ..Records::default() };
    for prefix in ["batch#", "claim#", "command#"] {
        take(&mut records, &query(prefix, None)?.0);
    }
    let (items, is_cut) = query("decision#", Some(args.records))?;
    records.is_cut = is_cut;
    take(&mut records, &items);
    Ok(records)
}

/// The packed facts under `number`, if they are there: their items in the order of their keys.
pub(super) fn facts(
    args: &RecordsArgs,
    (table, cluster): (&str, &ClusterName),
    number: u64,
) -> Result<Option<Vec<u8>>, BadInput> {
    let prefix = format!("{}{number:016x}#", super::FACTS_PREFIX);
    let cluster = cluster.as_str();
    let asked = ItemQuery { table, cluster, prefix: &prefix, attribute: PART, newest: None };
    let (items, _) = account(args)?.items(asked).map_err(BadInput::one)?;
    let parts =
        put_together(&items).map_err(|problem| BadInput::one(format!("{prefix}: {problem}")))?;
    Ok((!parts.is_empty()).then_some(parts))
}

/// The attribute of everything but facts.
const RECORD: &str = "record";
/// The attribute of a part of facts.
const PART: &str = "part";

fn put_together(items: &[TableItem]) -> Result<Vec<u8>, String> {
    let mut packed = Vec::new();
    for item in items {
        match item.get(PART) {
            Some(ItemAttribute::Bytes(part)) => packed.extend_from_slice(part),
            _ => return Err(format!("a part has no `{PART}`")),
        }
    }
    Ok(packed)
}

fn take(records: &mut Records, items: &[TableItem]) {
    for item in items {
        let key = match item.get("item") {
            Some(ItemAttribute::Text(key)) => key.as_str(),
            _ => "",
        };
        match record(item.get(RECORD)) {
            Ok(record) => records.add(key, &record),
            Err(problem) => records.cannot_read(key, problem),
        }
    }
}

fn record(attribute: Option<&ItemAttribute>) -> Result<String, String> {
    match attribute {
        Some(ItemAttribute::Text(text)) => Ok(text.clone()),
        Some(ItemAttribute::Bytes(packed)) => {
            wire::packed::unpack(packed).map_err(|error| format!("`{RECORD}`: {error}"))
        }
        None => Err(format!("it has no `{RECORD}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &str, attribute: Option<(&str, ItemAttribute)>) -> TableItem {
        let key = ("item".to_owned(), ItemAttribute::Text(key.to_owned()));
        let attribute = attribute.map(|(name, value)| (name.to_owned(), value));
        [key].into_iter().chain(attribute).collect()
    }

    #[test]
    fn parts_of_facts_are_put_together_in_their_order() {
        let part =
            |key, bytes: &[u8]| item(key, Some(("part", ItemAttribute::Bytes(bytes.to_vec()))));
        let items = [part("facts#7#00", &[1, 2]), part("facts#7#01", &[3])];
        assert_eq!(put_together(&items), Ok(vec![1, 2, 3]));
        let lacking = [item("facts#7#00", None)];
        assert_eq!(put_together(&lacking), Err("a part has no `part`".to_owned()));
    }

    /// Items with what functions write: packed bytes, and a text.
    #[test]
    fn items_are_read_in_either_form() {
        let decision = r#"{"v":1,"at":"2026-11-21T12:00:00Z","function":"provision","claims":[],"summary":"one"}"#;
        let packed = ItemAttribute::Bytes(wire::packed::pack(decision));
        let items = [
            item("decision#a", Some((RECORD, packed))),
            item("decision#b", Some((RECORD, ItemAttribute::Text(decision.to_owned())))),
            item("decision#c", Some((RECORD, ItemAttribute::Bytes(vec![0, 0, 0])))),
            item("decision#d", None),
        ];
        let mut records = Records::default();
        take(&mut records, &items);
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

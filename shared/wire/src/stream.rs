//! Records of the table's stream.
//!
//! A claim's item is `cluster` (S), `item` (S, `claim#<name>`), `phase` (S), `version` (N) and `record`
//! (S, what [`crate::record`] writes). Claims that are only promised are kept together in items
//! `batch#<batch>#<index>`, whose `record` has several. One bad record is that record's error, not the
//! event's.

use model::{ClusterName, NodeClaim};
use serde_json::Value;

use crate::record;

/// One change of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    /// Names the record when it has to be delivered again; empty when it has none.
    pub sequence_number: String,
    /// The cluster, where it could be read.
    pub cluster: Option<ClusterName>,
    /// The claim as it is now, of promised claims the first; `None` when the change is no claim's or
    /// the claim was removed.
    pub claim: Result<Option<NodeClaim>, Error>,
}

/// Why a record or an event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream: {0}")]
pub struct Error(pub String);

/// Reads the event that a stream hands to a function.
pub fn records(event: &str) -> Result<Vec<StreamRecord>, Error> {
    let event = serde_json::from_str(event).map_err(|error| Error(format!("not JSON: {error}")))?;
    records_of(&event)
}

/// The same, from an event that was read already.
pub fn records_of(event: &Value) -> Result<Vec<StreamRecord>, Error> {
    let records = event.get("Records").and_then(Value::as_array);
    let records = records.ok_or_else(|| Error("Records: a list is required".to_owned()))?;
    Ok(records.iter().map(read_record).collect())
}

fn read_record(record: &Value) -> StreamRecord {
    let change = record.get("dynamodb").unwrap_or(&Value::Null);
    let sequence_number = change.get("SequenceNumber").and_then(Value::as_str).unwrap_or_default();
    let keys = change.get("Keys").unwrap_or(&Value::Null);
    let cluster = attribute(keys, "cluster").map(ClusterName::new);
    let claim = match &cluster {
        None => Err(missing("Keys.cluster")),
        Some(Err(error)) => Err(Error(format!("Keys.cluster: {error}"))),
        Some(Ok(_)) => read_claim(change, keys),
    };
    StreamRecord {
        sequence_number: sequence_number.to_owned(),
        cluster: cluster.and_then(Result::ok),
        claim,
    }
}

fn read_claim(change: &Value, keys: &Value) -> Result<Option<NodeClaim>, Error> {
    let item = attribute(keys, "item").ok_or_else(|| missing("Keys.item"))?;
    let is_ours = ["claim#", "batch#"].iter().any(|prefix| item.starts_with(prefix));
    let Some(image) = change.get("NewImage").filter(|_| is_ours) else { return Ok(None) };
    let text = attribute(image, "record").ok_or_else(|| missing("NewImage.record"))?;
    let unreadable = |error: record::Error| Error(format!("{item}: {error}"));
    let Some(name) = item.strip_prefix("claim#") else {
        let claims = record::decode_claims(text).map_err(unreadable)?;
        return Ok(claims.into_iter().next());
    };
    let claim = record::decode_claim(text).map_err(unreadable)?;
    // What the item says beside the record is what filters and conditions look at.
    let agrees = |key: &str, kind: &str, text: &str| {
        let given = image.get(key).and_then(|value| value.get(kind)).and_then(Value::as_str);
        match given {
            Some(given) if given == text => Ok(()),
            Some(given) => {
                Err(Error(format!("{item}: {key} is {given}, but {text} in its record")))
            }
            None => Err(missing(&format!("NewImage.{key}"))),
        }
    };
    agrees("phase", "S", claim.phase.as_str())?;
    agrees("version", "N", &claim.version.to_string())?;
    if claim.name.as_str() != name {
        return Err(Error(format!("{item}: its record is called {}", claim.name)));
    }
    Ok(Some(claim))
}

fn attribute<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
    item.get(key)?.get("S")?.as_str()
}

fn missing(key: &str) -> Error {
    Error(format!("{key} is required"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RECORD: &str = r#"{"v":1,"name":"general-1-0","version":4,"node_pool":"general","node_class":"default","batch":"demo-1-0","batch_index":0,"batch_size":1,"created_at":"2026-11-21T12:00:00Z","requirements":[],"instance_types":["m7g.large"],"requests":{"pods":1},"phase":"promised","phase_since":"2026-11-21T12:00:00Z","capacity":{},"allocatable":{}}"#;

    fn event(item: &str, image: &Value) -> Value {
        let keys = json!({"cluster": {"S": "demo"}, "item": {"S": item}});
        json!({"Records": [{"eventName": "MODIFY", "dynamodb":
            {"Keys": keys, "NewImage": image, "SequenceNumber": "111"}}]})
    }

    fn image() -> Value {
        json!({"cluster": {"S": "demo"}, "item": {"S": "claim#general-1-0"},
            "phase": {"S": "promised"}, "version": {"N": "4"}, "record": {"S": RECORD}})
    }

    #[track_caller]
    fn only(event: &Value) -> StreamRecord {
        let mut records = records(&event.to_string()).unwrap();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    #[test]
    fn a_claim_comes_with_its_cluster_and_number() {
        let record = only(&event("claim#general-1-0", &image()));
        assert_eq!(record.sequence_number, "111");
        assert_eq!(record.cluster.unwrap().as_str(), "demo");
        assert_eq!(record.claim.unwrap().unwrap().name.as_str(), "general-1-0");
    }

    #[test]
    fn of_promised_claims_the_first_comes() {
        let other = r#"{"name":"general-1-1","batch_index":1}"#;
        let record = format!(r#"{{"v":1,"claims":[{RECORD},{other}]}}"#);
        let read =
            |record: &str| only(&event("batch#demo-1-0#0", &json!({"record": {"S": record}})));
        assert_eq!(read(&record).claim.unwrap().unwrap().name.as_str(), "general-1-0");
        let bad =
            read(&record.replace("batch_index", "batch_place")).claim.unwrap_err().to_string();
        let expected =
            "stream: batch#demo-1-0#0: claims record: claims[0]: unknown field `batch_place`";
        assert!(bad.starts_with(expected), "{bad}");
    }

    #[test]
    fn other_items_and_removed_claims_are_none() {
        assert_eq!(only(&event("head", &json!({}))).claim, Ok(None));
        let mut removed = event("claim#general-1-0", &image());
        removed["Records"][0]["dynamodb"].as_object_mut().unwrap().remove("NewImage");
        assert_eq!(only(&removed).claim, Ok(None));
    }

    #[test]
    fn a_bad_record_says_what_is_wrong_with_it() {
        for (key, value, problem) in [
            (
                "phase",
                json!({"S": "launched"}),
                "stream: claim#general-1-0: phase is launched, but promised in its record",
            ),
            (
                "version",
                json!({"N": "5"}),
                "stream: claim#general-1-0: version is 5, but 4 in its record",
            ),
            ("version", json!({"S": "4"}), "stream: NewImage.version is required"),
            ("record", json!(null), "stream: NewImage.record is required"),
            (
                "record",
                json!({"S": "{}"}),
                "stream: claim#general-1-0: claim record: missing field `v` at line 1 column 2",
            ),
        ] {
            let mut image = image();
            image[key] = value;
            let record = only(&event("claim#general-1-0", &image));
            assert_eq!(record.claim.unwrap_err().to_string(), problem);
        }
        let record = only(&event("claim#other", &image()));
        assert_eq!(
            record.claim.unwrap_err().to_string(),
            "stream: claim#other: its record is called general-1-0"
        );
        let record = only(&json!({"Records": [{}]}));
        assert_eq!(record.claim.unwrap_err().to_string(), "stream: Keys.cluster is required");
        assert!(records("{}").is_err() && records("x").is_err());
    }
}

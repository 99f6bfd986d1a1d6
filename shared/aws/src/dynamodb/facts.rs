//! Facts that decisions were made on: packed, and cut into items that each fit the table.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use jiff::Timestamp;
use model::{ClusterName, duration::later, limits::FACTS_PARTS_MAX, recorded::RecordedFacts};
use ports::PortError;

use super::{
    DynamoLedger,
    decisions::KEPT,
    item::{self, EXPIRES_AT, Item, number},
};
use crate::fault::{BadAnswer, BadRequest};

/// Sort keys of facts start with it.
const PREFIX: &str = "facts#";
const PART: &str = "part";

/// The items of `packed` facts of the time `at` under `id`, in the order of their keys.
pub(super) fn facts_items(
    cluster: &ClusterName,
    id: u64,
    packed: &[u8],
    at: Timestamp,
) -> Result<Vec<Item>, PortError> {
    let parts = packed.chunks(wire::recorded::PART_BYTES_MAX);
    if FACTS_PARTS_MAX < parts.len() {
        let many = format!("facts take {} items, {FACTS_PARTS_MAX} at most are kept", parts.len());
        return Err(BadRequest::of("PutItem", many));
    }
    let expires_at = later(at, KEPT);
    let part_item = |(part, bytes): (usize, &[u8])| {
        let mut whole = item::key(cluster, &format!("{PREFIX}{id:016x}#{part:02}"));
        whole.insert(PART.to_owned(), AttributeValue::B(Blob::new(bytes)));
        whole.insert(EXPIRES_AT.to_owned(), number(item::seconds_rounded_up(expires_at)));
        whole
    };
    Ok(parts.enumerate().map(part_item).collect())
}

impl DynamoLedger {
    /// What is kept under `id`.
    pub(super) async fn stored_facts(
        &self,
        cluster: &ClusterName,
        id: u64,
    ) -> Result<Option<RecordedFacts>, PortError> {
        let items = self.items(cluster.as_str(), &format!("{PREFIX}{id:016x}#")).await?;
        let parts = items.iter().filter_map(|item| item.get(PART)?.as_b().ok());
        let packed: Vec<u8> = parts.flat_map(AsRef::<[u8]>::as_ref).copied().collect();
        if packed.is_empty() {
            return Ok(None);
        }
        let recorded = wire::recorded::decode(&packed);
        recorded.map(Some).map_err(|error| BadAnswer::of("Query", error.to_string()))
    }
}

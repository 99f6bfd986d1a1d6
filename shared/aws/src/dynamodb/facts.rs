//! Facts that decisions were made on: packed, and cut into items that each fit the table.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use jiff::Timestamp;
use model::{ClusterName, duration::later, limits::FACTS_PARTS_MAX, recorded::RecordedFacts};
use ports::PortError;
use wire::recorded::UnreadableFacts;

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
        let mut whole = item::key(cluster, &format!("{}{part:02}", facts_prefix(id)));
        whole.insert(PART.to_owned(), AttributeValue::B(Blob::new(bytes)));
        whole.insert(EXPIRES_AT.to_owned(), number(item::seconds_rounded_up(expires_at)));
        whole
    };
    Ok(parts.enumerate().map(part_item).collect())
}

/// What the keys of the items under `id` begin with.
pub(super) fn facts_prefix(id: u64) -> String {
    format!("{PREFIX}{id:016x}#")
}

/// What is recorded in `packed`; `None` if it is empty.
pub(super) fn facts_of(packed: &[u8]) -> Result<Option<RecordedFacts>, UnreadableFacts> {
    if packed.is_empty() {
        return Ok(None);
    }
    wire::recorded::decode(packed).map(Some)
}

impl DynamoLedger {
    /// What is kept under `id`.
    pub(super) async fn stored_facts(
        &self,
        cluster: &ClusterName,
        id: u64,
    ) -> Result<Option<RecordedFacts>, PortError> {
        let packed = self.packed_facts(cluster, id).await?;
        facts_of(&packed).map_err(|error| BadAnswer::of("Query", error.to_string()))
    }

    /// The parts under `id`, in their order; empty if there are none.
    pub(super) async fn packed_facts(
        &self,
        cluster: &ClusterName,
        id: u64,
    ) -> Result<Vec<u8>, PortError> {
        let items = self.items(cluster.as_str(), &facts_prefix(id)).await?;
        let parts = items.iter().filter_map(|item| item.get(PART)?.as_b().ok());
        Ok(parts.flat_map(AsRef::<[u8]>::as_ref).copied().collect())
    }
}

//! How large stored records are, and what reading and writing them takes of DynamoDB.
//!
//! The sizes are estimates of the JSON text that `wire` writes; a test that spans both crates holds them
//! to it.

use model::{
    NodeClaim,
    ledger::{Commit, batch_items},
};

use ports::{Fault, PortError};

use super::{
    TableLimits,
    costs::{Load, number},
};

/// What the keys and the names of the attributes of an item take.
const ITEM: u64 = 100;
/// The fixed part of a stored claim: the names of its fields, its times, amounts and punctuation.
const CLAIM: u64 = 700;
/// A name in a list, with what stands around it.
const LISTED: u64 = 3;

fn text(text: &str) -> u64 {
    number(text.len())
}

/// Bytes of the stored record of `claim`.
pub fn claim_bytes(claim: &NodeClaim) -> u64 {
    let pairs = claim.labels.iter().chain(&claim.annotations);
    let pairs: u64 = pairs.map(|(key, value)| text(key) + text(value) + 6).sum();
    let requirements: u64 = claim
        .requirements
        .iter()
        .map(|requirement| {
            let values: u64 = requirement.values().iter().map(|value| text(value) + LISTED).sum();
            text(requirement.key().as_str()) + 40 + values
        })
        .sum();
    let types: u64 = claim.instance_types.iter().map(|name| text(name.as_str()) + LISTED).sum();
    let pods = pods_bytes(claim);
    let taints = number(claim.taints.len() + claim.startup_taints.len()) * 70;
    let instance = claim.instance.as_ref().map_or(0, |instance| {
        220 + instance.image.as_ref().map_or(0, |image| text(image.as_str()))
    });
    let names = text(claim.name.as_str())
        + text(claim.node_pool.as_str())
        + text(claim.node_class.as_str())
        + text(claim.batch.as_str());
    let message = claim.message.as_ref().map_or(0, |message| text(&message.text) + 40);
    CLAIM + names + pairs + requirements + types + pods + taints + instance + message
}

/// Bytes that a promised claim takes beside another of its batch, which says what they have in common.
pub(crate) fn promised_bytes(claim: &NodeClaim) -> u64 {
    40 + text(claim.name.as_str()) + pods_bytes(claim)
}

/// Bytes of the item that keeps `claims` of one batch together.
fn batch_bytes(claims: &[&NodeClaim]) -> u64 {
    let Some((first, others)) = claims.split_first() else { return 0 };
    let others: u64 = others.iter().copied().map(promised_bytes).sum();
    claim_bytes(first) + others
}

/// Bytes of the list of the pods that `claim` was promised for.
fn pods_bytes(claim: &NodeClaim) -> u64 {
    let pods = claim.pods.iter();
    pods.map(|pod| text(pod.namespace.as_str()) + text(pod.name.as_str()) + 1 + LISTED).sum()
}

/// Write units of an item of so many bytes: one for each 1 KB that is begun.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
pub(crate) fn write_units(bytes: u64) -> u64 {
    (bytes + ITEM).div_ceil(1_024).max(1)
}

/// Read units of a consistent read of so many bytes: one for each 4 KB that is begun.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
pub(crate) fn read_units(bytes: u64) -> u64 {
    bytes.div_ceil(4_096).max(1)
}

/// A read of so many bytes.
pub(crate) fn read(bytes: u64) -> Load {
    Load { bytes, read_units: read_units(bytes), ..Load::default() }
}

/// Write units of a claim's own item. The index holds everything of it once it has an instance.
pub(crate) fn claim_units(claim: &NodeClaim) -> u64 {
    let units = write_units(claim_bytes(claim));
    if claim.instance.is_some() { units * 2 } else { units }
}

/// Why DynamoDB refuses `commit` for its size, if it does.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
pub(crate) fn refusal(commit: &Commit, limits: TableLimits) -> Option<PortError> {
    let promised = batch_items(&commit.promised);
    let promised = promised.iter().map(|claims| batch_bytes(claims));
    let items: Vec<u64> = promised.chain(commit.changed.iter().map(claim_bytes)).collect();
    let refused = |why: String| PortError::because("TransactWriteItems", Fault::Permanent, why);
    let largest = items.iter().max().copied().unwrap_or_default();
    if limits.item_bytes_max < largest {
        return Some(refused(format!("ValidationException: an item of {largest} bytes")));
    }
    let whole: u64 = items.iter().sum();
    (limits.transaction_bytes_max < whole)
        .then(|| refused(format!("ValidationException: a transaction of {whole} bytes")))
}

/// What a commit writes. A transaction takes two units where a write takes one.
pub(crate) fn commit(commit: &Commit) -> Load {
    let promised: u64 =
        batch_items(&commit.promised).iter().map(|claims| write_units(batch_bytes(claims))).sum();
    let changed: u64 = commit.changed.iter().map(claim_units).sum();
    let decisions: u64 = commit
        .decisions
        .iter()
        .map(|decision| {
            let claims: u64 = decision.claims.iter().map(|name| text(name.as_str()) + LISTED).sum();
            write_units(200 + text(&decision.summary) + claims)
        })
        .sum();
    let marked = number(commit.unavailable_offerings.len());
    let units = 1 + promised + changed + decisions + marked;
    Load { others: marked, write_units: units * 2, ..Load::items(commit.items()) }
}

//! How large stored records are, and what reading and writing them takes of DynamoDB.
//!
//! The sizes are estimates of what `wire` packs; a test that spans both crates holds them to it.

use model::{
    NodeClaim,
    ledger::{Commit, Decision, batch_items},
};

use ports::{Fault, PortError};

use super::{
    TableLimits,
    load::{Load, number},
};
use crate::ledger::ClusterLedger;

/// What the keys and the names of the attributes of an item take.
const ITEM: u64 = 100;
/// The fixed part of a packed claim: its times, amounts and what ties them together.
const CLAIM: u64 = 110;
/// The fixed part of a packed decision.
const DECISION: u64 = 170;
/// A word that nearly every record has.
const KNOWN: u64 = 3;
/// A pair of a key that nearly every record has and a value of its own.
const PAIR: u64 = 3;

/// What a text takes that no other record has.
fn unshared(text: &str) -> u64 {
    number(text.len()) * 2 / 3
}

/// Bytes of the stored record of `claim`, packed.
pub fn claim_bytes(claim: &NodeClaim) -> u64 {
    let pairs = number(claim.labels.len() + claim.annotations.len()) * PAIR;
    let requirements: u64 = claim
        .requirements
        .iter()
        .map(|requirement| KNOWN + number(requirement.values().len()) * PAIR)
        .sum();
    let types = number(claim.instance_types.len()) * PAIR;
    let taints = number(claim.taints.len() + claim.startup_taints.len()) * KNOWN * 4;
    let instance = claim.instance.as_ref().map_or(0, |_| 60);
    let message = claim.message.as_ref().map_or(0, |message| unshared(&message.text) + 20);
    CLAIM
        + unshared(claim.name.as_str())
        + pairs
        + requirements
        + types
        + pods_bytes(claim)
        + taints
        + instance
        + message
}

/// Bytes that a new claim takes beside another of its batch, which says what they have in common.
pub(crate) fn created_bytes(claim: &NodeClaim) -> u64 {
    15 + pods_bytes(claim)
}

/// Bytes of the item that keeps `claims` of one batch together.
fn batch_bytes(claims: &[&NodeClaim]) -> u64 {
    let Some((first, others)) = claims.split_first() else { return 0 };
    let others: u64 = others.iter().copied().map(created_bytes).sum();
    claim_bytes(first) + others
}

/// Bytes of the list of the pods that `claim` was created for: of each, what a name has of its own.
fn pods_bytes(claim: &NodeClaim) -> u64 {
    number(claim.pods.len()) * 8
}

/// Write units of an item of `bytes`: one for each 1 KB that is begun.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
pub(crate) fn write_units(bytes: u64) -> u64 {
    (bytes + ITEM).div_ceil(1_024).max(1)
}

/// Read units of a consistent read of `bytes`: one for each 4 KB that is begun.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
pub(crate) fn read_units(bytes: u64) -> u64 {
    bytes.div_ceil(4_096).max(1)
}

/// A read of a number of bytes.
pub(crate) fn read(bytes: u64) -> Load {
    Load { bytes, read_units: read_units(bytes), ..Load::default() }
}

/// Write units of a claim's own item in `ledger`, and of the index: it holds keys only, and is written when the item
/// gets an instance or loses it.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes>
pub(crate) fn claim_units(claim: &NodeClaim, ledger: &ClusterLedger) -> u64 {
    let had_instance = ledger.claims.get(&claim.name).is_some_and(|claim| claim.instance.is_some());
    write_units(claim_bytes(claim)) + u64::from(claim.instance.is_some() != had_instance)
}

/// Write units of the removal of a claim's own item, and of its key in the index.
pub(crate) fn removal_units(claim: &NodeClaim) -> u64 {
    write_units(claim_bytes(claim)) + u64::from(claim.instance.is_some())
}

/// Why DynamoDB refuses `commit` for its size, if it does.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
pub(crate) fn refusal(commit: &Commit, limits: TableLimits) -> Option<PortError> {
    let created = batch_items(&commit.created);
    let created = created.iter().map(|claims| batch_bytes(claims));
    let changed = commit.changed.iter().map(claim_bytes);
    let decisions = commit.decisions.iter().map(decision_bytes);
    let items: Vec<u64> = created.chain(changed).chain(decisions).collect();
    let refused = |why: String| PortError::because("TransactWriteItems", Fault::Permanent, why);
    let largest = items.iter().max().copied().unwrap_or_default();
    if limits.item_bytes_max < largest {
        return Some(refused(format!("ValidationException: an item of {largest} bytes")));
    }
    let whole: u64 = items.iter().sum();
    (limits.transaction_bytes_max < whole)
        .then(|| refused(format!("ValidationException: a transaction of {whole} bytes")))
}

/// Bytes of the stored record of `decision`, packed.
pub fn decision_bytes(decision: &Decision) -> u64 {
    let subjects: u64 = decision
        .subjects
        .iter()
        .map(|subject| {
            let node = subject.node.as_ref().map_or(0, |node| unshared(node.as_str()));
            let claim = subject.claim.as_ref().map_or(0, |claim| number(claim.as_str().len()) / 2);
            let instance = u64::from(subject.instance.is_some()) * 20;
            20 + node + claim + instance
        })
        .sum();
    let pods = number(decision.all_pods().count()) * 8;
    let rejected: u64 =
        decision.rejected.iter().map(|rejected| 25 + unshared(&rejected.why) / 2).sum();
    let bounds = number(decision.bounds.len()) * 15;
    DECISION + unshared(&decision.summary) + subjects + pods + rejected + bounds
}

pub(crate) fn decision_units(decision: &Decision) -> u64 {
    write_units(decision_bytes(decision))
}

/// What a commit to `ledger` writes. A transaction takes two units where a write takes one.
pub(crate) fn commit(commit: &Commit, ledger: &ClusterLedger) -> Load {
    let created: u64 =
        batch_items(&commit.created).iter().map(|claims| write_units(batch_bytes(claims))).sum();
    let changed: u64 = commit.changed.iter().map(|claim| claim_units(claim, ledger)).sum();
    let decisions: u64 = commit.decisions.iter().map(decision_units).sum();
    let marked = number(commit.unavailable_offerings.len());
    let units = 1 + created + changed + decisions + marked;
    // The head is read afterwards, and before it which offerings are marked, if some are.
    let read_units = 1 + u64::from(marked > 0);
    Load { others: marked, read_units, write_units: units * 2, ..Load::items(commit.items()) }
}

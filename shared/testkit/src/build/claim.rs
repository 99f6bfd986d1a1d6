//! Claims and the commits that create them.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeClaim,
    ledger::{Basis, Commit, Head},
    plan::NewClaim,
};

use super::{
    pod::pod_key,
    text::{at, id, price, requirements, resources},
};

/// A new claim of the pool `general` with EC2NodeClass `default`, alone in its batch, for one
/// on-demand `m7g.large` in us-west-2a.
///
/// # Panics
///
/// When `name` is no name.
#[track_caller]
pub fn claim(name: &str) -> NodeClaim {
    let created_at = at("2026-08-01T12:00:00Z");
    let labels = BTreeMap::from([(model::labels::NODE_POOL.to_owned(), "general".to_owned())]);
    let batch = id(&format!("batch-of-{name}"));
    NodeClaim {
        labels,
        requirements: requirements("paid=on-demand zone=us-west-2a type=m7g.large"),
        instance_types: [id("m7g.large")].into(),
        requests: resources("pods=1"),
        expire_after: Some(jiff::SignedDuration::from_hours(720)),
        capacity: resources("cpu=2 memory=8Gi pods=29"),
        allocatable: resources("cpu=1930m memory=7Gi pods=29"),
        ..NodeClaim::created(id(name), id("general"), id("default"), batch, created_at)
    }
}

/// `claim` as a plan creates it for `pods`, which would cost 0.0816 dollars an hour as its only offering.
///
/// # Panics
///
/// When a pod's name is none.
#[track_caller]
pub fn new_claim(claim: NodeClaim, pods: &[&str]) -> NewClaim {
    let cheapest = model::OfferingKey {
        capacity_type: model::CapacityType::OnDemand,
        instance_type: id("m7g.large"),
        zone: id("us-west-2a"),
    };
    let pods = pods.iter().map(|name| pod_key(name)).collect();
    let claim = NodeClaim { pods, ..claim };
    let possible = std::sync::Arc::clone(&claim.instance_types);
    NewClaim { claim, possible, cheapest, price: price("0.0816") }
}

/// A commit called `id_text` on `head` of the new claims `created`, based on the arrivals.
///
/// # Panics
///
/// When `id_text` is no id.
#[track_caller]
pub fn commit(id_text: &str, head: &Head, created: Vec<NodeClaim>) -> Commit {
    Commit {
        id: id(id_text),
        ledger: head.ledger.clone(),
        parent: head.counters,
        basis: Basis::Arrivals,
        created,
        adopted: Vec::new(),
        changed: Vec::new(),
        unavailable_offerings: BTreeMap::new(),
        started: BTreeMap::new(),
        ended: BTreeSet::new(),
        decisions: Vec::new(),
    }
}

/// A number of claims of the batch `name`, called `<name>-<index>`, otherwise as [`claim`] makes them.
pub fn batch(name: &str, claims: usize) -> Vec<NodeClaim> {
    let size = u32::try_from(claims).unwrap_or(u32::MAX);
    let member = |index: u32| NodeClaim {
        batch: id(name),
        batch_index: index,
        batch_size: size,
        ..claim(&format!("{name}-{index}"))
    };
    (0..size).map(member).collect()
}

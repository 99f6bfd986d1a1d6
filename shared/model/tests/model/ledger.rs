//! How new claims are cut into items.

mod decision;
mod rejection;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    BatchId, CommitId, NodeClaim, NodeClaimName, NodeClassName, NodePoolName, PodKey, ledger::*,
    limits,
};

/// A claim of `batch` at `index`, for a number of pods.
fn claim(batch: &str, index: u32, pods: usize) -> NodeClaim {
    let name = NodeClaimName::new(&format!("{batch}-{index}")).unwrap();
    let pod = |number: usize| PodKey {
        namespace: "default".parse().unwrap(),
        name: format!("web-{number}").parse().unwrap(),
    };
    let created = NodeClaim::created(
        name,
        NodePoolName::new("general").unwrap(),
        NodeClassName::new("default").unwrap(),
        BatchId::new(batch).unwrap(),
        Timestamp::UNIX_EPOCH,
    );
    NodeClaim { batch_index: index, pods: (0..pods).map(pod).collect(), ..created }
}

#[track_caller]
fn check(created: &[NodeClaim], expected: &[&str]) {
    let items = batch_items(created).into_iter().map(|claims| {
        let names: Vec<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
        names.join(" ")
    });
    assert_eq!(items.collect::<Vec<_>>(), expected);
}

#[test]
fn a_batch_is_an_item_with_its_claims_in_order() {
    let claims = [claim("a", 1, 0), claim("b", 0, 7), claim("a", 0, 3)];
    check(&claims, &["a-0 a-1", "b-0"]);
}

#[test]
fn an_item_has_a_limited_number_of_pods() {
    let most = limits::PODS_PER_ITEM_MAX;
    check(&[claim("a", 0, most - 1), claim("a", 1, 1), claim("a", 2, 1)], &["a-0 a-1", "a-2"]);
    check(&[claim("a", 0, most + 1), claim("a", 1, 0), claim("a", 2, most)], &["a-0", "a-1 a-2"]);
}

#[test]
fn a_commit_counts_items_and_not_claims() {
    let commit = Commit {
        id: CommitId::derived("message", 0),
        ledger: None,
        parent: Counters { arrivals: 3, departures: 0 },
        basis: Basis::Arrivals,
        created: (0..500).map(|index| claim("a", index, 0)).collect(),
        adopted: Vec::new(),
        changed: vec![claim("b", 0, 0)],
        unavailable_offerings: BTreeMap::new(),
        started: BTreeMap::new(),
        ended: BTreeSet::new(),
        decisions: Vec::new(),
    };
    assert_eq!(commit.items(), 3);
}

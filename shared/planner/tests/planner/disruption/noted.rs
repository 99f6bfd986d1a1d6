//! What claims show to people and no decision uses: condition `Consolidatable`, and whether their nodes are as

use jiff::SignedDuration;
use model::{NodeClaim, facts::Facts};
use planner::disruption::{Options, PreparedCluster, noted::*};

use crate::planner::support::*;

/// A node that was initialized an hour ago, with a pod that runs for `seconds`, whose pool waits a minute.
fn world(seconds: i64) -> Facts {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.conditions.initialized_at = Some(ago(3_600));
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let disruption = &mut facts.node_pools[0].disruption;
    disruption.consolidate_after = Some(SignedDuration::from_mins(1));
    let mut pod = pod("a on:node-1 cpu=1");
    pod.started_at = Some(ago(seconds));
    facts.pods = vec![pod];
    facts
}

fn noted(facts: &Facts) -> Vec<NodeClaim> {
    let mut changes = Vec::new();
    note_on(facts, &mut changes);
    changes
}

fn note_on(facts: &Facts, changes: &mut Vec<NodeClaim>) {
    let options = Options::deployed();
    note(&PreparedCluster::of(facts, &options).state, changes);
}

fn keep(facts: &mut Facts, changes: &[NodeClaim]) {
    for claim in changes {
        facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    }
}

#[test]
fn consolidatable_is_noted_when_it_changes_and_only_then() {
    let mut facts = world(61);
    let first = noted(&facts);
    assert_eq!(first[0].conditions.consolidatable_since, Some(now()));
    keep(&mut facts, &first);
    assert_eq!(noted(&facts), []);
    facts.pods = world(59).pods;
    let second = noted(&facts);
    assert_eq!(second[0].conditions.consolidatable_since, None);
    assert_eq!(second[0].version, first[0].version + 1);
    keep(&mut facts, &second);
    assert_eq!(noted(&facts), []);
}

#[test]
fn what_is_never_consolidated_does_not_say_so() {
    for change in [
        |facts: &mut Facts| facts.node_pools[0].disruption.consolidate_after = None,
        |facts: &mut Facts| facts.node_pools[0].replicas = Some(1),
    ] {
        let mut facts = world(61);
        change(&mut facts);
        assert_eq!(noted(&facts), []);
    }
}

#[test]
fn a_node_that_is_far_smaller_than_expected_is_reported() {
    let mut facts = world(0);
    let mut claim = facts.ledger.claims.values().next().cloned().unwrap();
    claim.requests = resources("cpu=1 memory=1Gi");
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    assert_eq!(noted(&facts), []);
    let node = facts.nodes.values_mut().next().unwrap();
    node.capacity.memory.0 = claim.capacity.memory.0 / 2;
    let changed = noted(&facts);
    let why = changed[0].conditions.inconsistent.clone().unwrap();
    assert!(why.starts_with("expected ") && why.contains("of memory"), "{why}");
    keep(&mut facts, &changed);
    assert_eq!(noted(&facts), []);
}

#[test]
fn drift_of_every_kind_is_noted_when_it_begins_and_when_it_ends() {
    let mut facts = world(0);
    assert_eq!(noted(&facts), []);
    facts.node_pools[0].template.requirements = requirements("zone=mars");
    let first = noted(&facts);
    let of = |changes: &[NodeClaim]| {
        let conditions = &changes[0].conditions;
        (conditions.drifted.clone(), conditions.drifted_since)
    };
    assert_eq!(of(&first), (Some("RequirementsDrifted".to_owned()), Some(now())));
    keep(&mut facts, &first);
    facts.now = now() + SignedDuration::from_secs(30);
    assert_eq!(noted(&facts), []);
    // What the NodePool asks for is what it was again.
    let claim = first[0].name.clone();
    facts.node_pools[0].template.requirements =
        world(0).node_pools[0].template.requirements.clone();
    let last = noted(&facts);
    assert_eq!(of(&last), (None, None));
    keep(&mut facts, &last);
    assert_eq!(noted(&facts), []);
    // What only EC2 knows stays until EC2 says otherwise.
    let claim = facts.ledger.claims.get_mut(&claim).unwrap();
    claim.conditions.drifted = Some("SubnetDrift".to_owned());
    assert_eq!(noted(&facts), []);
}

#[test]
fn what_changes_anyway_takes_it_along() {
    let facts = world(61);
    let claim = facts.ledger.claims.values().next().cloned().unwrap();
    let mut changes = vec![NodeClaim { empty_since: Some(now()), ..claim.following() }];
    note_on(&facts, &mut changes);
    assert_eq!((changes.len(), changes[0].version), (1, claim.version + 1));
    assert!(changes[0].conditions.consolidatable_since.is_some());
    let going = claim.deleted(model::DeletionReason::Expired, now());
    let mut changes = vec![going.clone()];
    note_on(&facts, &mut changes);
    assert_eq!(changes, [going]);
}

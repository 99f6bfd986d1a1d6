//! Ill nodes: due, not too many of them, and with a bound for their drain.

use jiff::SignedDuration;
use model::{
    DeletionReason, Plan,
    disruption::DisruptionReason,
    facts::Facts,
    labels,
    ledger::Counters,
    node::{IllCondition, IllStatus, Node},
};
use testkit::build::{claim, node_of};

use super::{good, violations};

const UNHEALTHY: DeletionReason = DeletionReason::Disrupted(DisruptionReason::Unhealthy);
const BOUND: Option<SignedDuration> = Some(SignedDuration::from_mins(10));

fn fall_ill(node: &mut Node, since: jiff::Timestamp) {
    node.created_at = since;
    node.ill_conditions = vec![IllCondition {
        kind: "StorageReady".to_owned(),
        status: IllStatus::False,
        reason: String::new(),
        since: Some(since),
    }];
}

/// The node `general-6-0` is unhealthy for this number of minutes, beside a healthy one.
fn ward(minutes: i64) -> Facts {
    let (mut facts, _) = good();
    facts.policies.node_repair = true;
    facts.node_pools[0].disruption.budgets.clear();
    let (joined, node) = node_of(&claim("general-6-2"), "i-0602");
    facts.nodes.insert(node.name.clone(), node);
    facts.ledger.claims.insert(joined.name.clone(), joined);
    let since = facts.now.checked_sub(SignedDuration::from_mins(minutes)).unwrap();
    for node in facts.nodes.values_mut() {
        node.labels.insert(labels::NODE_POOL.to_owned(), "general".to_owned());
    }
    fall_ill(facts.nodes.get_mut("general-6-0").unwrap(), since);
    facts
}

#[track_caller]
fn check(facts: &Facts, drain: Option<SignedDuration>, wanted: &[&str]) {
    let claim = &facts.ledger.claims["general-6-0"];
    let plan = Plan {
        parent: Counters { arrivals: 7, departures: 0 },
        changes: vec![claim.deleted_within(UNHEALTHY, facts.now, drain)],
        ..Plan::default()
    };
    let texts: Vec<String> = violations(facts, &plan).iter().map(ToString::to_string).collect();
    let fits = texts.len() == wanted.len()
        && texts.iter().zip(wanted).all(|(text, wanted)| text.contains(wanted));
    assert!(fits, "{texts:#?}");
}

#[test]
fn an_unhealthy_node_is_repaired_when_it_is_due_and_nothing_forbids_it() {
    check(&ward(31), BOUND, &[]);
    check(&ward(29), BOUND, &["node general-6-0 is not ill for long enough"]);
    let mut closed = ward(31);
    closed.policies.node_repair = false;
    check(&closed, BOUND, &["node repair is off"]);
    let mut kept = ward(31);
    let annotations = &mut kept.nodes.get_mut("general-6-0").unwrap().annotations;
    annotations.insert(labels::DO_NOT_REPAIR.to_owned(), "true".to_owned());
    check(&kept, BOUND, &["node general-6-0 must not be repaired"]);
}

#[test]
fn a_pool_with_too_many_unhealthy_nodes_is_not_repaired() {
    let mut facts = ward(31);
    let now = facts.now;
    fall_ill(facts.nodes.get_mut("general-6-2").unwrap(), now);
    check(&facts, BOUND, &["2 of 2 nodes of NodePool general are ill"]);
}

#[test]
fn its_drain_has_a_bound_no_later_than_that_of_its_policy_and_its_claim() {
    let deadline = "its deadline does not follow its terminationGracePeriod";
    check(&ward(31), None, &[deadline]);
    check(&ward(31), Some(SignedDuration::from_mins(11)), &[deadline]);
    let mut facts = ward(31);
    let claim = facts.ledger.claims.get_mut("general-6-0").unwrap();
    claim.termination_grace_period = Some(SignedDuration::from_mins(3));
    check(&facts, BOUND, &[]);
}

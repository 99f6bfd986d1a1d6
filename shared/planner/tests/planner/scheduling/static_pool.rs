//! Rows SC of the specification.

mod launches;

use std::sync::Arc;

use model::{
    ClaimPhase, CommandId, DeletionReason, NodeClaim, NodeClaimName, Pod, Problem,
    disruption::{Command, Method, Progress},
    facts::Facts,
    labels,
};
use planner::scheduling::static_pool::*;

use crate::planner::support::{add_managed, ago, facts, limits, now, owner, running, spec};

/// The static pool `general` with `replicas` and one initialized node for each of `nodes`.
fn world(replicas: u64, nodes: &[&str]) -> Facts {
    let mut facts = facts(Vec::new());
    for name in nodes {
        add_managed(&mut facts, name);
    }
    facts.policies.static_capacity = true;
    facts.node_pools[0].replicas = Some(replicas);
    facts
}

#[track_caller]
fn check(facts: &Facts, expected: &Replicas) {
    assert_eq!(replicas(facts, &facts.node_pools[0]).as_ref(), Some(expected));
}

#[track_caller]
fn check_surplus(facts: &Facts, expected: &[&str]) {
    let names = expected.iter().map(|name| format!("claim-{name}").parse().unwrap()).collect();
    check(facts, &Replicas::Surplus(names));
}

fn claim<'a>(facts: &'a mut Facts, name: &str) -> &'a mut NodeClaim {
    let name: NodeClaimName = format!("claim-{name}").parse().unwrap();
    facts.ledger.claims.get_mut(&name).unwrap()
}

fn delete(facts: &mut Facts, name: &str) {
    let claim = claim(facts, name);
    *claim = claim.deleted(DeletionReason::Expired, now());
}

fn run(facts: &mut Facts, node: &str, change: impl FnOnce(&mut Pod)) {
    let mut pod = running(&format!("pod-{}", facts.pods.len()), node, spec("cpu=1"));
    change(&mut pod);
    facts.pods.push(pod);
}

fn annotated(key: &'static str, value: &'static str) -> impl FnOnce(&mut Pod) {
    move |pod| {
        Arc::make_mut(&mut pod.spec).annotations.insert(key.to_owned(), value.to_owned());
    }
}

#[test]
fn exactly_the_missing_replicas_are_launched() {
    check(&world(3, &["a"]), &Replicas::Missing(2));
    check(&world(1, &["a"]), &Replicas::Enough);
    check(&world(0, &[]), &Replicas::Enough);
}

#[test]
fn a_pool_without_replicas_or_behind_a_closed_gate_is_not_static() {
    let mut facts = world(3, &["a"]);
    facts.policies.static_capacity = false;
    assert_eq!(replicas(&facts, &facts.node_pools[0]), None);
    facts.policies.static_capacity = true;
    facts.node_pools[0].replicas = None;
    assert_eq!(replicas(&facts, &facts.node_pools[0]), None);
}

#[test]
fn the_limit_on_nodes_bounds_launches_and_counts_nodes_that_are_leaving() {
    let mut facts = world(5, &["a", "b"]);
    facts.node_pools[0].limits = limits("nodes=4");
    check(&facts, &Replicas::Missing(2));
    delete(&mut facts, "b");
    check(&facts, &Replicas::Missing(2));
    facts.node_pools[0].limits = limits("nodes=2");
    check(&facts, &Replicas::Limited { missing: 4, nodes_max: 2 });
    // What is gone gives its room back, and above the limit there is none.
    let mut gone = facts.clone();
    gone.ledger.claims.retain(|name, _| name.as_str() != "claim-b");
    check(&gone, &Replicas::Missing(1));
    facts.node_pools[0].limits = limits("nodes=1");
    check(&facts, &Replicas::Limited { missing: 4, nodes_max: 1 });
    facts.node_pools[0].limits = limits("cpu=1");
    check(&facts, &Replicas::Missing(4));
}

#[test]
fn a_pool_that_is_deleted_or_invalid_launches_nothing() {
    let mut facts = world(2, &["a"]);
    facts.node_pools[0].problems = vec![Problem::unusable("spec.template", "it is wrong")];
    let why = "the NodePool cannot be used: spec.template: it is wrong";
    check(&facts, &Replicas::Unusable(why.to_owned()));
    facts.node_pools[0].is_deleting = true;
    check(&facts, &Replicas::Unusable("the NodePool is being deleted".to_owned()));
    // Its claims go with it; one that cannot be used still shrinks.
    facts.node_pools[0].replicas = Some(0);
    check(&facts, &Replicas::Unusable("the NodePool is being deleted".to_owned()));
    facts.node_pools[0].is_deleting = false;
    check_surplus(&facts, &["a"]);
}

#[test]
fn claims_of_other_pools_do_not_count() {
    let mut facts = world(2, &["a", "b"]);
    claim(&mut facts, "b").node_pool = "other".parse().unwrap();
    check(&facts, &Replicas::Missing(1));
}

#[test]
fn what_has_no_instance_goes_first_then_what_is_empty_and_protected_nodes_last() {
    let mut facts = world(0, &["a", "b", "c", "d"]);
    run(&mut facts, "a", annotated(labels::DO_NOT_DISRUPT, "true"));
    run(&mut facts, "b", |_| ());
    run(&mut facts, "c", |pod| pod.owner = owner("DaemonSet"));
    claim(&mut facts, "d").instance = None;
    check_surplus(&facts, &["d", "c", "b", "a"]);
    facts.node_pools[0].replicas = Some(2);
    check_surplus(&facts, &["d", "c"]);
}

#[test]
fn a_node_with_a_protected_daemon_is_not_empty() {
    let mut facts = world(1, &["a", "b"]);
    run(&mut facts, "a", |pod| {
        pod.owner = owner("DaemonSet");
        annotated(labels::DO_NOT_DISRUPT, "true")(pod);
    });
    run(&mut facts, "b", |_| ());
    check_surplus(&facts, &["b"]);
}

#[test]
fn used_nodes_go_by_what_moving_their_pods_costs() {
    let mut facts = world(0, &["a", "b", "c"]);
    run(&mut facts, "a", |_| ());
    run(&mut facts, "a", |_| ());
    run(&mut facts, "b", annotated(labels::POD_DELETION_COST, "1073741824"));
    run(&mut facts, "c", |pod| Arc::make_mut(&mut pod.spec).priority = -1_000);
    check_surplus(&facts, &["c", "a", "b"]);
    // What is near its end costs little.
    claim(&mut facts, "b").created_at = ago(719 * 3_600);
    check_surplus(&facts, &["b", "c", "a"]);
    claim(&mut facts, "b").expire_after = None;
    check_surplus(&facts, &["c", "a", "b"]);
}

#[test]
fn a_claim_that_is_being_deleted_is_not_deleted_again() {
    let mut facts = world(1, &["a", "b"]);
    delete(&mut facts, "a");
    check(&facts, &Replicas::Enough);
}

/// A command that disrupts `candidate` once `replacement` is there.
fn replace(facts: &mut Facts, candidate: &str, replacement: &str) {
    let name = |name: &str| format!("claim-{name}").parse().unwrap();
    let progress = Progress::Launching { since: facts.now, claims: vec![name(replacement)] };
    let command = Command {
        method: Method::StaticDrift,
        found_at: facts.now,
        candidates: vec![name(candidate)],
        replacements: Vec::new(),
        drain: None,
        progress,
    };
    facts.ledger.commands.insert(CommandId::derived(&command), command);
}

#[test]
fn what_is_being_replaced_is_neither_missing_nor_too_many() {
    let mut facts = world(2, &["a", "b", "c"]);
    replace(&mut facts, "a", "c");
    check(&facts, &Replicas::Enough);
    // Who wants more than both waits for nothing.
    facts.node_pools[0].replicas = Some(4);
    check(&facts, &Replicas::Missing(2));
    facts.node_pools[0].replicas = Some(3);
    check(&facts, &Replicas::Enough);
    facts.node_pools[0].replicas = Some(1);
    check_surplus(&facts, &["b"]);
}

#[test]
fn surplus_nodes_are_deleted_and_what_may_be_launching_waits() {
    let mut facts = world(1, &["a", "b", "c"]);
    run(&mut facts, "a", |_| ());
    let plan = scaled_down(&facts);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    let names: Vec<&str> = plan.changes.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["claim-b", "claim-c"]);
    let is_reason = |claim: &NodeClaim| {
        let deletion = claim.deletion.as_ref();
        deletion.is_some_and(|deletion| deletion.reason == DeletionReason::Overprovisioned)
    };
    assert!(plan.changes.iter().all(is_reason));
    assert_eq!(plan.decisions[0].summary, "general: deletes 2 nodes beyond its replicas (1)");
    let launching = claim(&mut facts, "c");
    (launching.instance, launching.phase) = (None, ClaimPhase::Created);
    let plan = scaled_down(&facts);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    let names: Vec<&str> = plan.changes.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["claim-b"]);
    facts.policies.static_capacity = false;
    assert!(scaled_down(&facts).is_empty());
}

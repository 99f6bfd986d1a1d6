//! Static pools: as many nodes as they want, and those that matter least go.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    CommandId, DeletionReason, NodeClaim, Plan,
    disruption::{Command, Method, Progress, Replacement},
    facts::Facts,
    ledger::Counters,
    node_pool::Limits,
};
use testkit::build::{claim, id, new_claim, node_of, pod, resources};

use super::{good, good_claim, violations};

/// A static pool with this many replicas; its nodes are `general-6-0`, with a pod, and `general-6-2`, without.
fn fixed(replicas: u64) -> Facts {
    let (mut facts, _) = good();
    facts.policies.static_capacity = true;
    facts.node_pools[0].replicas = Some(replicas);
    facts.pods.retain(|pod| pod.key.name.as_str() == "bound");
    facts.ledger.claims.remove("general-6-1");
    let (joined, node) = node_of(&claim("general-6-2"), "i-0602");
    facts.nodes.insert(node.name.clone(), node);
    facts.ledger.claims.insert(joined.name.clone(), joined);
    facts
}

/// A number of claims of its template.
fn creating(count: u32) -> Plan {
    let claim = |index: u32| NodeClaim {
        batch: id("demo-7-0"),
        batch_index: index,
        batch_size: count,
        requests: resources(""),
        ..good_claim(&format!("general-7-{index}"))
    };
    Plan {
        parent: Counters { arrivals: 7, departures: 0 },
        new_claims: (0..count).map(|index| new_claim(claim(index), &[])).collect(),
        ..Plan::default()
    }
}

fn deleting(facts: &Facts, names: &[&str]) -> Plan {
    let claims = names.iter().map(|name| &facts.ledger.claims[*name]);
    let deleted =
        claims.map(|claim| claim.deleted(DeletionReason::Overprovisioned, facts.now)).collect();
    Plan { changes: deleted, ..creating(0) }
}

#[track_caller]
fn check(facts: &Facts, plan: &Plan, wanted: &[&str]) {
    let texts: Vec<String> = violations(facts, plan).iter().map(ToString::to_string).collect();
    let fits = texts.len() == wanted.len()
        && texts.iter().zip(wanted).all(|(text, wanted)| text.contains(wanted));
    assert!(fits, "{texts:#?}");
}

#[test]
fn missing_replicas_are_created_without_pods_and_no_more_of_them() {
    check(&fixed(4), &creating(2), &[]);
    check(
        &fixed(3),
        &creating(2),
        &["static NodePool general: it would have 4 nodes, and wants 3"],
    );
    let mut closed = fixed(3);
    closed.policies.static_capacity = false;
    let gate = "NodePool general is static, and the gate StaticCapacity is closed";
    check(&closed, &creating(1), &["general-7-0 is created for no pod", gate]);
    let mut deleted = fixed(3);
    deleted.node_pools[0].is_deleting = true;
    check(&deleted, &creating(1), &["is being deleted"]);
}

#[test]
fn of_the_limits_that_on_nodes_counts_and_nodes_that_go_count_against_it() {
    let mut facts = fixed(3);
    facts.node_pools[0].limits =
        Limits([("cpu", 1), ("nodes", 3)].map(|(name, limit)| (id(name), limit)).into());
    check(&facts, &creating(1), &[]);
    let mut leaving = facts.clone();
    let claim = leaving.ledger.claims.get_mut("general-6-2").unwrap();
    *claim = claim.deleted(DeletionReason::Expired, leaving.now);
    check(&leaving, &creating(2), &["nodes"]);
}

#[test]
fn what_is_too_many_goes_and_what_matters_least_first() {
    let facts = fixed(1);
    check(&facts, &deleting(&facts, &["general-6-2"]), &[]);
    let other = "general-6-0 goes, and general-6-2 stays, which matters less";
    check(&facts, &deleting(&facts, &["general-6-0"]), &[other]);
    let both = deleting(&facts, &["general-6-0", "general-6-2"]);
    check(&facts, &both, &["0 nodes would be left, and it wants 1"]);
    let mut protected = facts.clone();
    let annotations = &mut Arc::make_mut(&mut protected.pods[0].spec).annotations;
    annotations.insert("karpenter.sh/do-not-disrupt".to_owned(), "true".to_owned());
    protected.pods.push(pod("other on:general-6-2"));
    check(&protected, &deleting(&protected, &["general-6-2"]), &[]);
    check(&protected, &deleting(&protected, &["general-6-0"]), &[other]);
}

#[test]
fn nothing_is_too_many_of_a_pool_that_is_not_static_or_goes_as_a_whole() {
    let mut facts = fixed(1);
    facts.node_pools[0].is_deleting = true;
    check(&facts, &deleting(&facts, &["general-6-2"]), &["it is being deleted"]);
    facts.node_pools[0].is_deleting = false;
    facts.node_pools[0].replicas = None;
    check(&facts, &deleting(&facts, &["general-6-2"]), &["NodePool general is not static"]);
    let mut created = fixed(1);
    created.ledger.claims.get_mut("general-6-2").unwrap().phase = model::ClaimPhase::Created;
    let plan = deleting(&created, &["general-6-2"]);
    check(&created, &plan, &["its launch may be under way"]);
}

#[test]
fn a_replacement_is_created_beside_what_it_replaces_and_no_other() {
    let facts = fixed(2);
    let mut plan = creating(1);
    let replacement = Replacement {
        node_pool: id("general"),
        instance_types: Vec::new(),
        requirements: model::Requirements::new(),
        cheapest: None,
        pods: Vec::new(),
        device_drivers: BTreeSet::new(),
    };
    let command = Command {
        method: Method::StaticDrift,
        found_at: facts.now,
        candidates: vec![id("general-6-2")],
        replacements: vec![replacement],
        drain: None,
        progress: Progress::Launching { since: facts.now, claims: vec![id("general-7-0")] },
    };
    plan.started.insert(CommandId::derived(&command), command);
    check(&facts, &plan, &[]);
    let more = Plan { new_claims: creating(2).new_claims, ..plan };
    check(&facts, &more, &["it would have 3 nodes, and wants 2", "replaces nothing"]);
}

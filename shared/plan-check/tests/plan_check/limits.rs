//! What a pool may own. In the good plan `general` owns 2 CPUs of a node and 2 of a claim on its
//! way; the new claim may become an m7g.xlarge with 4.

use model::{ResourceName, facts::Facts};
use testkit::build::id;

use super::{check, name_types};

fn limit(facts: &mut Facts, name: &str, amount: u64) {
    let name: ResourceName = id(name);
    facts.node_pools[0].limits.0.insert(name, amount);
}

#[test]
fn the_largest_that_a_new_claim_may_become_counts() {
    check(|facts, _| limit(facts, "cpu", 8_000), &[]);
    check(
        |facts, _| limit(facts, "cpu", 7_999),
        &["NodePool general would own 8 of cpu, its limit is 7999m"],
    );
    check(
        |facts, _| limit(facts, "memory", 31 << 30),
        &["NodePool general would own 32Gi of memory, its limit is 31Gi"],
    );
    check(|facts, _| limit(facts, "nvidia.com/gpu", 0), &[]);
}

#[test]
fn an_unlaunched_claim_counts_as_the_largest_too() {
    let open = |facts: &mut Facts| {
        let claim = facts.ledger.claims.get_mut("general-6-1").unwrap();
        name_types(claim, |names| names.push(id("m7g.xlarge")));
    };
    check(
        |facts, _| {
            open(facts);
            limit(facts, "cpu", 9_999);
        },
        &["would own 10 of cpu"],
    );
    // A claim that is being deleted does not count.
    check(
        |facts, plan| {
            limit(facts, "cpu", 6_000);
            let claim = facts.ledger.claims.get_mut("general-6-1").unwrap();
            *claim = claim.deleted(model::DeletionReason::Expired, facts.now);
            plan.placements.truncate(1);
        },
        &[],
    );
}

#[test]
fn a_limit_of_nodes_counts_those_of_the_plan() {
    check(|facts, _| limit(facts, "nodes", 3), &[]);
    check(
        |facts, _| limit(facts, "nodes", 2),
        &["NodePool general would own 3 of nodes, its limit is 2"],
    );
}

#[test]
fn a_plan_without_new_claims_may_stand_above_a_limit() {
    check(
        |facts, plan| {
            limit(facts, "cpu", 1);
            plan.new_claims.clear();
        },
        &[],
    );
}

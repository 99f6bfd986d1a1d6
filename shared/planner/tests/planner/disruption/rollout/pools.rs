//! Nodes that are replaced in another NodePool.

use model::{labels, node_pool::NodePool, static_hash::NODE_POOL};

use super::{TWENTIETH, fleet, looked, moved, with_canaries};
use crate::planner::support::cluster::*;

#[test]
fn a_node_that_is_replaced_in_another_nodepool_is_a_canary_of_its_own() {
    let mut facts = fleet(20, &[TWENTIETH]);
    let mut other = facts.node_pools[0].clone();
    other.name = "other".parse().unwrap();
    for claim in facts.ledger.claims.values_mut() {
        claim.node_pool = other.name.clone();
    }
    for node in facts.nodes.values_mut() {
        node.labels.insert(labels::NODE_POOL.to_owned(), "other".to_owned());
    }
    facts.node_pools.push(other);
    facts.node_pools[0].weight = 10;
    let answer = looked(&facts);
    let new = &answer.plan.new_claims[0].claim;
    let pool = facts.node_pools[0].name.as_str();
    assert_eq!((new.node_pool.as_str(), moved(facts.clone())), (pool, 1));
    assert_eq!(new.moved_from(), Some(("other", None)));
    // It is enough that it is healthy there.
    let mut passed = with_canaries(19, 1, 900, &[TWENTIETH]);
    passed.node_pools = facts.node_pools.clone();
    for (name, claim) in &mut passed.ledger.claims {
        if name.as_str() == "new0" {
            claim.annotations.insert(labels::MOVED_FROM.to_owned(), "other".to_owned());
        } else {
            claim.node_pool = "other".parse().unwrap();
        }
    }
    for node in passed.nodes.values_mut().filter(|node| node.name.as_str() != "new0") {
        node.labels.insert(labels::NODE_POOL.to_owned(), "other".to_owned());
    }
    assert_eq!(moved(passed.clone()), 19);
    let mut waits = passed.clone();
    claim(&mut waits, "new0").conditions.initialized_at = Some(ago(899));
    assert_eq!(moved(waits), 0);
    // It is none of the NodePool where it is, and none of a later change of the other one.
    let mut here = with_canaries(19, 1, 900, &[TWENTIETH]);
    here.node_pools = facts.node_pools.clone();
    assert_eq!(moved(here.clone()), 19);
    let other = here.node_pools[1].clone();
    claim(&mut here, "new0").set_moved_from(&other);
    assert_eq!(moved(here), 1);
    let hash = |pool: &mut NodePool, hash| pool.annotations.extend(NODE_POOL.annotations(hash));
    for (now, count) in [("1", 19), ("2", 1)] {
        let mut facts = passed.clone();
        let other = facts.node_pools.iter_mut().find(|pool| pool.name.as_str() == "other").unwrap();
        hash(other, "1");
        let from = other.clone();
        hash(other, now);
        claim(&mut facts, "new0").set_moved_from(&from);
        assert_eq!(claim(&mut facts, "new0").moved_from(), Some(("other", Some("1"))));
        assert_eq!(moved(facts), count, "hash {now}");
    }
}

//! Since when nodes are empty: noted on their claims, as nothing watches pods between two looks.
//!
//! Karpenter: `pkg/controllers/nodeclaim/podevents/controller.go`, which notes when a pod came or went.

use std::collections::BTreeSet;

use model::{NodeClaim, NodeName, facts::Facts};

use crate::world::World;

/// The claims of which it changed since when they are empty, as they should be stored.
pub(super) fn changes(facts: &Facts) -> Vec<NodeClaim> {
    if facts.unlocated_pod.is_some() {
        // Any node may be its.
        return Vec::new();
    }
    let needing = facts.pods.iter().filter(|pod| pod.is_reschedulable());
    let needed: BTreeSet<&NodeName> = needing.filter_map(|pod| pod.node.as_ref()).collect();
    let world = World::of(facts);
    let claims = facts.ledger.claims.values();
    claims.filter_map(|claim| changed(facts, &world, &needed, claim)).collect()
}

fn changed(
    facts: &Facts,
    world: &World<'_>,
    needed: &BTreeSet<&NodeName>,
    claim: &NodeClaim,
) -> Option<NodeClaim> {
    let node = world.node(claim).filter(|node| node.is_initialized())?;
    if claim.is_deleting() {
        return None;
    }
    let empty_since = match (needed.contains(&node.name), claim.empty_since) {
        (true, Some(_)) => None,
        (false, None) => Some(facts.now),
        (true, None) | (false, Some(_)) => return None,
    };
    Some(NodeClaim { empty_since, version: claim.version + 1, ..claim.clone() })
}

//! Since when nodes are empty, and when pods last came to them or went: noted on their claims when the first pod comes
//! or the last one goes, as nothing watches pods between two looks.
//!
//! Karpenter: `pkg/controllers/nodeclaim/podevents/controller.go`, which notes when a pod came or went.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{NodeClaim, NodeName, Pod, claim::ClaimConditions, facts::Facts};

use crate::world::World;

/// The claims of which it changed since when they are empty, as they should be stored.
pub(super) fn changes(facts: &Facts) -> Vec<NodeClaim> {
    if facts.unlocated_pod.is_some() {
        // Any node may be its.
        return Vec::new();
    }
    // When the pod came to each node that came last, as far as it started.
    let mut needed: BTreeMap<&NodeName, Option<Timestamp>> = BTreeMap::new();
    let needing = facts.pods.iter().filter(|pod| pod.is_reschedulable());
    for (node, pod) in needing.filter_map(|pod: &Pod| Some((pod.node.as_ref()?, pod))) {
        let came = needed.entry(node).or_default();
        *came = pod.started_at.max(*came);
    }
    let world = World::of(facts);
    let claims = facts.ledger.claims.values();
    claims.filter_map(|claim| changed(facts, &world, &needed, claim)).collect()
}

fn changed(
    facts: &Facts,
    world: &World<'_>,
    needed: &BTreeMap<&NodeName, Option<Timestamp>>,
    claim: &NodeClaim,
) -> Option<NodeClaim> {
    let node = world.node(claim).filter(|node| node.is_initialized())?;
    if claim.is_deleting() {
        return None;
    }
    let (empty_since, event) = match (needed.get(&node.name), claim.empty_since) {
        (Some(came), Some(_)) => (None, came.unwrap_or(facts.now)),
        (None, None) => (Some(facts.now), facts.now),
        (Some(_), None) | (None, Some(_)) => return None,
    };
    let last_pod_event_at = claim.conditions.last_pod_event_at.max(Some(event));
    let conditions = ClaimConditions { last_pod_event_at, ..claim.conditions.clone() };
    Some(NodeClaim { empty_since, conditions, ..claim.following() })
}

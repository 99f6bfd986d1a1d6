//! Since when nodes are empty, and when pods last came to them or went: noted on their claims when the first pod comes
//! or the last one goes, as nothing watches pods between two looks.

use std::collections::BTreeMap;

use model::{NodeClaim, NodeName, Pod, claim::ClaimConditions, facts::Facts};

use super::noted::NOTED_MAX;
use crate::{
    pod_events::{needing, seen},
    world::World,
};

/// The claims of which it changed since when they are empty, or of which nothing is noted yet, as they should be stored.
pub(super) fn changes(facts: &Facts) -> Vec<NodeClaim> {
    if facts.unlocated_pod.is_some() {
        // Any node may be its.
        return Vec::new();
    }
    let (world, pods) = (World::of(facts), needing(facts));
    let changed = facts.ledger.claims.values().filter_map(|claim| {
        let change = changed(facts, &world, &pods, claim)?;
        Some((change.empty_since == claim.empty_since, change))
    });
    let mut more = NOTED_MAX;
    let is_due = |(is_first, _): &(bool, NodeClaim)| {
        let is_due = !is_first || more > 0;
        more = more.saturating_sub(usize::from(*is_first));
        is_due
    };
    changed.filter(is_due).map(|(_, change)| change).collect()
}

fn changed(
    facts: &Facts,
    world: &World<'_>,
    pods: &BTreeMap<&NodeName, Vec<&Pod>>,
    claim: &NodeClaim,
) -> Option<NodeClaim> {
    let node = world.node(claim).filter(|node| node.is_initialized())?;
    if claim.is_deleting() {
        return None;
    }
    let pods = pods.get(&node.name).map(Vec::as_slice).unwrap_or_default();
    let before = claim.conditions.last_pod_event_at;
    let last_pod_event_at = before.max(seen(claim, pods, facts.now));
    let is_first = before.is_none() && last_pod_event_at.is_some();
    let empty_since = pods.is_empty().then(|| claim.empty_since.unwrap_or(facts.now));
    let is_news = empty_since != claim.empty_since || is_first;
    let conditions = ClaimConditions { last_pod_event_at, ..claim.conditions.clone() };
    is_news.then(|| NodeClaim { empty_since, conditions, ..claim.following() })
}

//! When pods last came to a node or left it, as far as that is known: nothing watches pods between two looks.
//!
//! Karpenter: `pkg/controllers/nodeclaim/podevents/controller.go`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{NodeClaim, NodeName, Pod, facts::Facts};

/// The pods that would need another node, by their node.
pub(crate) fn needing(facts: &Facts) -> BTreeMap<&NodeName, Vec<&Pod>> {
    let mut pods: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| pod.is_reschedulable()) {
        if let Some(node) = &pod.node {
            pods.entry(node).or_default().push(pod);
        }
    }
    pods
}

/// What `pods`, all on the node of `claim`, tell beside the claim of when one last came or left. What a look notes on
/// the claim counts in that look already.
pub(crate) fn seen(claim: &NodeClaim, pods: &[&Pod], now: Timestamp) -> Option<Timestamp> {
    if pods.is_empty() {
        return Some(claim.empty_since.unwrap_or(now));
    }
    let came = pods.iter().filter_map(|pod| pod.started_at).max();
    came.or_else(|| claim.empty_since.map(|_| now))
}

/// When a pod last came to the node of `claim`, which has `pods` of its own, or went, as far as that is known.
/// `is_watched`: the claim says it.
pub(crate) fn quiet_since(
    claim: &NodeClaim,
    pods: &[&Pod],
    now: Timestamp,
    is_watched: bool,
) -> Timestamp {
    let seen = if is_watched { None } else { seen(claim, pods, now) };
    let event = claim.conditions.last_pod_event_at.max(seen);
    event.or_else(|| claim.initialized_at()).unwrap_or(claim.phase_since)
}

/// Until when no pod that runs elsewhere is moved onto the node of `claim`, which has `pods`: its pool waits so long
/// after pods came or went. One that is not initialized does not settle.
///
/// Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToExistingNode`.
pub(crate) fn settles_until(
    facts: &Facts,
    claim: &NodeClaim,
    pods: &[&Pod],
    is_watched: bool,
) -> Option<Timestamp> {
    let pool = facts.node_pools.iter().find(|pool| pool.name == claim.node_pool)?;
    let wait = pool.disruption.consolidate_after.filter(SignedDuration::is_positive)?;
    claim.initialized_at()?;
    let since = quiet_since(claim, pods, facts.now, is_watched);
    since.checked_add(wait).ok().filter(|_| pool.is_usable())
}

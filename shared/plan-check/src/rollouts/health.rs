//! Whether canaries fail more often than old nodes.

use jiff::{SignedDuration, Timestamp};
use model::{NodeClaim, Pod};

use crate::world::World;

/// An instance is an initialized node after this time.
const JOINED_WITHIN: SignedDuration = SignedDuration::from_mins(9);
/// A node may be not ready for less than this time.
const UNREADY_FOR: SignedDuration = SignedDuration::from_mins(2);
/// A pod is ready this time after its start.
const PODS_READY_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// What is worse about the `new` nodes than about the `old` ones, if something is.
pub(super) fn worse(
    world: &World<'_>,
    new: &[&NodeClaim],
    old: &[&NodeClaim],
) -> Option<&'static str> {
    let failed = |claims: &[&NodeClaim]| {
        let failed = claims.iter().filter(|claim| has_failed(world, claim)).count();
        (failed, claims.len())
    };
    let pods = |claims: &[&NodeClaim]| {
        let due: Vec<&Pod> = claims.iter().flat_map(|claim| due(world, claim)).collect();
        (due.iter().filter(|pod| !pod.is_ready).count(), due.len())
    };
    if is_larger(failed(new), failed(old)) {
        Some("a larger share of them than of old nodes has failed")
    } else {
        is_larger(pods(new), pods(old)).then_some("a larger share of their pods is not ready")
    }
}

/// Whether the first share, a part and its whole, is larger. Nothing of nothing is no share: any part is larger.
fn is_larger((part, whole): (usize, usize), (other, of): (usize, usize)) -> bool {
    if of == 0 { 0 < part } else { other * whole < part * of }
}

fn has_failed(world: &World<'_>, claim: &NodeClaim) -> bool {
    let Some(instance) = &claim.instance else { return false };
    let has_passed = |since: Timestamp, time| time <= world.facts.now.duration_since(since);
    let Some(node) = world.node_of.get(&claim.name).filter(|node| node.is_initialized()) else {
        return has_passed(instance.launched_at, JOINED_WITHIN);
    };
    let ready = node.ill_conditions.iter().find(|condition| condition.kind == "Ready");
    let since = ready.and_then(|condition| condition.since);
    !node.is_ready && since.is_none_or(|since| has_passed(since, UNREADY_FOR))
}

/// The pods on the node of `claim` that are to be ready.
fn due<'a>(world: &World<'a>, claim: &NodeClaim) -> Vec<&'a Pod> {
    let node = world.node_of.get(&claim.name).map(|node| &node.name);
    let pods = node.and_then(|name| world.pods_on.get(name)).into_iter().flatten().copied();
    let is_due = |pod: &&Pod| {
        let is_over = |started| PODS_READY_WITHIN <= world.facts.now.duration_since(started);
        !pod.is_terminal() && !pod.is_terminating() && pod.started_at.is_some_and(is_over)
    };
    pods.filter(is_due).collect()
}

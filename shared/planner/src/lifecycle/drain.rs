//! From `Deleting` to gone: the next step of one claim.
//!
//! Nothing is launched and nothing is chosen here. A claim without an instance is removed only when EC2
//! has none for it: whether a launch is still on its way cannot be known here.
//!
//! Karpenter: `pkg/controllers/node/termination/controller.go` and `terminator/terminator.go`.

pub mod reboot;
pub mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, Pod, Taint,
    duration::later,
    labels,
    node::{EvictionRequest, Node, NodePatch},
};

pub use self::reboot::{RebootStep, reboot};
pub use self::volumes::{VolumeLook, VolumeStep, await_volumes};
use crate::eviction::{disrupted_taint, forced_at, rebooting_taint, tolerates_disruption};

/// What a pod that is made to leave has at least: with 0 it would be erased from storage while its process may
/// live.
const GRACE_MIN: SignedDuration = SignedDuration::from_secs(1);
/// How long after its deletion timestamp, which has its grace period in it, a pod counts as stuck
/// and is not waited for any more.
///
/// Karpenter: `pkg/utils/pod/scheduling.go`, `IsStuckTerminating`.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);
/// How long a node is tainted at least before it counts as drained: a pod may be bound by a
/// scheduler that has not seen the taint.
///
/// Karpenter: `termination/controller.go`, `awaitDrain`.
pub const DRAIN_SECONDS_MIN: u32 = 5;
/// How often EC2 is asked whether the instance ended.
///
/// Karpenter: `termination/controller.go`, `awaitInstanceTermination`.
const TERMINATION_SECONDS: u32 = 5;
/// EC2 that took the request to terminate an instance is asked again when it is still there after so long. What
/// it describes may lag by some seconds.
const TERMINATED_AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// Keeps load balancers from sending requests to a node that is going away.
///
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#node-kubernetes-io-exclude-from-external-load-balancers>
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str =
    "node.kubernetes.io/exclude-from-external-load-balancers";
/// Pods of these priority classes leave last.
const CRITICAL: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// What EC2 says about the instance of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceView {
    /// It could not be found out.
    Unknown,
    /// It is pending, running, stopping or stopped.
    Present,
    /// It is shutting down.
    Ending,
    /// It is terminated, or there is none.
    Gone,
}

/// What to do now to empty a node and to end its instance, in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drainage {
    /// Changes to the node.
    pub patch: Option<NodePatch>,
    /// Pods to evict. Those with a grace period of ours are deleted, whatever a
    /// PodDisruptionBudget says: the claim's deadline is near.
    pub evict: Vec<EvictionRequest>,
    /// How many pods are waited for.
    pub pods_left: usize,
    /// Since when nothing on the node has to be waited for, if that is so.
    pub drained_since: Option<Timestamp>,
    /// Whether to terminate the instance.
    pub terminate: bool,
    /// What to look at before that, and to ask [`await_volumes`] about: whether volumes are attached to the
    /// node.
    pub volumes: Option<VolumeLook>,
    /// Whether to delete the node.
    pub delete_node: bool,
    /// Whether to remove the claim's record: nothing is left of it.
    pub remove_claim: bool,
    /// When to look again; `None` is never.
    pub revisit_after_seconds: Option<u32>,
}

/// What keeps new pods away from `node` while it is replaced, if it lacks that. Load balancers go on sending
/// requests: it is in service until it is deleted.
#[must_use]
pub fn held(node: &Node) -> Option<NodePatch> {
    let patch = NodePatch { labels: BTreeMap::new(), ..disrupted_patch(node) };
    (!patch.is_satisfied_by(node)).then_some(patch)
}

/// What keeps new pods away from `node` while it is rebooted, if it lacks that.
#[must_use]
pub fn held_for_reboot(node: &Node) -> Option<NodePatch> {
    let patch = NodePatch { add_taints: vec![rebooting_taint()], ..NodePatch::default() };
    (!patch.is_satisfied_by(node)).then_some(patch)
}

/// What lets new pods onto `node` again, if it needs that.
#[must_use]
pub fn released(node: &Node) -> Option<NodePatch> {
    let ours = [labels::DISRUPTED_TAINT, labels::REBOOTING_TAINT];
    let is_ours = |present: &&Taint| ours.contains(&present.key.as_str());
    let remove_taints: Vec<Taint> = node.taints.iter().filter(is_ours).cloned().collect();
    (!remove_taints.is_empty()).then(|| NodePatch { remove_taints, ..NodePatch::default() })
}

/// What takes our finalizer from `node`, if it has it.
#[must_use]
pub fn let_go(node: &Node) -> Option<NodePatch> {
    let finalizer = labels::TERMINATION_FINALIZER.to_owned();
    let patch =
        NodePatch { remove_finalizers: BTreeSet::from([finalizer]), ..NodePatch::default() };
    (!patch.is_satisfied_by(node)).then_some(patch)
}

/// The next step of deleting `claim`, whose node is `node` if it is there, with `pods` on it.
#[must_use]
pub fn drain(
    claim: &NodeClaim,
    node: Option<&Node>,
    pods: &[Pod],
    instance: InstanceView,
    now: Timestamp,
) -> Drainage {
    if !claim.is_deleting() {
        return Drainage::default();
    }
    match (instance, node) {
        (InstanceView::Gone, Some(node)) => gone(node),
        (InstanceView::Gone, None) => Drainage { remove_claim: true, ..Drainage::default() },
        (InstanceView::Ending, _) => again(TERMINATION_SECONDS),
        (InstanceView::Present | InstanceView::Unknown, None) => Drainage {
            terminate: is_to_be_terminated(claim, now),
            drained_since: claim.conditions.drained_since,
            ..again(TERMINATION_SECONDS)
        },
        (InstanceView::Present | InstanceView::Unknown, Some(node)) => {
            emptied(claim, node, pods, now)
        }
    }
}

/// Until when the pods of `claim` may take, and whatever is waited for after them.
pub fn deadline_of(claim: &NodeClaim) -> Option<Timestamp> {
    claim.deletion.as_ref().and_then(|deletion| deletion.deadline)
}

/// Whether EC2 was not told yet, or a while ago.
fn is_to_be_terminated(claim: &NodeClaim, now: Timestamp) -> bool {
    let told_at = claim.conditions.instance_terminating_since;
    claim.instance.is_some()
        && told_at.is_none_or(|told_at| now.duration_since(told_at) >= TERMINATED_AGAIN)
}

/// Nothing to do now: look again in `seconds`.
pub fn again(seconds: u32) -> Drainage {
    Drainage { revisit_after_seconds: Some(seconds), ..Drainage::default() }
}

/// The instance is gone: nothing on the node runs any more, so nothing is evicted. The record stays
/// until the node was seen to be gone.
fn gone(node: &Node) -> Drainage {
    Drainage { patch: let_go(node), delete_node: true, ..again(1) }
}

fn emptied(claim: &NodeClaim, node: &Node, pods: &[Pod], now: Timestamp) -> Drainage {
    let deadline = deadline_of(claim);
    let since = claim.deletion.as_ref().map_or(claim.phase_since, |deletion| deletion.at);
    let waiting: Vec<&Pod> = pods.iter().filter(|pod| is_waited_for(pod, now)).collect();
    let patch = disrupted_patch(node);
    let is_marked = patch.is_satisfied_by(node);
    let age = now.duration_since(since);
    let mut next = Drainage { patch: (!is_marked).then_some(patch), ..Drainage::default() };
    if waiting.is_empty() {
        if is_marked && age.as_secs() >= i64::from(DRAIN_SECONDS_MIN) {
            next.drained_since = claim.conditions.drained_since.or(Some(now));
            next.terminate = is_to_be_terminated(claim, now);
            next.volumes = volumes::look(claim, &node.name, pods, now).filter(|_| next.terminate);
        }
        next.revisit_after_seconds = Some(DRAIN_SECONDS_MIN.min(TERMINATION_SECONDS));
        return next;
    }
    next.pods_left = waiting.len();
    next.evict = evictions(&waiting, deadline, now);
    next.revisit_after_seconds = Some(delay_seconds(&waiting, deadline, age, now));
    next
}

/// The taint that keeps new pods away (in place of one with the same key and another effect), and
/// the label that keeps new connections away.
fn disrupted_patch(node: &Node) -> NodePatch {
    let taint = disrupted_taint();
    let is_other = |present: &&Taint| present.key == taint.key && present.effect != taint.effect;
    let label = (EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned());
    NodePatch {
        labels: [label].into_iter().collect(),
        remove_taints: node.taints.iter().filter(is_other).cloned().collect(),
        add_taints: vec![taint],
        ..NodePatch::default()
    }
}

/// Whether the node is not empty because of it. Pods that tolerate the taint stay by their own
/// preference, mirrors cannot be evicted.
pub fn is_waited_for(pod: &Pod, now: Timestamp) -> bool {
    !pod.is_terminal() && is_drained(pod, now)
}

/// Whether it is made to leave, if it did not end already.
pub fn is_drained(pod: &Pod, now: Timestamp) -> bool {
    let is_stuck = pod.deleted_at.is_some_and(|deleted_at| {
        deleted_at.checked_add(STUCK_AFTER).is_ok_and(|stuck_at| stuck_at < now)
    });
    !is_stuck && !pod.is_mirror() && !tolerates_disruption(pod)
}

/// Pods whose grace period no longer fits before the deadline at once, with what is left of it; of
/// the others only the first group, until the last of it is gone.
pub fn evictions(
    waiting: &[&Pod],
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Vec<EvictionRequest> {
    let (forced, graceful): (Vec<&Pod>, Vec<&Pod>) =
        waiting.iter().copied().partition(|pod| is_forced(pod, deadline, now));
    let request = |pod: &Pod, grace_seconds| EvictionRequest {
        pod: pod.key.clone(),
        uid: pod.uid.clone(),
        grace_seconds,
    };
    let grace = deadline.map(|deadline| {
        let left = deadline.duration_since(now).max(GRACE_MIN).as_secs();
        u32::try_from(left).unwrap_or(u32::MAX)
    });
    let first = graceful.iter().map(|pod| group(pod)).min();
    let gentle = graceful
        .iter()
        .filter(|pod| Some(group(pod)) == first && !pod.is_terminating() && !pod.is_protected(now));
    let mut eviction_requests: Vec<EvictionRequest> =
        forced.iter().map(|pod| request(pod, grace)).collect();
    eviction_requests.extend(gentle.map(|pod| request(pod, None)));
    eviction_requests
}

/// Non-critical before critical, and among those pods of DaemonSets last.
fn group(pod: &Pod) -> (bool, bool) {
    let is_critical = CRITICAL.contains(&pod.spec.priority_class.as_str());
    (is_critical, pod.is_owned_by_daemon_set())
}

/// Karpenter: `pkg/utils/termination` and `terminator/eviction.go`, `needsForceDelete`.
fn is_forced(pod: &Pod, deadline: Option<Timestamp>, now: Timestamp) -> bool {
    let Some(deadline) = deadline else { return false };
    if let Some(deleted_at) = pod.deleted_at {
        let earliest = later(now, GRACE_MIN);
        return deadline.max(earliest) < deleted_at;
    }
    forced_at(pod, deadline) < now
}

/// Seconds until the next look at what takes so long already.
pub fn often_at_first(age: SignedDuration) -> u32 {
    match age.as_secs() {
        ..60 => 2,
        60..600 => 5,
        _ => 15,
    }
}

/// Often at first, seldom when pods take long to leave, and never past the next deadline.
pub fn delay_seconds(
    waiting: &[&Pod],
    deadline: Option<Timestamp>,
    age: SignedDuration,
    now: Timestamp,
) -> u32 {
    let delay = often_at_first(age);
    let graceful = |pod: &&&Pod| pod.deleted_at.is_none() && !is_forced(pod, deadline, now);
    let deadlines = deadline.into_iter().flat_map(|deadline| {
        waiting.iter().filter(graceful).map(move |pod| forced_at(pod, deadline))
    });
    let next = deadlines
        .map(|at| at.duration_since(now).as_secs().saturating_add(1))
        .min()
        .map_or(u32::MAX, |seconds| u32::try_from(seconds.max(1)).unwrap_or(u32::MAX));
    next.min(delay)
}

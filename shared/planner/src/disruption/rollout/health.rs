//! Whether nodes work: whether they join, are ready, and their pods, too.

use jiff::{SignedDuration, Timestamp};
use model::{NodeClaim, Pod, duration::later, node::Node, words};

use crate::disruption::nodes::StateNode;

/// An instance that has not become an initialized node within this time has failed. A command is rolled back after
/// ten minutes, and its replacement would not be seen any more.
const JOINS_WITHIN: SignedDuration = SignedDuration::from_mins(9);
/// A node that is not ready for this time has failed: a shorter time is no news.
const NOT_READY_FOR: SignedDuration = SignedDuration::from_mins(2);
/// A pod that is not ready after this time on its node has failed: before, its images may be pulled.
const PODS_READY_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// How one node is.
#[derive(Clone, Debug)]
pub(super) struct Health<'a> {
    pub(super) claim: &'a NodeClaim,
    /// The node's name, or its claim's.
    name: String,
    /// What is wrong with it, in words.
    failure: Option<&'static str>,
    /// Since when it is initialized, if it is ready and all of its pods can be read.
    pub(super) ready_since: Option<Timestamp>,
    /// Its pods that should be ready by now.
    pods: usize,
    /// Of these, the ones that are not.
    failed_pods: usize,
}

impl<'a> Health<'a> {
    /// How the node of `claim` is at `now`.
    pub(super) fn of(entry: &StateNode<'_>, claim: &'a NodeClaim, now: Timestamp) -> Self {
        let is_due = |pod: &&&Pod| {
            let started = pod.started_at;
            !pod.is_terminal()
                && !pod.is_terminating()
                && started.is_some_and(|started| later(started, PODS_READY_WITHIN) <= now)
        };
        let due = || entry.pods.iter().filter(is_due);
        let initialized = entry.node.filter(|node| node.is_initialized());
        let is_whole = entry.pods.iter().all(|pod| !pod.is_unreadable());
        let works = initialized.is_some_and(|node| node.is_ready) && is_whole;
        Self {
            claim,
            name: entry.name().to_owned(),
            failure: failure_of(entry.node, claim, now),
            ready_since: claim.initialized_at().filter(|_| works),
            pods: due().count(),
            failed_pods: due().filter(|pod| !pod.is_ready).count(),
        }
    }
}

fn failure_of(node: Option<&Node>, claim: &NodeClaim, now: Timestamp) -> Option<&'static str> {
    let instance = claim.instance.as_ref()?;
    let is_late = later(instance.launched_at, JOINS_WITHIN) <= now;
    match node {
        Some(node) if node.is_initialized() => {
            let since = node.ill_conditions.iter().find(|ill| ill.kind == "Ready");
            let since = since.and_then(|ill| ill.since);
            let is_short = since.is_some_and(|since| now < later(since, NOT_READY_FOR));
            (!node.is_ready && !is_short).then_some("is not ready")
        }
        Some(node) if node.is_registered() => is_late.then_some("was not initialized in time"),
        _ => is_late.then_some("did not register in time"),
    }
}

/// Why the `new` nodes are worse than the `old` ones, in words, if they are: a larger share of them fails, or a larger
/// share of their pods.
pub(super) fn failure(new: &[Health<'_>], old: &[Health<'_>]) -> Option<String> {
    let failed = |nodes: &[Health<'_>]| nodes.iter().filter(|node| node.failure.is_some()).count();
    let (new_failed, old_failed) = (failed(new), failed(old));
    if old_failed * new.len() < new_failed * old.len() {
        let first = new.iter().find(|node| node.failure.is_some())?;
        let why = first.failure.unwrap_or_default();
        let others = match new_failed - 1 {
            0 => String::new(),
            others => format!(", and {} failed", words::counted(others, "other new node")),
        };
        return Some(format!("new node {} {why}{others}", first.name));
    }
    let counts = |nodes: &[Health<'_>]| {
        nodes
            .iter()
            .fold((0, 0), |(failed, pods), node| (failed + node.failed_pods, pods + node.pods))
    };
    let ((new_failed, new_pods), (old_failed, old_pods)) = (counts(new), counts(old));
    let is_worse =
        if old_pods == 0 { 0 < new_failed } else { old_failed * new_pods < new_failed * old_pods };
    is_worse.then(|| {
        let minutes = PODS_READY_WITHIN.as_mins();
        format!(
            "{new_failed} of {new_pods} pods on new nodes are not ready {minutes} minutes after their start, and \
             {old_failed} of {old_pods} on old nodes"
        )
    })
}

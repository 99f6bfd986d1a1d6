//! The pods that no node has yet.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{NodeName, PodKey, PodSpec};

use super::{PodEntry, events::Series, neighbours::is_choosy};

/// Higher priority first, then older, then by name.
type Turn = (Reverse<i32>, Timestamp, PodKey);

/// Pods without a node, in the API server's order and in the scheduler's.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    keys: BTreeSet<PodKey>,
    queue: BTreeMap<Turn, QueuedPod>,
}

/// What the scheduler needs of a pod that it looks at again and again.
#[derive(Debug)]
pub(super) struct QueuedPod {
    pub(super) spec: Arc<PodSpec>,
    /// The only node that a daemon may go to.
    pub(super) pinned: Option<NodeName>,
    /// Whether it looks at other pods, at ports, volumes or devices: what was found out about it holds for no other.
    pub(super) is_choosy: bool,
    /// Events which say that no node has room for it.
    pub(super) events: Series,
}

impl Waiting {
    /// `spec` is what the pod is scheduled by.
    pub(super) fn insert(&mut self, entry: &PodEntry, spec: Arc<PodSpec>) {
        let pod = &entry.pod;
        self.keys.insert(pod.key.clone());
        let queued = QueuedPod {
            pinned: entry.pinned.clone(),
            is_choosy: is_choosy(&spec)
                || !pod.volumes.is_empty()
                || !spec.claims.references.is_empty(),
            spec,
            events: Series::default(),
        };
        self.queue.insert(turn(entry), queued);
    }

    pub(super) fn remove(&mut self, entry: &PodEntry) {
        if self.keys.remove(&entry.pod.key) {
            self.queue.remove(&turn(entry));
        }
    }

    pub(super) fn keys(&self) -> &BTreeSet<PodKey> {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The scheduler's queue, to go through it. Pods that get a node meanwhile are only taken from the keys.
    pub(super) fn take_queue(&mut self) -> BTreeMap<Turn, QueuedPod> {
        std::mem::take(&mut self.queue)
    }

    /// Gives the queue back, without those that have a node now.
    pub(super) fn give_back(&mut self, queue: BTreeMap<Turn, QueuedPod>) {
        self.queue = queue;
    }
}

fn turn(entry: &PodEntry) -> Turn {
    let pod = &entry.pod;
    (Reverse(pod.spec.priority), pod.created_at, pod.key.clone())
}

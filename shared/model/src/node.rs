//! Nodes: only what decisions read.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{NodeName, PodKey, ProviderId, Resources, Taint, labels};

/// A Kubernetes Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// `spec.providerID`, once the cloud provider set it.
    pub provider_id: Option<ProviderId>,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations of Karpenter's own domain.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    pub finalizers: BTreeSet<String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.capacity`.
    pub capacity: Resources,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
    /// `status.nodeInfo.bootID`: another one after each boot; empty while it is unknown.
    pub boot_id: String,
    /// The conditions that a repair policy is about ([`crate::repair`]), in a status that says that
    /// it is ill.
    pub ill_conditions: Vec<IllCondition>,
}

/// A condition that says that its node is ill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllCondition {
    /// Its type, such as `StorageReady`.
    pub kind: String,
    /// Its status.
    pub status: IllStatus,
    /// Its reason; empty when it has none.
    pub reason: String,
    /// `lastTransitionTime`.
    pub since: Option<Timestamp>,
}

/// The status of a condition that should be `True`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IllStatus {
    /// `False`.
    False,
    /// `Unknown`: the node does not report.
    Unknown,
}

impl Node {
    /// Whether this project's `settle` registered it.
    pub fn is_registered(&self) -> bool {
        self.labels.get(labels::REGISTERED).is_some_and(|value| value == "true")
    }

    /// Whether this project's `settle` saw everything start on it.
    pub fn is_initialized(&self) -> bool {
        self.labels.get(labels::INITIALIZED).is_some_and(|value| value == "true")
    }
}

/// Changes to a Node. Applying it twice is the same as applying it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePatch {
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Labels to take away.
    pub remove_labels: BTreeSet<String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
    /// Taints to add unless they are there.
    pub add_taints: Vec<Taint>,
    /// Taints to take away, by key and effect.
    pub remove_taints: Vec<Taint>,
    /// Finalizers to add.
    pub add_finalizers: BTreeSet<String>,
    /// Finalizers to take away.
    pub remove_finalizers: BTreeSet<String>,
}

impl NodePatch {
    /// Whether it changes nothing of `node`.
    pub fn is_satisfied_by(&self, node: &Node) -> bool {
        let has = |taint: &Taint| {
            node.taints
                .iter()
                .any(|present| present.key == taint.key && present.effect == taint.effect)
        };
        self.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
            && !self.remove_labels.iter().any(|key| node.labels.contains_key(key))
            && self.annotations.iter().all(|(key, value)| node.annotations.get(key) == Some(value))
            && self.add_taints.iter().all(|taint| node.taints.contains(taint))
            && !self.remove_taints.iter().any(has)
            && self.add_finalizers.is_subset(&node.finalizers)
            && self.remove_finalizers.is_disjoint(&node.finalizers)
    }
}

/// What the API server says to an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The pod is being deleted.
    Accepted,
    /// A PodDisruptionBudget does not allow it now (429).
    Blocked,
    /// There is no such pod any more.
    Gone,
}

/// A pod to evict, or to delete when its node ends whatever still runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionRequest {
    /// Which pod.
    pub pod: PodKey,
    /// Its uid, so that a namesake is never evicted.
    pub uid: crate::PodUid,
    /// `None` evicts: the pod has its own grace period, and PodDisruptionBudgets are honored. With
    /// seconds the pod is deleted, whatever budgets say, and has so long to end; one that is being
    /// deleted already ends sooner.
    pub grace_seconds: Option<u32>,
}

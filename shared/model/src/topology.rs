//! What a pod asks about the places of other pods: spread, affinity and anti-affinity.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>

use std::collections::BTreeSet;

use crate::{LabelKey, Namespace, selector::LabelSelector};

/// One of `spec.topologySpreadConstraints`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpreadConstraint {
    /// The label whose values are the domains.
    pub topology_key: LabelKey,
    /// By how many pods a domain may be ahead of the least. At least 1.
    pub max_skew: u32,
    /// With fewer domains than this, the least counts as 0.
    pub min_domains: Option<u32>,
    /// What happens when it cannot hold.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// Which pods are counted, `matchLabelKeys` worked in; `None` counts none.
    pub selector: Option<LabelSelector>,
    /// Whether only nodes that the pod's node selector and affinity allow are counted.
    pub node_affinity_policy: NodeInclusionPolicy,
    /// Whether only nodes whose taints the pod tolerates are counted.
    pub node_taints_policy: NodeInclusionPolicy,
}

/// What happens when a spread constraint cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WhenUnsatisfiable {
    /// The pod waits.
    DoNotSchedule,
    /// The constraint is relaxed.
    ScheduleAnyway,
}

/// Whether a property of nodes decides which of them are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeInclusionPolicy {
    /// It does.
    Honor,
    /// It does not.
    Ignore,
}

/// A term of pod affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodAffinityTerm {
    /// The label whose equal values make a common place.
    pub topology_key: LabelKey,
    /// Which pods, `matchLabelKeys` and `mismatchLabelKeys` worked in; `None` selects none.
    pub selector: Option<LabelSelector>,
    /// Namespaces by name. With no name and no selector, the pod's own.
    pub namespaces: BTreeSet<Namespace>,
    /// Namespaces by their labels, beside those by name. An empty selector is all of them.
    pub namespace_selector: Option<LabelSelector>,
}

/// Something that is wished for, by weight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weighted<T> {
    /// 1 to 100: heavier preferences are relaxed first, as Karpenter does.
    pub weight: u32,
    /// What.
    pub term: T,
}

/// `spec.affinity.podAffinity` or `podAntiAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodAffinity {
    /// What must hold when the pod is scheduled.
    pub required: Vec<PodAffinityTerm>,
    /// What is wished for.
    pub preferred: Vec<Weighted<PodAffinityTerm>>,
}

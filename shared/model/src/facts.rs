//! What was observed: everything that a decision may look at.
//!
//! Not every decision looks at everything. An observation that a caller may have skipped is an
//! `Option`: "not observed" differs from "nothing there".

mod daemons;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    ClusterName, HourlyPrice, ImageId, InstanceType, InstanceTypeName, Namespace, NodeClaimName,
    NodeClassName, NodeName, OfferingKey, Pod, PodSpec, ReservationId,
    buffer::CapacityBuffer,
    dynamic_resources::DeviceFacts,
    eviction::PodDisruptionBudget,
    ledger::{Digest, Snapshot},
    node::Node,
    node_class::Obstacle,
    node_pool::NodePool,
    overlay::NodeOverlay,
    policies::Policies,
    rollout::RolloutAnnotations,
    storage::Storage,
};

pub use daemons::{Daemon, daemons};

/// A DaemonSet: what each node that it chooses must have room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSet {
    /// Namespace and name.
    pub key: crate::PodKey,
    /// Its pods, with the template's own required node affinity.
    pub spec: Arc<PodSpec>,
}

/// What a NodeClass offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassOffer {
    /// Its instance types, sorted by name: capacity and overhead as its nodes would have them,
    /// offerings available only in its subnets' zones and available.
    Ready(Vec<Arc<InstanceType>>),
    /// Nothing can be launched from it: this stands against it.
    NotReady(Vec<Obstacle>),
}

impl ClassOffer {
    /// Why nothing can be launched from it, if so; the class is called `class`.
    pub fn why_not_ready(&self, class: &NodeClassName) -> Option<String> {
        match self {
            Self::Ready(_) => None,
            Self::NotReady(obstacles) => {
                let why = Obstacle::in_words(obstacles);
                Some(format!("EC2NodeClass {class} is not ready: {why}"))
            }
        }
    }
}

/// What was observed, at one present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The cluster.
    pub cluster: ClusterName,
    /// The present.
    pub now: Timestamp,
    /// What the ledger holds. Read first.
    pub ledger: Snapshot,
    /// The cluster's nodes, by name. Read second.
    pub nodes: BTreeMap<NodeName, Node>,
    /// Claims whose NodeClaim objects are being deleted; `None` if not observed.
    pub deleted_claims: Option<BTreeSet<NodeClaimName>>,
    /// Capacity blocks that end so soon that EC2 takes their instances, and their nodes go before;
    /// `None` if not observed.
    pub ending_reservations: Option<BTreeSet<ReservationId>>,
    /// Its NodePools, sorted by name.
    pub node_pools: Vec<NodePool>,
    /// What each NodeClass that a pool names offers, one that does not exist being left out; `None`
    /// if not observed, and nothing can be launched.
    pub classes: Option<BTreeMap<NodeClassName, ClassOffer>>,
    /// The static hash of each of them, of the present version ([`crate::static_hash`]), one that is
    /// not known being left out; `None` if not observed, and no class counts as changed.
    pub class_hashes: Option<BTreeMap<NodeClassName, String>>,
    /// The image that a node of each instance type would start from now, by EC2NodeClass. Classes of which
    /// that is not known are left out, and so are types that are not needed.
    pub class_images: BTreeMap<NodeClassName, BTreeMap<InstanceTypeName, ImageId>>,
    /// The image that a canary of each instance type would start from, by EC2NodeClass: where that is another one, and
    /// was not accepted yet.
    pub class_candidates: BTreeMap<NodeClassName, BTreeMap<InstanceTypeName, ImageId>>,
    /// The annotations of the rollouts of EC2NodeClasses. Classes without any are left out.
    pub class_rollouts: BTreeMap<NodeClassName, RolloutAnnotations>,
    /// What a node of each EC2NodeClass costs beside its instance: its volumes. Classes of which that is not
    /// known are left out.
    pub node_charges: BTreeMap<NodeClassName, HourlyPrice>,
    /// Its DaemonSets, sorted by namespace and name.
    pub daemon_sets: Vec<DaemonSet>,
    /// Its pods, in the API server's order. Read last: demand may be overstated, supply never is.
    pub pods: Vec<Pod>,
    /// A pod that cannot be read, nor on which node it is, in words: any node may be its, so that none can
    /// be said to be empty.
    pub unlocated_pod: Option<String>,
    /// What else of the cluster decides where pods may go.
    pub surroundings: Surroundings,
    /// Devices and claims to them; `None` if pods with claims are not to be placed (`IGNORE_DRA_REQUESTS`).
    pub devices: Option<Arc<DeviceFacts>>,
    /// How to decide.
    pub policies: Policies,
}

impl Facts {
    /// Facts of the ledger alone: nothing else is observed, and the cluster is empty.
    pub fn of(cluster: ClusterName, now: Timestamp, ledger: Snapshot) -> Self {
        Self {
            cluster,
            now,
            ledger,
            nodes: BTreeMap::new(),
            deleted_claims: None,
            ending_reservations: None,
            node_pools: Vec::new(),
            classes: None,
            class_hashes: None,
            class_images: BTreeMap::new(),
            class_candidates: BTreeMap::new(),
            class_rollouts: BTreeMap::new(),
            node_charges: BTreeMap::new(),
            daemon_sets: Vec::new(),
            pods: Vec::new(),
            unlocated_pod: None,
            surroundings: Surroundings::default(),
            devices: None,
            policies: Policies::default(),
        }
    }

    /// The instance types of the NodeClass `class`; `None` unless it is known and ready.
    pub fn ready_types(&self, class: &NodeClassName) -> Option<&[Arc<InstanceType>]> {
        match self.classes.as_ref()?.get(class)? {
            ClassOffer::Ready(types) => Some(types),
            ClassOffer::NotReady(_) => None,
        }
    }

    /// Whether canaries of `class` on `image` were not healthy.
    pub fn is_halted(&self, class: &NodeClassName, image: &ImageId) -> bool {
        let Some(settings) = self.class_rollouts.get(class) else { return false };
        self.ledger.halts().any(|halt| {
            halt.target.node_class == *class
                && halt.target.image.as_ref() == Some(image)
                && halt.settings == settings.digest()
        })
    }

    /// What a node of `class` counts as beside its instance: its volumes, and what every node counts as.
    pub fn node_charge(&self, class: &NodeClassName) -> HourlyPrice {
        let of_class = self.node_charges.get(class).copied().unwrap_or_default();
        of_class.saturating_add(self.policies.node_charge)
    }

    /// A number of these facts: equal facts have equal numbers. Of a large world it is
    /// made in a moment, because it is made of names, versions and places, and not of every member.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        digest.add(format_args!("{} {} {}", self.cluster, self.now, self.ledger.head.counters));
        for claim in self.ledger.claims.values() {
            digest.add(format_args!("{}/{}", claim.name, claim.version));
        }
        for id in self.ledger.commands.keys() {
            digest.add(id);
        }
        for (offering, until) in &self.ledger.unavailable_offerings {
            let OfferingKey { capacity_type, instance_type, zone } = offering;
            digest.add(format_args!("{capacity_type}/{instance_type}/{zone}/{until}"));
        }
        for (shortage, until) in &self.ledger.shortages {
            digest.add(format_args!("{shortage:?}/{until}"));
        }
        for node in self.nodes.values() {
            digest.add(format_args!("{}/{}/{}", node.name, node.is_ready, node.taints.len()));
        }
        for pool in &self.node_pools {
            digest.add(format_args!("{pool:?}"));
        }
        for pod in &self.pods {
            let node = pod.node.as_ref().map(NodeName::as_str).unwrap_or_default();
            digest.add(format_args!("{}/{}/{node}", pod.key, pod.uid));
        }
        digest.0
    }

    /// Whether everything but the time, and when the guard was checked, was observed before, in `other`. Instance types
    /// count as equal only where they are the very same objects: comparing them is the long work.
    pub fn differ_in_time_alone(&self, other: &Self) -> bool {
        self.differ_in_time_and_types(other, Arc::ptr_eq)
    }

    /// Whether everything but the time, and when the guard was checked, was observed before, in `other`, if instance types
    /// that `are_alike` count as equal.
    pub fn differ_in_time_and_types(
        &self,
        other: &Self,
        are_alike: impl Fn(&Arc<InstanceType>, &Arc<InstanceType>) -> bool,
    ) -> bool {
        // Every member is named, so that a new one cannot be forgotten.
        let Self {
            cluster,
            now: _,
            ledger,
            nodes,
            deleted_claims,
            ending_reservations,
            node_pools,
            classes,
            class_hashes,
            class_images,
            class_candidates,
            class_rollouts,
            node_charges,
            daemon_sets,
            pods,
            unlocated_pod,
            surroundings,
            devices,
            policies,
        } = self;
        *cluster == other.cluster
            && ledger.differ_in_guard_alone(&other.ledger)
            && *nodes == other.nodes
            && *deleted_claims == other.deleted_claims
            && *ending_reservations == other.ending_reservations
            && *node_pools == other.node_pools
            && are_same_classes(classes.as_ref(), other.classes.as_ref(), are_alike)
            && *class_hashes == other.class_hashes
            && *class_images == other.class_images
            && *class_candidates == other.class_candidates
            && *class_rollouts == other.class_rollouts
            && *node_charges == other.node_charges
            && *daemon_sets == other.daemon_sets
            && *pods == other.pods
            && *unlocated_pod == other.unlocated_pod
            && *surroundings == other.surroundings
            && *devices == other.devices
            && *policies == other.policies
    }

    /// The NodeClasses that are known and ready, with their instance types.
    pub fn ready_classes(&self) -> impl Iterator<Item = (&NodeClassName, &[Arc<InstanceType>])> {
        self.classes.iter().flatten().filter_map(|(class, offer)| match offer {
            ClassOffer::Ready(types) => Some((class, types.as_slice())),
            ClassOffer::NotReady(_) => None,
        })
    }
}

type Classes = BTreeMap<NodeClassName, ClassOffer>;

fn are_same_classes(
    these: Option<&Classes>,
    those: Option<&Classes>,
    are_alike: impl Fn(&Arc<InstanceType>, &Arc<InstanceType>) -> bool,
) -> bool {
    let (Some(these), Some(those)) = (these, those) else {
        return these.is_none() && those.is_none();
    };
    let are_same = |(this, that): (&ClassOffer, &ClassOffer)| match (this, that) {
        (ClassOffer::Ready(these), ClassOffer::Ready(those)) => {
            these.len() == those.len()
                && these.iter().zip(those).all(|(this, that)| are_alike(this, that))
        }
        (this, that) => this == that,
    };
    these.keys().eq(those.keys()) && these.values().zip(those.values()).all(are_same)
}

/// What else of a cluster decides where pods may go, and which of them may be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Labels of its namespaces. One that is missing has none.
    pub namespaces: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// Its volumes.
    pub storage: Storage,
    /// Its NodeOverlays, sorted by name. They count behind the gate `NodeOverlay`.
    pub node_overlays: Vec<NodeOverlay>,
    /// Its CapacityBuffers, sorted by namespace and name. They count behind the gate
    /// `CapacityBuffer`.
    pub capacity_buffers: Vec<CapacityBuffer>,
    /// Its PodDisruptionBudgets, sorted by namespace and name.
    pub disruption_budgets: Vec<PodDisruptionBudget>,
    /// Nodes that pods were nominated to, and until when: they are not disrupted meanwhile.
    pub nominated: BTreeMap<NodeName, Timestamp>,
}

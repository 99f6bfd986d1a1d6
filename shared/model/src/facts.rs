//! What was observed: everything that a decision may look at.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    ClusterName, InstanceType, Namespace, NodeClaimName, NodeClassName, NodeName, Pod, PodSpec,
    buffer::CapacityBuffer, eviction::PodDisruptionBudget, ledger::Snapshot, node::Node,
    node_pool::NodePool, overlay::NodeOverlay, policies::Policies, storage::Storage,
};

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
    /// offerings available only in its subnets' zones and not cooling down.
    Ready(Vec<Arc<InstanceType>>),
    /// It cannot be used, for these reasons.
    NotReady(Vec<String>),
}

/// What was observed, at one present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The cluster.
    pub cluster: ClusterName,
    /// The present.
    pub now: Timestamp,
    /// What the ledger promised. Read first.
    pub ledger: Snapshot,
    /// The cluster's nodes, by name. Read second.
    pub nodes: BTreeMap<NodeName, Node>,
    /// Claims whose NodeClaim objects somebody deletes.
    pub deleted_claims: BTreeSet<NodeClaimName>,
    /// Capacity blocks that end so soon that EC2 takes their instances: their nodes go before.
    pub ending_reservations: BTreeSet<String>,
    /// Its NodePools, sorted by name.
    pub node_pools: Vec<NodePool>,
    /// What each NodeClass that a pool names offers. One that does not exist is missing.
    pub classes: BTreeMap<NodeClassName, ClassOffer>,
    /// The static hash of each of them, of the present version ([`crate::static_hash`]). One that is
    /// missing is not known.
    pub class_hashes: BTreeMap<NodeClassName, String>,
    /// Its DaemonSets, sorted by namespace and name.
    pub daemon_sets: Vec<DaemonSet>,
    /// Its pods, in the API server's order. Read last: demand may be overstated, supply never is.
    pub pods: Vec<Pod>,
    /// What else of the cluster decides where pods may go.
    pub surroundings: Surroundings,
    /// How to decide.
    pub policies: Policies,
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
    /// Nodes that pods were promised to, and until when: they are not disrupted meanwhile.
    pub nominated: BTreeMap<NodeName, Timestamp>,
}

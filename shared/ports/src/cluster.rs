//! The Kubernetes cluster.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    Condition, InstanceId, NodeClaim, NodeClaimName, NodeName, Pod, ProviderId,
    buffer::{BufferStatus, ObservedBuffer},
    claim::SyncedNodeClaim,
    default_spread::PodSelectors,
    dynamic_resources::{DeviceClass, ResourceClaim, ResourceSlice},
    event::ObjectEvent,
    facts::{DaemonSet, Surroundings},
    lease::{LedgerLease, ObservedLeases},
    node::{Eviction, EvictionRequest, Node, NodePatch},
    node_class::{ListedNodeClass, NodeClassStatus, ObservedNodeClass},
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool},
    overlay::{NodeOverlay, ObservedOverlay},
    pod::DeletionCost,
    policies::Policies,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
    wake::{ProbeAnswer, WakeFinding, WakeWebhooks},
};

use crate::{PortError, port::ports};

/// An object that could not be read. It is reported, and does not poison its list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Malformed {
    /// Such as `Pod default/web-0`.
    pub object: String,
    /// The field and the rule that it breaks.
    pub problem: String,
    /// Of a Node, `spec.providerID`; `None` where it has none or that cannot be read, either.
    pub provider_id: Option<ProviderId>,
}

impl Malformed {
    /// An object that is no Node, or a Node whose provider id is not known.
    pub fn new(object: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { object: object.into(), problem: problem.into(), provider_id: None }
    }

    /// Whether it may be the Node of `instance`.
    pub fn may_be_node_of(&self, instance: &InstanceId) -> bool {
        let reports = |id: &ProviderId| id.instance().as_ref() == Some(instance);
        self.object.starts_with("Node ") && self.provider_id.as_ref().is_none_or(reports)
    }
}

/// A list, and what could not be read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T> {
    /// In the API server's order.
    pub items: Vec<T>,
    /// The rest.
    pub malformed: Vec<Malformed>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), malformed: Vec::new() }
    }
}

impl Listing<Pod> {
    /// The first pod that cannot be read and is not among the items, either: it is not known on which node
    /// it is.
    pub fn unlocated(&self) -> Option<&Malformed> {
        let unreadable = self.items.iter().filter(|pod| pod.is_unreadable());
        let located: BTreeSet<String> = unreadable.map(|pod| format!("Pod {}", pod.key)).collect();
        self.malformed.iter().find(|malformed| !located.contains(&malformed.object))
    }
}

/// What surrounds the pods of a cluster, and what could not be read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surrounded {
    /// What could be read.
    pub surroundings: Surroundings,
    /// The CapacityBuffers among them, with what their status says.
    pub buffers: Vec<ObservedBuffer>,
    /// The rest.
    pub malformed: Vec<Malformed>,
}

/// What selects pods, and what could not be read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSelectors {
    /// What could be read.
    pub selectors: PodSelectors,
    /// The rest.
    pub malformed: Vec<Malformed>,
}

/// Devices, what claims them, and what could not be read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundDevices {
    /// All ResourceSlices that can be read.
    pub slices: Vec<ResourceSlice>,
    /// All DeviceClasses that can be read.
    pub classes: Vec<DeviceClass>,
    /// All ResourceClaims. One that cannot be read is among them if its name can be: nothing satisfies it, and it keeps
    /// the devices that it is seen to have.
    pub claims: Vec<ResourceClaim>,
    /// The objects that cannot be read.
    pub malformed: Vec<Malformed>,
}

/// Which pods to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodSelection {
    /// Those that wait for a node: `spec.nodeName=,status.phase=Pending`.
    Waiting,
    /// Those of one node.
    OnNode(NodeName),
    /// All of them.
    All,
}

ports! {
    /// What can be read from the cluster. Lists may be paged; each is one consistent state.
    pub trait Cluster in cluster {
        /// Nodes.
        async fn nodes(&self) -> Result<Listing<Node>, PortError>;
        /// NodePools.
        async fn node_pools(&self) -> Result<Listing<NodePool>, PortError>;
        /// EC2NodeClasses, each with what its status says of launching from it.
        async fn node_classes(&self) -> Result<Listing<ListedNodeClass>, PortError>;
        /// NodeOverlays, by name. A cluster that does not know the kind has none.
        async fn node_overlays(&self) -> Result<Listing<NodeOverlay>, PortError>;
        /// DaemonSets.
        async fn daemon_sets(&self) -> Result<Listing<DaemonSet>, PortError>;
        /// What else decides where pods may go: volumes, namespaces, budgets; behind their gates
        /// overlays and buffers, with what these refer to. A kind that the cluster does not know has no
        /// objects.
        async fn surroundings(&self, policies: &Policies) -> Result<Surrounded, PortError>;
        /// Devices and what claims them; slices are read before claims. A cluster that does not know the kinds has
        /// none.
        async fn devices(&self) -> Result<FoundDevices, PortError>;
        /// Which pods Services, ReplicaSets, StatefulSets and ReplicationControllers select. Read after the pods: whose
        /// controllers are there then.
        async fn pod_selectors(&self) -> Result<FoundSelectors, PortError>;
        /// Pods. One that cannot be read is malformed, and among the items all the same, as far as it could be
        /// read ([`Pod::is_unreadable`]); unless its name or its node could not be read, either
        /// ([`Listing::unlocated`]).
        async fn pods(&self, selection: &PodSelection) -> Result<Listing<Pod>, PortError>;
        /// Which volumes are attached to nodes, of the whole cluster: the API server selects none by node. A
        /// VolumeAttachment that cannot be read is malformed, and among the items all the same; unless its name or its
        /// node could not be read, either: it is of no node that is there.
        async fn volume_attachments(&self) -> Result<Listing<VolumeAttachment>, PortError>;
        /// The PersistentVolumeClaim called `key`, if it is there. One that cannot be read is `Permanent`, and
        /// never absent.
        async fn volume_claim(&self, key: &VolumeClaimKey) -> Result<Option<VolumeClaim>, PortError>;
    }

    /// What is done to one node and to the pods on it.
    pub trait Nodes in cluster {
        /// The node called `name`, if it is there. One that cannot be read is `Permanent`, and never absent.
        async fn node(&self, name: &NodeName) -> Result<Option<Node>, PortError>;
        /// Nodes that are not initialized: without the label `karpenter.sh/initialized=true`. So it is a short
        /// list, however large the cluster.
        async fn uninitialized(&self) -> Result<Listing<Node>, PortError>;
        /// ResourceSlices of all nodes: the API server selects none by their owner. A cluster that does not know the
        /// kind has none.
        async fn resource_slices(&self) -> Result<Listing<ResourceSlice>, PortError>;
        /// The pods that are bound to a node.
        async fn pods_on(&self, node: &NodeName) -> Result<Listing<Pod>, PortError>;
        /// Changes labels, annotations, taints and finalizers. Repeating it changes nothing. A node
        /// that is not there is `NotFound`.
        async fn patch(&self, node: &NodeName, patch: &NodePatch) -> Result<(), PortError>;
        /// Asks the API server to evict a pod, or to delete it; see [`EvictionRequest`]. Repeating it is
        /// harmless: a pod that is being deleted stays so.
        async fn evict(&self, eviction: &EvictionRequest) -> Result<Eviction, PortError>;
        /// Has a pod say what deleting it costs; what else it says stays. Repeating it changes nothing. `NotFound`
        /// when it is gone.
        async fn set_deletion_cost(&self, cost: &DeletionCost) -> Result<(), PortError>;
        /// Deletes this very node; one that is not there was deleted. A node of the same name with another provider
        /// ID stays.
        async fn delete(&self, node: &Node) -> Result<(), PortError>;
    }

    /// The status of EC2NodeClasses.
    pub trait NodeClasses in cluster {
        /// EC2NodeClasses, each with which spec it is.
        async fn observed_classes(&self) -> Result<Listing<ObservedNodeClass>, PortError>;
        /// Replaces what the status of `observed` says; the time of a condition moves only with its status.
        /// Repeating it changes nothing. `Conflict` when the class is not as it was observed any more,
        /// `NotFound` when it is gone.
        async fn update_class_status(
            &self,
            observed: &ObservedNodeClass,
            status: &NodeClassStatus,
        ) -> Result<(), PortError>;
    }

    /// The status of NodePools, and whether the API server calls `wake`, which it says.
    pub trait NodePools in cluster {
        /// NodePools, each with which spec it is.
        async fn observed_pools(&self) -> Result<Listing<ObservedNodePool>, PortError>;
        /// Replaces what the status of `observed` says; the time of a condition moves only with its status.
        /// Repeating it changes nothing. `Conflict` when the pool is not as it was observed any more,
        /// `NotFound` when it is gone.
        async fn update_pool_status(
            &self,
            observed: &ObservedNodePool,
            status: &NodePoolStatus,
        ) -> Result<(), PortError>;
        /// Changes the condition `WakeHealthy` of `observed` as `finding` does at `now`, and nothing else. Repeating it
        /// changes nothing. `Conflict` when the pool is not as it was observed any more, `NotFound` when it is gone.
        async fn update_wake_condition(
            &self,
            observed: &ObservedNodePool,
            finding: &WakeFinding,
            now: Timestamp,
        ) -> Result<(), PortError>;
        /// Sends a request that `wake` is called for, and that changes nothing: a dry run. A refusal is an error, never
        /// [`ProbeAnswer::Silent`].
        async fn probe_wake(&self) -> Result<ProbeAnswer, PortError>;
    }

    /// The status of NodeOverlays and CapacityBuffers.
    pub trait AlphaStatuses in cluster {
        /// NodeOverlays, each with which spec it is. A cluster that does not know the kind has none.
        async fn observed_overlays(&self) -> Result<Listing<ObservedOverlay>, PortError>;
        /// Has the status of `observed` say `validation`, its condition `ValidationSucceeded`, as it was found at `now`;
        /// the time of a condition moves only with its status. Repeating it changes nothing. `Conflict` when the
        /// overlay is not as it was observed any more, `NotFound` when it is gone.
        async fn update_overlay_status(
            &self,
            observed: &ObservedOverlay,
            validation: &Condition,
            now: Timestamp,
        ) -> Result<(), PortError>;
        /// Has the status of `observed` say `status`, as it was found at `now`; conditions that `status` does not name
        /// stay, and the time of a condition moves only with its status. Repeating it changes nothing. `Conflict` when
        /// the buffer is not as it was observed any more, `NotFound` when it is gone.
        async fn update_buffer_status(
            &self,
            observed: &ObservedBuffer,
            status: &BufferStatus,
            now: Timestamp,
        ) -> Result<(), PortError>;
    }

    /// Who says that it provisions the cluster.
    pub trait Leases in cluster {
        /// The leases of Karpenter in every namespace, and ours; and Karpenter's pods that run without one.
        async fn leases(&self) -> Result<ObservedLeases, PortError>;
        /// Renews ours, or takes it. `Conflict` after a concurrent write.
        async fn hold(&self, lease: &LedgerLease) -> Result<(), PortError>;
    }

    /// The webhooks by which an API server calls `wake`.
    pub trait Webhooks in cluster {
        /// The URLs that it calls; `None` in a cluster without the webhooks.
        async fn of_wake(&self) -> Result<Option<WakeWebhooks>, PortError>;
        /// Sets the URLs of the webhooks that `changed` names, and leaves the rest as it is. `Conflict` after another
        /// writer changed the configuration, `NotFound` where it is gone.
        async fn set_urls(&self, changed: &WakeWebhooks) -> Result<(), PortError>;
    }

    /// Events of Kubernetes, for people and tools.
    pub trait Events in cluster {
        /// Publishes `event`, which is so `now`. The same reason of the same object is published once in each
        /// stretch of [`model::event::EventReason::said_for`], by any publisher: repeating it changes nothing.
        /// `NotFound` about an object that is not there: nothing is published.
        async fn publish(&self, event: &ObjectEvent, now: Timestamp) -> Result<(), PortError>;
    }

    /// The NodeClaim objects that say in a cluster what the ledger says, for people and tools. Objects
    /// of no claim belong to others: they are neither listed nor touched.
    pub trait NodeClaims in cluster {
        /// The objects that are there. `NotFound` in a cluster that does not know the kind.
        async fn synced(&self) -> Result<Listing<SyncedNodeClaim>, PortError>;
        /// Every object, ours and others', as claims; those of other providers' node classes are left out.
        /// `NotFound` in a cluster that does not know the kind.
        async fn objects(&self) -> Result<Listing<NodeClaim>, PortError>;
        /// Takes over an object of another writer, so that [`NodeClaims::sync`] may write it. One
        /// that is ours, or not there, stays as it is.
        async fn take_over(&self, claim: &NodeClaimName) -> Result<(), PortError>;
        /// Makes the object say what `claim` says, and deletes it when the claim is deleted; what
        /// others wrote on it stays. Repeating it changes nothing, and an older version of the claim
        /// takes nothing back. No object is made for a deleted claim. `Conflict` when another writer
        /// has an object of this name. The object of a claim that a user made is the user's, with its own
        /// spec: it becomes one of ours by this call, and is `NotFound` where it is not there any more.
        async fn sync(&self, claim: &NodeClaim) -> Result<(), PortError>;
        /// Deletes the object and no longer holds it back. One that is not there was removed.
        async fn remove(&self, claim: &NodeClaimName) -> Result<(), PortError>;
    }
}

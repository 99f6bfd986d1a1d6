//! The kinds of objects that decide something, and which reader each has.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    Namespace, NodeClaim, NodeName, PodKey, PodSpec,
    api_version::{
        AWS_GROUP, AWS_V1, KARPENTER_GROUP, KARPENTER_V1, KARPENTER_V1ALPHA1, RESOURCE_V1,
    },
    dynamic_resources::{DeviceClass, ResourceSlice},
    eviction::PodDisruptionBudget,
    facts::DaemonSet,
    node::Node,
    node_pool::NodePool,
    overlay::NodeOverlay,
    storage::{VolumeClaim, VolumeClaimKey},
};

use crate::document::{
    field::{Complaints, Field},
    spelling,
};

mod admission;
mod admitter;
mod affinity;
mod amounts;
pub(crate) mod budget;
pub(crate) mod buffer;
mod claim_rules;
pub(crate) mod class_status;
pub(crate) mod conditions;
mod container;
mod cures;
mod disruption;
pub(crate) mod event;
mod kubelet;
mod label_selector;
pub(crate) mod launch_template;
mod leader;
pub(crate) mod metadata;
pub(crate) mod node;
pub(crate) mod node_claim;
pub(crate) mod node_class;
pub(crate) mod node_pool;
pub(crate) mod overlay;
pub(crate) mod pod;
mod pod_claims;
mod pod_spec;
pub(crate) mod requirement;
pub(crate) mod resource_claim;
pub(crate) mod resource_slice;
pub mod scheduler_config;
pub(crate) mod selecting;
mod selector;
mod served;
mod template_rules;
mod topology;
pub(crate) mod volume;
pub(crate) mod workload;

pub use admission::{LimitRange, NewPod, RuntimeClass};
pub use admitter::Admitter;
pub use budget::PriorityClass;
pub use buffer::{BufferManifest, BufferReference, Referable, is_buffered};
pub use event::{EventManifest, EventSubject};
pub use leader::without_lease;
pub use node_class::NodeClassManifest;
pub use pod::PodManifest;
pub use resource_claim::{ClaimManifest, ClaimTemplate};
pub use selecting::LabelsSelected;
pub use volume::{StorageClassManifest, VolumeManifest};
pub use workload::{Workload, WorkloadKind};

/// Something that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// `karpenter.sh/v1` NodePool.
    NodePool(NodePool),
    /// `karpenter.k8s.aws/v1` EC2NodeClass.
    NodeClass(Box<NodeClassManifest>),
    /// `karpenter.sh/v1` NodeClaim.
    NodeClaim(Box<NodeClaim>),
    /// `karpenter.sh/v1` NodeClaim without a NodePool: a user made it.
    StandaloneClaim(Box<NodeClaim>),
    /// `karpenter.sh/v1alpha1` NodeOverlay.
    NodeOverlay(NodeOverlay),
    /// `autoscaling.x-k8s.io` CapacityBuffer.
    CapacityBuffer(BufferManifest),
    /// `v1` Node.
    Node(Node),
    /// `v1` Pod.
    Pod(PodManifest),
    /// What makes pods of one kind.
    Workload(Box<Workload>),
    /// `apps/v1` DaemonSet, and what admission reads of its pods.
    DaemonSet(DaemonSet, Box<NewPod>),
    /// `v1` PodTemplate.
    PodTemplate(PodKey, Arc<PodSpec>),
    /// `v1` PersistentVolume.
    Volume(VolumeManifest),
    /// `v1` PersistentVolumeClaim.
    VolumeClaim(VolumeClaimKey, VolumeClaim),
    /// `storage.k8s.io/v1` StorageClass.
    StorageClass(StorageClassManifest),
    /// `storage.k8s.io/v1` CSINode: how many volumes of each driver its node attaches.
    CsiNode(NodeName, BTreeMap<String, u32>),
    /// `resource.k8s.io/v1` ResourceSlice.
    ResourceSlice(Box<ResourceSlice>),
    /// `resource.k8s.io/v1` DeviceClass.
    DeviceClass(DeviceClass),
    /// `resource.k8s.io/v1` ResourceClaim.
    ResourceClaim(Box<ClaimManifest>),
    /// `resource.k8s.io/v1` ResourceClaimTemplate.
    ClaimTemplate(Box<ClaimTemplate>),
    /// `v1` Namespace, with its labels.
    Namespace(Namespace, BTreeMap<String, String>),
    /// `scheduling.k8s.io/v1` PriorityClass.
    PriorityClass(PriorityClass),
    /// `node.k8s.io/v1` RuntimeClass.
    RuntimeClass(RuntimeClass),
    /// `v1` LimitRange.
    LimitRange(LimitRange),
    /// What else an API server refuses or changes new pods by.
    Admitter(Admitter),
    /// `v1` Service: which pods it selects.
    Service(LabelsSelected),
    /// `v1` ReplicationController: which pods are its own.
    ReplicationController(LabelsSelected),
    /// `policy/v1` PodDisruptionBudget, and whether its status says how many disruptions it allows.
    DisruptionBudget(PodDisruptionBudget, bool),
    /// `v1` Event.
    Event(EventManifest),
    /// Anything else: it decides nothing here.
    Other {
        /// Such as `argoproj.io`; empty for `v1`.
        group: String,
        /// Such as `ConfigMap`.
        kind: String,
        /// Its name.
        name: String,
    },
}

/// What was read: `None` of the object is a kind that decides nothing.
pub(crate) struct ReadObject {
    pub(crate) object: Option<Object>,
    /// Of a NodePool: the line of its `nodeClassRef`.
    pub(crate) node_class_line: Option<u32>,
}

/// Reads `root`, whose type is known; what is wrong goes to the complaints behind it.
pub(crate) fn read(
    root: &Field<'_>,
    complaints: &Complaints,
    api_version: &str,
    kind: &str,
) -> Option<ReadObject> {
    let plain = |object: Object| ReadObject { object: Some(object), node_class_line: None };
    let object = match (api_version, kind) {
        (KARPENTER_V1, "NodePool") => {
            let read = node_pool::read(root, complaints)?;
            let object = Some(Object::NodePool(read.pool));
            return Some(ReadObject { object, node_class_line: Some(read.node_class_line) });
        }
        (KARPENTER_V1, "NodeClaim") => match node_claim::read(root)? {
            node_claim::ReadNodeClaim::Claim(claim) => Some(Object::NodeClaim(claim)),
            node_claim::ReadNodeClaim::Standalone(claim) => Some(Object::StandaloneClaim(claim)),
            node_claim::ReadNodeClaim::Foreign => None,
        },
        (AWS_V1, "EC2NodeClass") => {
            let class = node_class::read(root, complaints)?;
            let status = class_status::read(root);
            let hash_annotations = node_class::hash_annotations(root.tree());
            let is_observed = node_class::is_observed(root.tree());
            Some(Object::NodeClass(Box::new(NodeClassManifest {
                class,
                status,
                hash_annotations,
                is_observed,
            })))
        }
        (KARPENTER_V1ALPHA1, "NodeOverlay") => {
            Some(Object::NodeOverlay(overlay::read(root, complaints)?))
        }
        _ => {
            return of_kubernetes(root, api_version, kind).map(|read| {
                read.map_or_else(|| ReadObject { object: None, node_class_line: None }, plain)
            });
        }
    };
    Some(ReadObject { object, node_class_line: None })
}

/// The same for Kubernetes' own kinds: `Some(None)` for one that decides nothing.
#[expect(clippy::option_option, reason = "another kind and an unreadable object are two things")]
fn of_kubernetes(root: &Field<'_>, api_version: &str, kind: &str) -> Option<Option<Object>> {
    let workload = |kind| workload::read(root, kind).map(|read| Object::Workload(Box::new(read)));
    let object = match (api_version, kind) {
        ("v1", "Node") => node::read(root).map(Object::Node),
        ("v1", "Pod") => pod::read_pod(root).map(Object::Pod),
        ("v1", "Event") => return Some(event::read(root).map(Object::Event)),
        ("v1", "PodTemplate") => {
            pod::read_pod_template(root).map(|(key, spec)| Object::PodTemplate(key, spec))
        }
        ("v1", "PersistentVolume") => volume::read_volume(root).map(Object::Volume),
        ("v1", "PersistentVolumeClaim") => {
            volume::read_claim(root).map(|(key, claim)| Object::VolumeClaim(key, claim))
        }
        ("v1", "Namespace") => {
            budget::read_namespace(root).map(|(name, labels)| Object::Namespace(name, labels))
        }
        ("v1", "Service") => selecting::read_service(root).map(Object::Service),
        ("v1", "ReplicationController") => {
            selecting::read_replication_controller(root).map(Object::ReplicationController)
        }
        ("v1", "LimitRange") => admission::read_limit_range(root).map(Object::LimitRange),
        ("node.k8s.io/v1", "RuntimeClass") => {
            admission::read_runtime_class(root).map(Object::RuntimeClass)
        }
        ("apps/v1", "DaemonSet") => {
            pod::read_daemon_set(root).map(|(set, new)| Object::DaemonSet(set, Box::new(new)))
        }
        ("apps/v1", "Deployment") => workload(WorkloadKind::Deployment),
        ("apps/v1", "StatefulSet") => workload(WorkloadKind::StatefulSet),
        ("apps/v1", "ReplicaSet") => workload(WorkloadKind::ReplicaSet),
        ("batch/v1", "Job") => workload(WorkloadKind::Job),
        ("storage.k8s.io/v1", "StorageClass") => volume::read_class(root).map(Object::StorageClass),
        ("storage.k8s.io/v1", "CSINode") => {
            volume::read_csi_node(root).map(|(node, limits)| Object::CsiNode(node, limits))
        }
        (RESOURCE_V1, kind) => match kind {
            "ResourceSlice" => resource_slice::read(root).map(Box::new).map(Object::ResourceSlice),
            "DeviceClass" => resource_slice::read_class(root).map(Object::DeviceClass),
            "ResourceClaim" => {
                resource_claim::read_manifest(root).map(Box::new).map(Object::ResourceClaim)
            }
            "ResourceClaimTemplate" => {
                resource_claim::read_template(root).map(Box::new).map(Object::ClaimTemplate)
            }
            _ => {
                other(root, api_version, kind);
                return Some(None);
            }
        },
        ("scheduling.k8s.io/v1", "PriorityClass") => {
            budget::read_priority_class(root).map(Object::PriorityClass)
        }
        ("policy/v1", "PodDisruptionBudget") => budget::read(root)
            .map(|(budget, is_counted)| Object::DisruptionBudget(budget, is_counted)),
        ("autoscaling.x-k8s.io/v1beta1" | "autoscaling.x-k8s.io/v1alpha1", "CapacityBuffer") => {
            buffer::read(root).map(Object::CapacityBuffer)
        }
        _ => {
            other(root, api_version, kind);
            let group = model::api_version::group(api_version);
            return Some(admitter::read(root, group, kind).map(Object::Admitter));
        }
    };
    object.map(Some)
}

/// Complains about kinds and versions that would change decisions if they were honored.
fn other(root: &Field<'_>, api_version: &str, kind: &str) {
    let group = model::api_version::group(api_version);
    if let Some((rule, cure)) = cures::old_version(api_version, kind) {
        root.at("apiVersion").complain_with(rule, cure);
    } else if matches!(group, KARPENTER_GROUP | AWS_GROUP) {
        let rule = format!("`{api_version}` has no kind `{kind}`");
        let version = root.at("apiVersion");
        match kind {
            "EC2NodeClass" => version.complain_with(rule, "write karpenter.k8s.aws/v1"),
            "NodePool" => version.complain_with(rule, "write karpenter.sh/v1"),
            "NodeOverlay" => version.complain_with(rule, "write karpenter.sh/v1alpha1"),
            _ => {
                let kinds = ["NodePool", "NodeClaim", "NodeOverlay", "EC2NodeClass"];
                root.at("kind").complain_cured(rule, spelling::cure(kind, kinds.into_iter()));
            }
        }
    } else if let Some((rule, cure)) = served::unserved(api_version, kind, root.tree().has_uid()) {
        root.at("apiVersion").complain_cured(rule, cure);
    }
}

//! The words of a story: what is in the cluster, and what happens when.

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, HourlyPrice, ImageId, InstanceId, Namespace, NodeClaim, NodeClaimName, NodeClassName,
    NodeName, NodePoolName, ObjectName, OfferingKey, PodKey, PodSpec, SecurityGroupId, Zone,
    buffer::CapacityBuffer,
    dynamic_resources::{
        DeviceClass, DeviceConstraint, DeviceRequest, ResourceClaim, ResourceSlice,
    },
    eviction::PodDisruptionBudget,
    facts::DaemonSet,
    node::Node,
    node_class::{Image, NodeClass, Subnet},
    node_pool::NodePool,
    overlay::NodeOverlay,
    selector::LabelSelector,
    storage::{PodVolume, StorageClass, Volume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use ports::Malformed;

use crate::account::ReservationRecord;

/// What makes the pods of a workload, and what it does when one is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoryWorkloadKind {
    /// A Deployment or ReplicaSet: a lost pod is replaced by one with a new name at once.
    Deployment,
    /// A StatefulSet: a lost pod is replaced by its namesake once it is gone.
    StatefulSet,
    /// A Job: as many pods as completions; a lost one is replaced, an ended one is not.
    Job,
    /// A pod of its own: a lost one stays lost.
    Pod,
}

/// Pods that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryWorkload {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
    /// What it does when a pod is lost.
    pub kind: StoryWorkloadKind,
    /// How many pods it wants.
    pub replicas: u32,
    /// Which pods belong together, as it says.
    pub selector: LabelSelector,
    /// What its pods are.
    pub spec: Arc<PodSpec>,
    /// How long a pod runs before it ends well; `None` is for ever.
    pub runs_for: Option<SignedDuration>,
    /// Volumes of each pod that are claims.
    pub volumes: Vec<PodVolume>,
    /// Of a StatefulSet: claims that each pod gets, with the storage class that they name.
    pub claim_templates: Vec<(ObjectName, Option<String>)>,
    /// ResourceClaims that are made for each pod, by what `spec.resourceClaims` calls them.
    pub device_claims: BTreeMap<String, StoryClaimTemplate>,
    /// Its pods that run already, on nodes that are there.
    pub started: Vec<StartedPod>,
}

/// What a ResourceClaimTemplate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryClaimTemplate {
    /// All must be satisfied.
    pub requests: Vec<DeviceRequest>,
    /// What its devices must have in common.
    pub constraints: Vec<DeviceConstraint>,
}

/// A pod that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedPod {
    /// Its name; its namespace is its workload's.
    pub name: ObjectName,
    /// Where it runs.
    pub node: NodeName,
}

/// A node that runs before a story starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryNode {
    /// As the API server has it; its provider id names its instance, its labels type and zone.
    pub node: Node,
    /// Its NodeClaim, if it was launched from a NodePool.
    pub claim: Option<Box<NodeClaim>>,
}

/// What the selectors of a class find in the account, each by itself where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFindings {
    /// Whose selectors, and those of every class that has the same.
    pub class: NodeClass,
    /// Free addresses are not among it.
    pub subnets: Option<Vec<Subnet>>,
    /// By id.
    pub security_groups: Option<Vec<SecurityGroupId>>,
    /// The newest first.
    pub images: Option<Vec<Image>>,
}

impl StoryWorkload {
    /// A Deployment of a number of pods that run until they are deleted, without volumes. It selects all their labels.
    pub fn deployment(key: PodKey, replicas: u32, spec: Arc<PodSpec>) -> Self {
        let labels = spec.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Self {
            namespace: key.namespace,
            name: key.name,
            kind: StoryWorkloadKind::Deployment,
            replicas,
            selector: LabelSelector::of_labels(labels),
            spec,
            runs_for: None,
            volumes: Vec::new(),
            claim_templates: Vec::new(),
            device_claims: BTreeMap::new(),
            started: Vec::new(),
        }
    }

    /// What names it, and what `Action::Scale` takes.
    pub fn key(&self) -> PodKey {
        PodKey { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// What a CapacityBuffer refers to in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferReferent {
    /// A PodTemplate.
    Template(PodKey),
    /// A workload, with as many replicas as it has then.
    Workload(PodKey),
}

/// An object of the cluster. One of the same kind and name is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "objects are few, and stories name them as they are")]
pub enum ClusterObject {
    /// A NodePool.
    NodePool(NodePool),
    /// An EC2NodeClass.
    NodeClass(NodeClass),
    /// A DaemonSet, and what claims are made from for each of its pods, by the name that these have for them.
    DaemonSet(DaemonSet, BTreeMap<String, StoryClaimTemplate>),
    /// A node that runs already; its EC2NodeClass comes before it.
    Node(Box<StoryNode>),
    /// A NodeClaim that is launched and whose node joins later; its EC2NodeClass comes before it.
    NodeClaim(Box<NodeClaim>),
    /// Anything with pods.
    Workload(StoryWorkload),
    /// A NodeOverlay.
    NodeOverlay(NodeOverlay),
    /// A ResourceSlice.
    ResourceSlice(Box<ResourceSlice>),
    /// A DeviceClass.
    DeviceClass(DeviceClass),
    /// A ResourceClaim.
    ResourceClaim(Box<ResourceClaim>),
    /// A PodTemplate.
    PodTemplate(PodKey, Arc<PodSpec>),
    /// A CapacityBuffer.
    CapacityBuffer {
        /// Its target is what it keeps room for while `refers_to` is not there.
        buffer: CapacityBuffer,
        /// What decides at each look what it keeps room for.
        refers_to: Option<BufferReferent>,
    },
    /// How many volumes of each driver a node attaches, as its CSINode says.
    AttachLimits(NodeName, BTreeMap<String, u32>),
    /// An unreadable object: a list of its kind, the first word of its name, reports it.
    Unreadable(Malformed),
    /// A PodDisruptionBudget. What its status says is counted, whatever is written here.
    DisruptionBudget(PodDisruptionBudget),
    /// A StorageClass.
    StorageClass {
        /// Its name.
        name: String,
        /// What it does.
        class: StorageClass,
        /// Whether claims that name no class get it.
        is_default: bool,
    },
    /// A PersistentVolume.
    Volume(String, Volume),
    /// A VolumeAttachment. Those of volumes that pods use come and go by themselves.
    VolumeAttachment(VolumeAttachment),
    /// A PersistentVolumeClaim.
    VolumeClaim(VolumeClaimKey, VolumeClaim),
    /// A Service, and the labels that it selects pods by.
    Service(PodKey, BTreeMap<String, String>),
    /// A namespace with labels.
    Namespace(Namespace, BTreeMap<String, String>),
}

impl fmt::Display for ClusterObject {
    /// Kind and name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodePool(pool) => write!(f, "NodePool {}", pool.name),
            Self::NodeClass(class) => write!(f, "EC2NodeClass {}", class.name),
            Self::DaemonSet(daemon_set, _) => write!(f, "DaemonSet {}", daemon_set.key),
            Self::Node(story) => write!(f, "Node {}", story.node.name),
            Self::NodeClaim(claim) => write!(f, "NodeClaim {}", claim.name),
            Self::Workload(workload) => write!(f, "workload {}", workload.key()),
            Self::NodeOverlay(overlay) => write!(f, "NodeOverlay {}", overlay.name),
            Self::ResourceSlice(slice) => write!(f, "ResourceSlice {}", slice.name),
            Self::DeviceClass(class) => write!(f, "DeviceClass {}", class.name),
            Self::ResourceClaim(claim) => write!(f, "ResourceClaim {}", claim.key),
            Self::PodTemplate(key, _) => write!(f, "PodTemplate {key}"),
            Self::CapacityBuffer { buffer, .. } => {
                write!(f, "CapacityBuffer {}/{}", buffer.namespace, buffer.name)
            }
            Self::AttachLimits(node, _) => write!(f, "CSINode {node}"),
            Self::Unreadable(malformed) => f.write_str(&malformed.object),
            Self::DisruptionBudget(budget) => write!(f, "PodDisruptionBudget {}", budget.key),
            Self::StorageClass { name, .. } => write!(f, "StorageClass {name}"),
            Self::Volume(name, _) => write!(f, "PersistentVolume {name}"),
            Self::VolumeAttachment(attachment) => write!(f, "VolumeAttachment {}", attachment.name),
            Self::VolumeClaim(key, _) => {
                write!(f, "PersistentVolumeClaim {}/{}", key.namespace, key.name)
            }
            Self::Service(key, _) => write!(f, "Service {key}"),
            Self::Namespace(name, _) => write!(f, "Namespace {name}"),
        }
    }
}

/// Which spot instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpotTarget {
    /// The one that has run longest; ties go to the smaller id.
    Oldest,
    /// Any, by chance.
    Any,
    /// The one of this node.
    Node(NodeName),
    /// This one.
    Instance(InstanceId),
}

/// Something that happens to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Objects are created or replaced.
    Add(Vec<ClusterObject>),
    /// A workload wants another number of pods.
    Scale {
        /// Namespace and name.
        workload: PodKey,
        /// How many.
        replicas: u32,
    },
    /// A workload and its pods are deleted.
    DeleteWorkload(PodKey),
    /// A DaemonSet and its pods are deleted.
    DeleteDaemonSet(PodKey),
    /// A PodDisruptionBudget is deleted.
    DeleteDisruptionBudget(PodKey),
    /// A CapacityBuffer is deleted.
    DeleteCapacityBuffer(PodKey),
    /// A NodeOverlay is deleted.
    DeleteNodeOverlay(ObjectName),
    /// A NodePool is deleted, and the NodeClaims that it owns with it.
    DeleteNodePool(NodePoolName),
    /// A NodeClaim is deleted.
    DeleteNodeClaim(NodeClaimName),
    /// An EC2NodeClass is deleted.
    DeleteNodeClass(NodeClassName),
    /// EC2 takes a spot instance back in two minutes. Nothing happens when there is none.
    InterruptSpot(SpotTarget),
    /// EC2 recommends to leave a spot instance. Nothing happens to it.
    RecommendRebalance(SpotTarget),
    /// AWS Health announces a change of an instance, of any capacity type.
    AnnounceChange(SpotTarget),
    /// From now on a check of EC2 fails: of the host of an instance, or of the instance itself.
    FailCheck {
        /// Of which instance, of any capacity type.
        target: SpotTarget,
        /// Whether it is its host.
        is_of_host: bool,
    },
    /// Traffic of the cluster is shifted away from a zone until a time.
    ShiftZone(Zone, Timestamp),
    /// A zone is away from now on: EC2 launches nothing there, and the hosts of what runs there fail their
    /// check, for good.
    BeginOutage(Zone),
    /// The zone has capacity again.
    EndOutage(Zone),
    /// A user terminates an instance, and no event comes.
    TerminateInstance(SpotTarget),
    /// How many instances of an offering may run at once; `None` is as many as one likes.
    SetCapacity {
        /// Which.
        offering: OfferingKey,
        /// How many.
        instances: Option<u32>,
    },
    /// An offering changes its price, for new instances and for running ones.
    SetPrice {
        /// Which.
        offering: OfferingKey,
        /// From now on.
        price: HourlyPrice,
    },
    /// The account has what a class was known to select; nothing is made up for its selectors.
    Find(Box<ClassFindings>),
    /// A capacity reservation is bought, or changed.
    AddReservation(ReservationRecord),
    /// The owner of the capacity reservation of this id cancels it.
    CancelReservation(String),
    /// An image is taken away by its owner.
    DeregisterImage(ImageId),
    /// From now on pods crash on nodes that start from this image.
    BreakImage(ImageId),
    /// A user deletes every launch template.
    DeleteLaunchTemplates,
    /// The PersistentVolume of this name is not detached any more, although its node ends.
    HoldVolume(String),
    /// A user deletes the VolumeAttachment of this name.
    DeleteVolumeAttachment(String),
    /// A user deletes a PersistentVolumeClaim.
    DeleteVolumeClaim(VolumeClaimKey),
    /// A user deletes a node.
    DeleteNode(NodeName),
    /// A webhook refuses every eviction of a pod from now on.
    RefuseEvictions(PodKey),
    /// The conditions by which a node is ill from now on; none and it is well again. It has them since now. Of
    /// those by the type `Ready`, it is not ready.
    SetIll {
        /// Which.
        node: NodeName,
        /// Conditions that are `False`, each by its type, or as its type, `=` and its reason.
        conditions: Vec<String>,
    },
    /// These leases are there under the name of Karpenter's, and are not renewed; and these pods of a Karpenter without
    /// one.
    AddLeases(Box<model::lease::ObservedLeases>),
    /// Instances end instead of running from now on, for this reason of EC2's; or they run again.
    EndLaunches(Option<String>),
    /// A user switches termination protection of an instance on.
    ProtectInstance(InstanceId),
    /// The ledger's table is deleted, with everything in it.
    LoseLedger,
    /// The item of a claim is deleted from the ledger's table, and the NodeClaim object with it.
    ForgetClaim(NodeClaimName),
    /// An object that could not be read can be read again. It is called as in `Unreadable`.
    MakeReadable(String),
    /// The item of a claim cannot be read from now on, because a newer release wrote it, or it can again.
    SetReadable {
        /// Which.
        claim: NodeClaimName,
        /// Whether this release can read it.
        is_readable: bool,
    },
    /// A backup of the ledger's table is made, in place of an earlier one.
    BackUpLedger,
    /// The ledger's table becomes what it was when it was backed up.
    RestoreLedger,
    /// Karpenter is started in the cluster and holds its lease, or it is stopped.
    RunKarpenter(bool),
    /// Karpenter writes a NodeClaim object.
    AddForeignNodeClaim(Box<NodeClaim>),
    /// The schedule of a function does not come round any more.
    StopSchedule(Function),
    /// Rules are forgotten and queues become orderly.
    StopFaults,
}

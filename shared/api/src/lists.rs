//! Lists as the API server sends them.
//!
//! Items are kept as raw text and read one by one, so that one malformed object is reported and
//! does not poison its list. Fields that only the server knows are no problem here. Ask for pages
//! of some hundred objects: a page is in memory as a whole.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    Namespace, NodeClaim, NodeClaimName, NodeName, Pod, PodKey, PodSpec, Problem, ProviderId,
    buffer::ObservedBuffer,
    claim::SyncedNodeClaim,
    condition::NotReady,
    dynamic_resources::{DeviceClass, ResourceClaim, ResourceSlice},
    eviction::PodDisruptionBudget,
    facts::DaemonSet,
    labels,
    node::Node,
    node_class::{ListedNodeClass, ObservedNodeClass},
    node_pool::{NodePool, ObservedNodePool},
    overlay::{NodeOverlay, ObservedOverlay},
    problem::Weight,
    storage::{Volume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{
    document::{
        ObjectReference,
        field::{Complaints, Field, Unknown},
        tree::{self, Tree},
    },
    objects::{
        BufferManifest, LabelsSelected, StorageClassManifest, Workload, WorkloadKind, budget,
        buffer, class_status,
        conditions::{self, Conditions},
        metadata::Metadata,
        node, node_claim, node_class, node_pool, overlay, pod, resource_claim, resource_slice,
        selecting, volume, workload,
    },
};

pub mod pods;

pub use pods::PodReader;

const VOLUME_ATTACHMENT: &str = "VolumeAttachment";
const RESOURCE_CLAIM: &str = "ResourceClaim";

/// One page of a list. Of a pod that cannot be read, what could be read is among the items, too, unless
/// its name or its node could not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What could be read, in the server's order.
    pub items: Vec<T>,
    /// The rest. The name has its namespace before it (`default/web-0`);
    /// without a name it is `number 3`, counted from 0.
    pub malformed: Vec<MalformedObject>,
    /// Where the next page starts; `None` after the last.
    pub continue_token: Option<String>,
    /// The state that the list is of.
    pub resource_version: Option<String>,
}

impl<T> Page<T> {
    /// The same with something else in place of each item.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        let Self { items, malformed, continue_token, resource_version } = self;
        let items = items.into_iter().map(f).collect();
        Page { items, malformed, continue_token, resource_version }
    }
}

/// An object of a list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedObject {
    /// Its kind and name.
    pub object: ObjectReference,
    /// What is wrong with it.
    pub problem: String,
    /// Of a Node, `spec.providerID`; `None` where it has none or that cannot be read, either.
    pub provider_id: Option<ProviderId>,
}

/// A namespace and its labels.
pub(crate) type NamespaceLabels = (Namespace, BTreeMap<String, String>);

/// A node, and how many volumes of each driver it attaches.
pub(crate) type AttachLimits = (NodeName, BTreeMap<String, u32>);

/// Why a body is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no list.
    #[error("the answer is not a Kubernetes list: {0}")]
    List(String),
    /// It is not the object.
    #[error("{object}: {problem}")]
    Object {
        /// Its kind and its name, with its namespace before it (`default/web-0`).
        object: ObjectReference,
        /// The field and the rule that it breaks.
        problem: String,
    },
}

/// Reads a PodList by itself; [`PodReader`] reads one page after the other.
pub fn pod_list(body: &[u8]) -> Result<Page<Pod>, Error> {
    Ok(PodReader::default().page(body)?.map(|read| read.pod))
}

/// Reads one Pod.
pub fn pod(body: &[u8]) -> Result<Pod, Error> {
    object(body, "Pod", |root, _| pod::read_pod(root).map(|read| read.pod))
}

/// Reads a NodeList.
pub fn node_list(body: &[u8]) -> Result<Page<Node>, Error> {
    items(body, "Node", |item| {
        read_item(item, "Node", |root, _| node::read(root)).map_err(|unreadable| {
            let provider_id = node::read_provider_id(item);
            Unreadable { provider_id, ..unreadable }
        })
    })
}

/// Reads one Node.
pub fn node(body: &[u8]) -> Result<Node, Error> {
    object(body, "Node", |root, _| node::read(root))
}

/// Reads a DaemonSetList.
pub fn daemon_set_list(body: &[u8]) -> Result<Page<DaemonSet>, Error> {
    list(body, "DaemonSet", |root, _| Some(pod::read_daemon_set(root)?.0))
}

/// Reads a NodePoolList. What Karpenter's own validation would find is in each pool's `problems`. Pools of
/// another provider, such as EKS Auto Mode, are left out.
///
/// Karpenter: `pkg/utils/nodepool/nodepool.go`, `IsManaged`.
pub fn node_pool_list(body: &[u8]) -> Result<Page<NodePool>, Error> {
    let page = list(body, "NodePool", |root, complaints| {
        if node_pool::is_of_another_provider(root.tree()) {
            return Some(None);
        }
        Some(Some(node_pool::read(root, complaints)?.pool))
    })?;
    Ok(of_this_provider(page))
}

/// Reads an EC2NodeClassList, each class with what its status says: what it selects, and what stands
/// against a launch. A status that cannot be read stands against one, too. What is not supported yet is
/// in each class's `problems`.
pub fn node_class_list(body: &[u8]) -> Result<Page<ListedNodeClass>, Error> {
    list(body, "EC2NodeClass", |root, complaints| {
        let class = node_class::read(root, complaints)?;
        let not_ready = node_class::not_ready_in_cluster(root.tree());
        Some(match class_status::read(root) {
            Ok(status) => {
                let is_present = node_class::is_present(root.tree());
                ListedNodeClass { class, not_ready, status: is_present.then_some(status) }
            }
            Err(problem) => {
                let why = NotReady::Unreadable(problem.to_string());
                ListedNodeClass { class, not_ready: Some(why), status: None }
            }
        })
    })
}

/// The same, each with which spec it is.
pub fn observed_node_class_list(body: &[u8]) -> Result<Page<ObservedNodeClass>, Error> {
    list(body, "EC2NodeClass", |root, complaints| {
        let class = node_class::read(root, complaints)?;
        let (uid, generation) = seen(root)?;
        let metadata = root.fields()?.get("metadata")?.fields();
        let annotations = metadata
            .and_then(|mut metadata| metadata.get("annotations")?.text_map())
            .unwrap_or_default();
        let status = class_status::read(root).ok();
        Some(ObservedNodeClass { class, uid, generation, annotations, status })
    })
}

/// Reads a NodePoolList, each pool with which spec it is. Those of another provider are left out: that
/// provider tells of them.
///
/// Karpenter: `pkg/utils/nodepool/nodepool.go`, `IsManaged`.
pub fn observed_node_pool_list(body: &[u8]) -> Result<Page<ObservedNodePool>, Error> {
    let page = list(body, "NodePool", |root, complaints| {
        if node_pool::is_of_another_provider(root.tree()) {
            return Some(None);
        }
        let pool = node_pool::read(root, complaints)?.pool;
        let (uid, generation) = seen(root)?;
        let wake = Conditions::of(root.tree()).wake();
        Some(Some(ObservedNodePool { pool, uid, generation, wake }))
    })?;
    Ok(of_this_provider(page))
}

/// The page without the objects of another provider, which are `None`.
fn of_this_provider<T>(page: Page<Option<T>>) -> Page<T> {
    let Page { items, malformed, continue_token, resource_version } = page;
    let items = items.into_iter().flatten().collect();
    Page { items, malformed, continue_token, resource_version }
}

/// Which object it is, and which spec of it.
fn seen(root: &Field<'_>) -> Option<(String, i64)> {
    let mut metadata = root.fields()?.require("metadata")?.fields()?;
    let uid = metadata.require("uid")?.text_not_empty()?.to_owned();
    Some((uid, metadata.require("generation")?.integer(0, i64::MAX)?))
}

/// Reads the metadata of NodeClaims that show claims of the ledger.
pub fn synced_node_claim_list(body: &[u8]) -> Result<Page<SyncedNodeClaim>, Error> {
    list(body, "NodeClaim", |root, _| {
        let metadata = Metadata::read(&mut root.fields()?)?;
        let version = metadata.annotations.get(labels::CLAIM_VERSION);
        Some(SyncedNodeClaim {
            name: root.name().accept(NodeClaimName::new(&metadata.name))?,
            version: version.and_then(|text| text.parse().ok()).unwrap_or_default(),
            is_deleting: metadata.deleted_at.is_some(),
        })
    })
}

/// Reads a NodeClaimList: ours and others', as claims. Those of other providers' node classes are left out.
///
/// Karpenter: `pkg/utils/nodeclaim/nodeclaim.go`, `IsManaged`.
pub fn node_claim_list(body: &[u8]) -> Result<Page<NodeClaim>, Error> {
    let page = list(body, "NodeClaim", |root, _| {
        Some(match node_claim::read(root)? {
            node_claim::ReadNodeClaim::Claim(claim)
            | node_claim::ReadNodeClaim::Standalone(claim) => Some(*claim),
            node_claim::ReadNodeClaim::Foreign => None,
        })
    })?;
    Ok(of_this_provider(page))
}

/// Reads a NodeOverlayList. What Karpenter's own validation would find is in each one's `problems`.
pub fn node_overlay_list(body: &[u8]) -> Result<Page<NodeOverlay>, Error> {
    list(body, "NodeOverlay", overlay::read)
}

/// Reads a NodeOverlayList, each overlay with which spec it is.
pub fn observed_overlay_list(body: &[u8]) -> Result<Page<ObservedOverlay>, Error> {
    list(body, "NodeOverlay", |root, complaints| {
        let overlay = overlay::read(root, complaints)?;
        let (uid, generation) = seen(root)?;
        Some(ObservedOverlay { overlay, uid, generation })
    })
}

/// Reads a CapacityBufferList, each buffer with what its status says. PodTemplates are not looked up yet.
pub fn capacity_buffer_list(body: &[u8]) -> Result<Page<(BufferManifest, ObservedBuffer)>, Error> {
    list(body, "CapacityBuffer", |root, _| {
        let manifest = buffer::read(root)?;
        let observed = buffer::observed(root.tree(), &manifest, seen(root)?);
        Some((manifest, observed))
    })
}

/// Reads a PodTemplateList, each template with its `metadata.generation`, where a server counts it.
pub fn pod_template_list(body: &[u8]) -> Result<Page<PodTemplate>, Error> {
    list(body, "PodTemplate", |root, _| {
        let (key, spec) = pod::read_pod_template(root)?;
        Some((key, spec, conditions::generation(root.tree())))
    })
}

/// A PodTemplate: its name, the pods that are made of it, and its `metadata.generation`.
pub type PodTemplate = (PodKey, Arc<PodSpec>, Option<i64>);

/// Reads a DeploymentList.
pub fn deployment_list(body: &[u8]) -> Result<Page<Workload>, Error> {
    list(body, "Deployment", |root, _| workload::read(root, WorkloadKind::Deployment))
}

/// Reads a StatefulSetList.
pub fn stateful_set_list(body: &[u8]) -> Result<Page<Workload>, Error> {
    list(body, "StatefulSet", |root, _| workload::read(root, WorkloadKind::StatefulSet))
}

/// Reads a ReplicaSetList.
pub fn replica_set_list(body: &[u8]) -> Result<Page<Workload>, Error> {
    list(body, "ReplicaSet", |root, _| workload::read(root, WorkloadKind::ReplicaSet))
}

/// Reads a ServiceList: which pods each selects.
pub fn service_list(body: &[u8]) -> Result<Page<LabelsSelected>, Error> {
    list(body, "Service", |root, _| selecting::read_service(root))
}

/// Reads a ReplicationControllerList: which pods are each one's own.
pub fn replication_controller_list(body: &[u8]) -> Result<Page<LabelsSelected>, Error> {
    list(body, "ReplicationController", |root, _| selecting::read_replication_controller(root))
}

/// Reads a NamespaceList: names and labels.
pub fn namespace_list(body: &[u8]) -> Result<Page<NamespaceLabels>, Error> {
    list(body, "Namespace", |root, _| budget::read_namespace(root))
}

/// Reads a PersistentVolumeList.
pub fn volume_list(body: &[u8]) -> Result<Page<(String, Volume)>, Error> {
    list(body, "PersistentVolume", |root, _| {
        volume::read_volume(root).map(|read| (read.name, read.volume))
    })
}

/// Reads a PersistentVolumeClaimList.
pub fn volume_claim_list(body: &[u8]) -> Result<Page<(VolumeClaimKey, VolumeClaim)>, Error> {
    list(body, "PersistentVolumeClaim", |root, _| volume::read_claim(root))
}

/// Reads one PersistentVolumeClaim.
pub fn volume_claim(body: &[u8]) -> Result<VolumeClaim, Error> {
    object(body, "PersistentVolumeClaim", |root, _| volume::read_claim(root).map(|read| read.1))
}

/// Reads a VolumeAttachmentList. One that cannot be read is malformed, and among the items all the same if its name and
/// its node can be read.
pub fn volume_attachment_list(body: &[u8]) -> Result<Page<VolumeAttachment>, Error> {
    items(body, VOLUME_ATTACHMENT, |item| {
        let read = read_item(item, VOLUME_ATTACHMENT, |root, _| volume::read_attachment(root));
        read.map_err(|unreadable| {
            let rest = volume::read_rest(item).map(Box::new);
            Unreadable { rest, ..unreadable }
        })
    })
}

/// Reads a StorageClassList.
pub fn storage_class_list(body: &[u8]) -> Result<Page<StorageClassManifest>, Error> {
    list(body, "StorageClass", |root, _| volume::read_class(root))
}

/// Reads a CSINodeList: how many volumes of each driver a node attaches.
pub fn csi_node_list(body: &[u8]) -> Result<Page<AttachLimits>, Error> {
    list(body, "CSINode", |root, _| volume::read_csi_node(root))
}

/// Reads a PodDisruptionBudgetList.
pub fn disruption_budget_list(body: &[u8]) -> Result<Page<PodDisruptionBudget>, Error> {
    list(body, "PodDisruptionBudget", |root, _| Some(budget::read(root)?.0))
}

/// Reads a ResourceSliceList. The pool of one that cannot be read is incomplete.
pub fn resource_slice_list(body: &[u8]) -> Result<Page<ResourceSlice>, Error> {
    list(body, "ResourceSlice", |root, _| resource_slice::read(root))
}

/// Reads a DeviceClassList.
pub fn device_class_list(body: &[u8]) -> Result<Page<DeviceClass>, Error> {
    list(body, "DeviceClass", |root, _| resource_slice::read_class(root))
}

/// Reads a ResourceClaimList. One that cannot be read is malformed, and among the items all the same if its name can be
/// read: with a request that nothing satisfies, and the devices that it is seen to have.
pub fn resource_claim_list(body: &[u8]) -> Result<Page<ResourceClaim>, Error> {
    items(body, RESOURCE_CLAIM, |item| {
        let read = read_item(item, RESOURCE_CLAIM, |root, _| resource_claim::read(root));
        read.map_err(|unreadable| {
            let rest = resource_claim::read_rest(item).map(Box::new);
            Unreadable { rest, ..unreadable }
        })
    })
}

/// Reads an object; what it complains about goes to the second argument.
type Reader<T> = fn(&Field<'_>, &Complaints) -> Option<T>;

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(default)]
    metadata: RawListMetadata,
    #[serde(borrow, deserialize_with = "null_or_items")]
    items: Vec<&'a RawValue>,
}

/// Lists of metadata have `null` for no item, as Go writes a slice that was never made.
fn null_or_items<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'de RawValue>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawListMetadata {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    resource_version: Option<String>,
}

fn list<T>(body: &[u8], kind: &str, read: Reader<T>) -> Result<Page<T>, Error> {
    items(body, kind, |item| read_item(item, kind, read))
}

/// Why an object could not be read.
struct Unreadable<T> {
    /// Its name, where it has one.
    name: Option<String>,
    problem: String,
    /// What could be read of it, where that is enough to stand for it in its list.
    rest: Option<Box<T>>,
    /// See [`MalformedObject`].
    provider_id: Option<ProviderId>,
}

/// A list whose items `read` reads from their texts.
fn items<T>(
    body: &[u8],
    kind: &str,
    mut read: impl FnMut(&str) -> Result<T, Unreadable<T>>,
) -> Result<Page<T>, Error> {
    let raw: RawList<'_> =
        serde_json::from_slice(body).map_err(|error| Error::List(error.to_string()))?;
    let mut items = Vec::with_capacity(raw.items.len());
    let mut malformed = Vec::new();
    for (index, item) in raw.items.into_iter().enumerate() {
        match read(item.get()) {
            Ok(item) => items.push(item),
            Err(Unreadable { name, problem, rest, provider_id }) => {
                items.extend(rest.map(|rest| *rest));
                let name = name.unwrap_or_else(|| format!("number {index}"));
                let object = ObjectReference { kind: kind.to_owned(), name };
                malformed.push(MalformedObject { object, problem, provider_id });
            }
        }
    }
    Ok(Page {
        items,
        malformed,
        continue_token: raw.metadata.continue_token.filter(|token| !token.is_empty()),
        resource_version: raw.metadata.resource_version,
    })
}

fn object<T>(body: &[u8], kind: &str, read: Reader<T>) -> Result<T, Error> {
    let text = std::str::from_utf8(body).map_err(|error| Error::List(error.to_string()))?;
    read_item(text, kind, read).map_err(|Unreadable { name, problem, .. }| {
        let name = name.unwrap_or_else(|| "(without a name)".to_owned());
        Error::Object { object: ObjectReference { kind: kind.to_owned(), name }, problem }
    })
}

/// The object, or its name (where it has one) and what is wrong.
fn read_item<T>(text: &str, kind: &str, read: Reader<T>) -> Result<T, Unreadable<T>> {
    let unreadable = |name, problem| Unreadable { name, problem, rest: None, provider_id: None };
    let tree = tree::parse_json(text).map_err(|error| unreadable(None, error))?;
    let complaints = Complaints::new(Unknown::Ignored);
    let item = read(&Field::root(&tree, &complaints), &complaints);
    let list = complaints.into_list().into_iter().map(|complaint| complaint.problem);
    let refused: Vec<Problem> = list.filter(|problem| problem.weight == Weight::Refused).collect();
    match item {
        Some(item) if refused.is_empty() => Ok(item),
        _ if refused.is_empty() => Err(unreadable(name_of(&tree), format!("not a {kind}"))),
        _ => Err(unreadable(name_of(&tree), Problem::in_words(&refused))),
    }
}

fn name_of(tree: &Tree) -> Option<String> {
    let metadata = tree.get("metadata")?;
    let name = metadata.get("name")?.as_text()?;
    match metadata.get("namespace").and_then(Tree::as_text) {
        Some(namespace) => Some(format!("{namespace}/{name}")),
        None => Some(name.to_owned()),
    }
}

//! Volumes: those of pods, and what the cluster knows of them.
//!
//! Of a volume only what decides about nodes is read: where it is, and which driver attaches it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    Namespace, NodeName, ObjectName, Problem, Requirement, labels,
    requirement::Operator,
    storage::{PodVolume, StorageClass, Volume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
};

use super::{affinity, metadata::Metadata};
use crate::document::{
    field::{Field, Fields},
    tree,
};

/// The driver that volumes of EBS have moved to.
const EBS_DRIVER: &str = "ebs.csi.aws.com";
/// Says that a claim and its volume belong to each other.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Says that a class is taken where a claim names none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// What the same was called before.
const DEFAULT_CLASS_BETA: &str = "storageclass.beta.kubernetes.io/is-default-class";

/// A StorageClass, with what decides whether claims that name none get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClassManifest {
    /// Its name.
    pub name: String,
    /// What decides about nodes.
    pub class: StorageClass,
    /// Whether it is a default class. Of several the newest is taken.
    pub is_default: bool,
    /// `metadata.creationTimestamp`, if it is there.
    pub created_at: Option<Timestamp>,
}

/// A PersistentVolume, with what decides which claim gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeManifest {
    /// Its name.
    pub name: String,
    /// What decides about nodes.
    pub volume: Volume,
    /// `spec.claimRef`: the claim that it is kept for, or bound to.
    pub claim: Option<VolumeClaimKey>,
    /// `spec.storageClassName`; empty if it has none.
    pub storage_class: String,
}

/// Labels of a volume that say where it is. A value may name several places.
///
/// Kubernetes: `pkg/scheduler/framework/plugins/volumezone`. Karpenter looks at `nodeAffinity` alone.
const PLACE_LABELS: [&str; 4] = [
    labels::ZONE,
    labels::REGION,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// What separates the places in one value.
const PLACES_SEPARATOR: &str = "__";

/// Volumes of a pod that are claims. Volumes of other kinds decide nothing about nodes, but for
/// those of EBS without a claim, which live in a zone.
pub(crate) fn of_pod(field: Option<Field<'_>>, problems: &mut Vec<Problem>) -> Vec<PodVolume> {
    let items = field.and_then(|field| field.list()).unwrap_or_default();
    items.iter().filter_map(|item| one_of_pod(item, problems)).collect()
}

fn one_of_pod(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<PodVolume> {
    if item.tree().get("awsElasticBlockStore").is_some_and(|tree| !tree.is_null()) {
        let words = "awsElasticBlockStore volumes";
        problems.push(Problem::unsupported("volumes", words));
    }
    let has = |key: &str| item.tree().get(key).is_some_and(|tree| !tree.is_null());
    if has("persistentVolumeClaim") {
        let name = item.at("persistentVolumeClaim").fields()?.require("claimName")?;
        return Some(PodVolume::Claim(name.parsed(ObjectName::new)?));
    }
    if !has("ephemeral") {
        return None;
    }
    let mut fields = item.fields()?;
    let volume = fields.require("name")?.text_not_empty()?.to_owned();
    let template = fields.get("ephemeral")?.fields()?.require("volumeClaimTemplate")?;
    let spec = template.fields()?.require("spec")?;
    check_claim(&spec);
    Some(PodVolume::Ephemeral { volume, storage_class: class_name(&mut spec.fields()?) })
}

/// `storageClassName`; an empty one asks for a volume without a class.
fn class_name(fields: &mut Fields<'_>) -> Option<String> {
    fields.get("storageClassName").and_then(|field| field.text()).map(ToOwned::to_owned)
}

/// A claim that a StatefulSet makes for each of its pods.
pub(crate) fn claim_template(item: &Field<'_>) -> Option<(ObjectName, Option<String>)> {
    let mut fields = item.fields()?;
    fields.ignore(&["apiVersion", "kind", "status"]);
    let name = fields.require("metadata")?.fields()?.require("name")?.parsed(ObjectName::new);
    let class = fields.require("spec").and_then(|spec| {
        check_claim(&spec);
        class_name(&mut spec.fields()?)
    });
    fields.done();
    Some((name?, class))
}

/// Complains of what a claim must have and its `spec` does not. A StatefulSet makes no pod whose claims are refused.
///
/// Kubernetes: `ValidatePersistentVolumeClaimSpec` in `pkg/apis/core/validation/validation.go`.
fn check_claim(spec: &Field<'_>) {
    let modes = spec.at("accessModes");
    if !spec.has("accessModes") || modes.list_if_any().is_some_and(|modes| modes.is_empty()) {
        modes.complain_if_written_with("is required", "write `accessModes: [ReadWriteOnce]`");
    }
    let resources = spec.at("resources");
    let requests = resources.at("requests");
    let is_sized = spec.has("resources") && resources.has("requests") && requests.has("storage");
    if !is_sized {
        let cure = "write how large it is, such as `storage: 10Gi`";
        let storage = spec.missing("resources").missing("requests").missing("storage");
        storage.complain_if_written_with("is required", cure);
    }
}

/// Reads a PersistentVolumeClaim.
pub(crate) fn read_claim(object: &Field<'_>) -> Option<(VolumeClaimKey, VolumeClaim)> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec")?;
    check_claim(&spec);
    let mut spec = spec.fields()?;
    spec.ignore(&["resources", "selector", "volumeMode", "dataSource"]);
    spec.ignore(&["dataSourceRef", "volumeAttributesClassName"]);
    let volume = spec.get("volumeName").and_then(|f| f.text()).filter(|name| !name.is_empty());
    let storage_class = class_name(&mut spec);
    let modes = spec.get("accessModes").and_then(|field| field.texts()).unwrap_or_default();
    let is_for_one_pod = modes.contains(&"ReadWriteOncePod");
    spec.done();
    let status = fields.get("status");
    let phase = status.as_ref().and_then(|status| status.tree().get("phase")?.as_text());
    fields.done();
    let metadata = metadata?;
    let key = metadata.key(object)?;
    let claim = VolumeClaim {
        volume: volume.map(ToOwned::to_owned),
        storage_class,
        is_bind_completed: metadata.annotations.contains_key(BIND_COMPLETED),
        is_deleting: metadata.deleted_at.is_some(),
        is_lost: phase == Some("Lost"),
        is_for_one_pod,
    };
    Some((VolumeClaimKey { namespace: key.namespace, name: key.name }, claim))
}

/// Reads a PersistentVolume. Members of its `spec` are kinds of volumes, and too many to name.
pub(crate) fn read_volume(object: &Field<'_>) -> Option<VolumeManifest> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let spec = fields.require("spec")?;
    fields.done();
    let mut inner = spec.fields()?;
    let is_local = inner.has("local") || inner.has("hostPath");
    let in_tree = inner.has("awsElasticBlockStore").then(|| EBS_DRIVER.to_owned());
    let csi = inner.get("csi").and_then(|field| field.fields());
    let driver = csi.and_then(|mut csi| csi.require("driver")?.text().map(ToOwned::to_owned));
    let affinity = inner.get("nodeAffinity").and_then(|field| field.fields()?.get("required"));
    let terms = affinity
        .and_then(|field| field.fields()?.require("nodeSelectorTerms"))
        .and_then(|field| field.list())
        .unwrap_or_default();
    let mut refused = Vec::new();
    let mut terms: Vec<Vec<Requirement>> = terms
        .iter()
        .filter_map(|item| affinity::term(item, &mut refused))
        .map(|term| term.expressions)
        .collect();
    if let Some(problem) = refused.into_iter().next() {
        spec.at("nodeAffinity").complain(problem.rule);
    }
    let metadata = metadata?;
    let places: Vec<Requirement> = of_labels(&metadata).collect();
    if terms.is_empty() && !places.is_empty() {
        terms.push(Vec::new());
    }
    for term in &mut terms {
        term.extend(places.iter().cloned());
    }
    let claim = inner.get("claimRef").and_then(|field| {
        let mut fields = field.fields()?;
        let namespace = fields.get("namespace").and_then(|field| field.parsed(Namespace::new));
        let name = fields.get("name").and_then(|field| field.parsed(ObjectName::new));
        Some(VolumeClaimKey { namespace: namespace?, name: name? })
    });
    let storage_class = class_name(&mut inner).unwrap_or_default();
    let is_deleting = metadata.deleted_at.is_some();
    let volume = Volume { terms, is_local, driver: driver.or(in_tree), is_deleting };
    Some(VolumeManifest { name: metadata.name, volume, claim, storage_class })
}

/// Where the labels of a volume say that it is.
fn of_labels(metadata: &Metadata) -> impl Iterator<Item = Requirement> + '_ {
    PLACE_LABELS.iter().filter_map(|label| {
        let values = metadata.labels.get(*label)?.split(PLACES_SEPARATOR);
        Requirement::new(label, Operator::In, values).ok()
    })
}

/// Reads a VolumeAttachment: what is attached where, or is about to be. Whether it is by now is not looked at.
pub(crate) fn read_attachment(object: &Field<'_>) -> Option<VolumeAttachment> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let mut spec = fields.require("spec").and_then(|field| field.fields())?;
    fields.done();
    spec.ignore(&["attacher"]);
    let node = spec.require("nodeName").and_then(|field| field.parsed(NodeName::new));
    let source = spec.require("source").and_then(|field| field.fields());
    spec.done();
    let mut source = source?;
    source.ignore(&["inlineVolumeSpec"]);
    let volume = source
        .get("persistentVolumeName")
        .and_then(|field| field.text())
        .filter(|name| !name.is_empty())
        .map(ToOwned::to_owned);
    source.done();
    Some(VolumeAttachment { name: metadata?.name, node: node?, volume })
}

/// A VolumeAttachment that cannot be read, on the node that it names: whatever it attaches is attached.
pub(crate) fn read_rest(text: &str) -> Option<VolumeAttachment> {
    let tree = tree::parse_json(text).ok()?;
    let name = tree.get("metadata")?.get("name")?.as_text()?;
    let node = NodeName::new(tree.get("spec")?.get("nodeName")?.as_text()?).ok()?;
    Some(VolumeAttachment { name: name.to_owned(), node, volume: Some(name.to_owned()) })
}

/// Reads a StorageClass.
pub(crate) fn read_class(object: &Field<'_>) -> Option<StorageClassManifest> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["parameters", "reclaimPolicy", "mountOptions", "allowVolumeExpansion"]);
    let provisioner = fields.require("provisioner").and_then(|field| field.text_not_empty());
    let mode =
        fields.get("volumeBindingMode").map_or(Some(false), |field| field.choice(BINDING_MODES));
    let topologies = fields.get("allowedTopologies").and_then(|field| field.list());
    fields.done();
    let topologies = topologies.unwrap_or_default();
    let metadata = metadata?;
    let says = |key: &str| metadata.annotations.get(key).is_some_and(|value| value == "true");
    let class = StorageClass {
        provisioner: provisioner?.to_owned(),
        waits_for_first_consumer: mode?,
        allowed_topologies: topologies.iter().map(topology).collect::<Option<_>>()?,
    };
    Some(StorageClassManifest {
        is_default: says(DEFAULT_CLASS) || says(DEFAULT_CLASS_BETA),
        created_at: metadata.created_at,
        name: metadata.name,
        class,
    })
}

/// Whether a class waits for the first pod.
const BINDING_MODES: &[(&str, bool)] = &[("WaitForFirstConsumer", true), ("Immediate", false)];

/// An entry of `allowedTopologies`: all of its expressions must hold.
fn topology(item: &Field<'_>) -> Option<Vec<Requirement>> {
    let expressions =
        item.fields()?.get("matchLabelExpressions").and_then(|f| f.list()).unwrap_or_default();
    let requirement = |item: &Field<'_>| {
        let mut fields = item.fields()?;
        let key = fields.require("key").and_then(|field| field.text_not_empty());
        let values = fields.require("values").and_then(|field| field.texts());
        fields.done();
        item.accept(Requirement::new(key?, Operator::In, values?))
    };
    expressions.iter().map(requirement).collect()
}

/// Reads a CSINode: how many volumes of each driver its node attaches.
pub(crate) fn read_csi_node(object: &Field<'_>) -> Option<(NodeName, BTreeMap<String, u32>)> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let mut spec = fields.require("spec").and_then(|field| field.fields())?;
    fields.done();
    let drivers = spec.require("drivers").and_then(|field| field.list()).unwrap_or_default();
    spec.done();
    let mut limits = BTreeMap::new();
    for item in drivers {
        let mut driver = item.fields()?;
        driver.ignore(&["nodeID", "topologyKeys"]);
        let name = driver.require("name").and_then(|field| field.text_not_empty());
        let count = driver.get("allocatable").and_then(|field| field.fields()?.get("count"));
        driver.done();
        let count = count.and_then(|count| count.integer(0, i64::from(i32::MAX)));
        if let (Some(name), Some(count)) = (name, count) {
            limits.insert(name.to_owned(), count);
        }
    }
    Some((object.name().accept(NodeName::new(&metadata?.name))?, limits))
}

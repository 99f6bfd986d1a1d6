//! What every object has: type, name, labels, owners, times.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    Namespace, ObjectName, PodKey,
    api_version::{AWS_GROUP, KARPENTER_GROUP},
    labels,
    pod::Owner,
    protection,
};

use crate::document::field::{Field, Fields};

/// `metadata` of an object, as far as anything reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) finalizers: BTreeSet<String>,
    pub(crate) owner: Option<Owner>,
}

/// Fields of `metadata` that decide nothing.
const IGNORED: &[&str] = &["generateName", "generation", "resourceVersion", "selfLink"];

impl Metadata {
    /// Reads `metadata` of `object`. Without a name nothing can be said about an object.
    pub(crate) fn read(object: &mut Fields<'_>) -> Option<Self> {
        object.ignore(&["apiVersion", "kind"]);
        let mut fields = object.require("metadata")?.fields()?;
        fields.ignore(IGNORED);
        fields.ignore(&["managedFields", "deletionGracePeriodSeconds"]);
        let name = fields.require("name")?.text_not_empty()?.to_owned();
        let text = |field: Option<Field<'_>>| field.and_then(|f| f.text()).map(ToOwned::to_owned);
        let metadata = Self {
            name,
            namespace: text(fields.get("namespace")),
            uid: text(fields.get("uid")),
            created_at: fields.get("creationTimestamp").and_then(|f| timestamp(&f)),
            deleted_at: fields.get("deletionTimestamp").and_then(|f| timestamp(&f)),
            labels: fields.get("labels").and_then(|f| f.text_map()).unwrap_or_default(),
            annotations: fields.get("annotations").and_then(|f| f.text_map()).unwrap_or_default(),
            finalizers: finalizers(fields.get("finalizers")),
            owner: fields.get("ownerReferences").and_then(|f| controller(&f)),
        };
        fields.done();
        Some(metadata)
    }

    /// Namespace (`default` unless given) and name of `object`, whose metadata this is.
    pub(crate) fn key(&self, object: &Field<'_>) -> Option<PodKey> {
        let namespace = self.namespace(object)?;
        Some(PodKey { namespace, name: object.name().accept(ObjectName::new(&self.name))? })
    }

    /// `metadata.namespace` of `object`, or `default`.
    pub(crate) fn namespace(&self, object: &Field<'_>) -> Option<Namespace> {
        let namespace = self.namespace.as_deref().unwrap_or("default");
        object.at("metadata").at("namespace").accept(Namespace::new(namespace))
    }

    /// What a pod is read for: the annotations below, and what it costs to delete the pod.
    pub(crate) fn pod_annotations(&self) -> BTreeMap<String, String> {
        kept(&self.annotations, is_read_of_pods)
    }

    /// What a node is read for.
    pub(crate) fn node_annotations(&self) -> BTreeMap<String, String> {
        kept(&self.annotations, is_read_of_nodes)
    }

    /// Annotations of Karpenter's own domain: the others decide nothing, and would keep pods that
    /// are alike from being seen as alike.
    pub(crate) fn own_annotations(&self) -> BTreeMap<String, String> {
        own_annotations(&self.annotations)
    }

    /// What a NodeClaim is read for. Of one that a user made that is all which its node takes over: not what
    /// Journeyman wrote, nor the copy of the object that kubectl writes.
    pub(crate) fn claim_annotations(&self, is_standalone: bool) -> BTreeMap<String, String> {
        if !is_standalone {
            return self.own_annotations();
        }
        kept(&self.annotations, |key| !key.starts_with("journeyman/") && key != LAST_APPLIED)
    }
}

/// Where `kubectl apply` keeps the object as it was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// See [`Metadata::own_annotations`].
pub(crate) fn own_annotations(texts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    kept(texts, is_own)
}

fn kept(texts: &BTreeMap<String, String>, is_kept: fn(&str) -> bool) -> BTreeMap<String, String> {
    let entries = texts.iter().filter(|(key, _)| is_kept(key));
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn is_own(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    key == labels::DO_NOT_DISRUPT
        || key == labels::PACKING
        || key == labels::MAX_NODE_SHARE
        || key == labels::MAX_DOLLARS_PER_HOUR
        || [KARPENTER_GROUP, AWS_GROUP].iter().any(|text| domain.ends_with(text))
}

/// Whether anything reads this annotation of a pod.
pub(crate) fn is_read_of_pods(key: &str) -> bool {
    is_own(key) || key == labels::POD_DELETION_COST || protection::is_foreign(key)
}

/// Whether anything reads this annotation of a node.
fn is_read_of_nodes(key: &str) -> bool {
    is_own(key) || protection::is_foreign(key)
}

/// A time as RFC 3339.
pub(crate) fn timestamp(field: &Field<'_>) -> Option<Timestamp> {
    let text = field.text()?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        field.complain(format!("`{text}` is not a time such as `2026-08-01T12:00:00Z`"));
    }
    parsed
}

fn finalizers(field: Option<Field<'_>>) -> BTreeSet<String> {
    let finalizers = field.and_then(|field| field.texts()).unwrap_or_default();
    finalizers.into_iter().map(ToOwned::to_owned).collect()
}

/// The owner that controls the object; of an object without one, the first. Karpenter looks at all
/// owners, of which at most one is a DaemonSet, StatefulSet or Node.
fn controller(field: &Field<'_>) -> Option<Owner> {
    let mut first = None;
    for item in field.list()? {
        let mut fields = item.fields()?;
        fields.ignore(&["uid", "blockOwnerDeletion"]);
        let text = |field: Option<Field<'_>>| Some(field?.text()?.to_owned());
        let owner = Owner {
            api_version: text(fields.require("apiVersion"))?,
            kind: text(fields.require("kind"))?,
            name: text(fields.require("name"))?,
        };
        let controls = fields.get("controller").and_then(|f| f.boolean()).unwrap_or_default();
        fields.done();
        if controls {
            return Some(owner);
        }
        first = first.or(Some(owner));
    }
    first
}

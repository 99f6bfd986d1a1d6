//! Pods, and the templates that they are made of.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    ConditionKind, NodeName, ObjectName, Pod, PodKey, PodSpec, PodUid, Problem, Resources,
    facts::DaemonSet,
    pod::PodPhase,
    problem::{Rule, Weight},
};

use super::{
    admission::NewPod,
    conditions::Conditions,
    container::Granted,
    label_selector,
    metadata::{Metadata, timestamp},
    pod_claims,
    pod_spec::{self, ReadPodSpec},
    template_rules,
};
use crate::document::{
    field::{Complaints, Field, Unknown},
    tree::{self, Tree, TreeValue},
};

const PHASES: &[(&str, PodPhase)] = &[
    ("Pending", PodPhase::Pending),
    ("Running", PodPhase::Running),
    ("Succeeded", PodPhase::Succeeded),
    ("Failed", PodPhase::Failed),
    // The kubelet is out of reach: the pod may still run.
    ("Unknown", PodPhase::Running),
];

/// The phase of this name.
pub(crate) fn phase(name: &str) -> Option<PodPhase> {
    PHASES.iter().find(|(known, _)| *known == name).map(|(_, phase)| *phase)
}

/// A pod, with what only matters before it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodManifest {
    /// The pod.
    pub pod: Pod,
    /// Whether something must let it go before it is scheduled: it has `schedulingGates`.
    pub is_gated: bool,
    /// What admission reads of it; `None` once an API server has stored it.
    pub new: Option<Box<NewPod>>,
}

/// Reads a Pod. Without a creation time it is as old as can be; without a uid its namespace and
/// name stand in.
pub(crate) fn read_pod(object: &Field<'_>) -> Option<PodManifest> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let status = fields.get("status");
    let conditions = Conditions::of(object.tree());
    let granted =
        status.as_ref().map(|status| Granted::of(status, &conditions)).unwrap_or_default();
    let spec = fields
        .require("spec")
        .and_then(|field| pod_spec::read(&field, metadata.as_ref()?, &granted));
    fields.done();
    let (metadata, mut spec) = (metadata?, spec?);
    let is_new = metadata.uid.is_none();
    if is_new {
        spec = spec.admitted();
    }
    let ReadPodSpec { mut spec, node, volumes, is_gated, new } = spec;
    let is_daemon = metadata.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
    // Lists of stored pods are read without names of nodes, and a pod that has its node asks for none.
    if is_daemon || !is_new || node.is_some() {
        spec.match_fields.clear();
    }
    let key = metadata.key(object)?;
    let uid = metadata.uid.clone().unwrap_or_else(|| key.to_string());
    let created_at = metadata.created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let status = status.and_then(|field| read_status(&field)).unwrap_or_default();
    let node_name = |text: String| object.at("spec").at("nodeName").accept(NodeName::new(&text));
    let pod = Pod {
        uid: object.at("metadata").at("uid").accept(PodUid::new(&uid))?,
        key,
        created_at,
        deleted_at: metadata.deleted_at,
        phase: status.phase,
        started_at: status.started_at,
        unschedulable_at: conditions.unschedulable_since().map(|since| since.unwrap_or(created_at)),
        node: node.and_then(node_name),
        nominated_node: status.nominated_node.and_then(node_name),
        owner: metadata.owner.map(Arc::new),
        is_ready: conditions.is_true(ConditionKind::Ready),
        volumes,
        made_claims: status.made_claims,
        spec: Arc::new(spec),
    };
    Some(PodManifest { pod, is_gated, new: is_new.then(|| Box::new(new)) })
}

/// What can be read of the pod of `text`, which as a whole cannot for the reason `why`: its name and its
/// node at least. What is in doubt is read so that the pod keeps its node.
pub(crate) fn read_rest(text: &str, why: &str) -> Option<PodManifest> {
    let tree = tree::parse_json(text).ok()?;
    // All that is wrong with it was said before.
    let complaints = Complaints::new(Unknown::Ignored);
    let object = Field::root(&tree, &complaints);
    let metadata = Metadata::read(&mut object.fields()?)?;
    let key = metadata.key(&object)?;
    let node = match tree.get("spec")? {
        Tree { value: TreeValue::Map(_), .. } => tree.get("spec")?.get("nodeName"),
        _ => return None,
    };
    let node = match node.filter(|name| !name.is_null()) {
        Some(name) => Some(name.as_text()?).filter(|name| !name.is_empty()),
        None => None,
    };
    let node = node.map(NodeName::new).transpose().ok()?;
    let status = tree.get("status");
    let status = |member| status.and_then(|status: &Tree| status.get(member)?.as_text());
    let in_doubt = if node.is_some() { PodPhase::Running } else { PodPhase::Pending };
    let conditions = Conditions::of(&tree);
    let created_at = metadata.created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let rule = Rule::Unreadable(why.to_owned());
    let spec = PodSpec {
        labels: metadata.labels.clone(),
        annotations: metadata.pod_annotations(),
        requests: Resources { pods: 1, ..Resources::default() },
        problems: vec![Problem { weight: Weight::Unusable, field: String::new(), rule }],
        ..PodSpec::default()
    };
    let uid = metadata.uid.unwrap_or_else(|| key.to_string());
    let pod = Pod {
        key,
        uid: PodUid::new(&uid).ok()?,
        created_at,
        deleted_at: metadata.deleted_at,
        phase: status("phase").and_then(phase).unwrap_or(in_doubt),
        started_at: status("startTime").and_then(|text| text.parse().ok()),
        unschedulable_at: conditions.unschedulable_since().map(|since| since.unwrap_or(created_at)),
        node,
        nominated_node: None,
        owner: metadata.owner.map(Arc::new),
        is_ready: conditions.is_true(ConditionKind::Ready),
        volumes: Vec::new(),
        made_claims: BTreeMap::new(),
        spec: Arc::new(spec),
    };
    Some(PodManifest { pod, is_gated: false, new: None })
}

#[derive(Default)]
struct Status {
    phase: PodPhase,
    started_at: Option<Timestamp>,
    nominated_node: Option<String>,
    made_claims: BTreeMap<String, Option<ObjectName>>,
}

/// Only four members are looked at, so that nothing else of a status can be wrong.
fn read_status(field: &Field<'_>) -> Option<Status> {
    let mut fields = field.fields()?;
    let phase = fields.get("phase").and_then(|field| field.choice(PHASES));
    let nominated = fields.get("nominatedNodeName").and_then(|field| field.text());
    Some(Status {
        phase: phase.unwrap_or_default(),
        started_at: fields.get("startTime").and_then(|field| timestamp(&field)),
        nominated_node: nominated.filter(|name| !name.is_empty()).map(ToOwned::to_owned),
        made_claims: pod_claims::made(fields.get("resourceClaimStatuses").as_ref()),
    })
}

const DAEMON_SET: &[&str] = &["updateStrategy", "minReadySeconds", "revisionHistoryLimit"];

/// Reads a DaemonSet.
pub(crate) fn read_daemon_set(object: &Field<'_>) -> Option<(DaemonSet, NewPod)> {
    let mut fields = object.fields()?;
    fields.ignore(&["status"]);
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    spec.ignore(DAEMON_SET);
    let selector = spec.get("selector").filter(|field| !field.ignores_unknown());
    let selector = selector.and_then(|field| label_selector::read(&field));
    let template = spec.require("template").and_then(|field| read_template(&field));
    spec.done();
    template_rules::check_restart_policy(object, false);
    if let Some(template) = &template {
        template_rules::check_selector(object, selector.as_ref(), &template.spec);
    }
    let ReadPodSpec { spec, new, .. } = template?;
    Some((DaemonSet { key: metadata?.key(object)?, spec: Arc::new(spec) }, new))
}

/// Reads a PodTemplate.
pub(crate) fn read_pod_template(object: &Field<'_>) -> Option<(PodKey, Arc<PodSpec>)> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let template = fields.require("template").and_then(|field| read_template(&field));
    fields.done();
    Some((metadata?.key(object)?, Arc::new(template?.spec)))
}

/// Reads `template` of what makes pods.
pub(crate) fn read_template(field: &Field<'_>) -> Option<ReadPodSpec> {
    let mut fields = field.fields()?;
    let mut metadata = Metadata::default();
    if let Some(mut inner) = fields.get("metadata").and_then(|field| field.fields()) {
        inner.ignore(&["name", "namespace", "creationTimestamp", "generateName", "finalizers"]);
        metadata.labels = inner.get("labels").and_then(|f| f.text_map()).unwrap_or_default();
        metadata.annotations =
            inner.get("annotations").and_then(|f| f.text_map()).unwrap_or_default();
        inner.done();
    }
    let granted = Granted::default();
    let spec = fields.require("spec").and_then(|field| pod_spec::read(&field, &metadata, &granted));
    fields.done();
    spec.map(ReadPodSpec::admitted)
}

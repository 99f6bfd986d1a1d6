//! Pods and what makes them: Deployments, StatefulSets, ReplicaSets, Jobs, DaemonSets.

use std::sync::Arc;

use jiff::Timestamp;
use model::{
    Namespace, NodeName, ObjectName, Pod, PodKey, PodSpec, PodUid, facts::DaemonSet, pod::PodPhase,
};

use super::{
    Workload, WorkloadKind,
    metadata::{Metadata, timestamp},
    pod_spec::{self, Shape},
};
use crate::fields::{Field, Fields};

const PHASES: &[(&str, PodPhase)] = &[
    ("Pending", PodPhase::Pending),
    ("Running", PodPhase::Running),
    ("Succeeded", PodPhase::Succeeded),
    ("Failed", PodPhase::Failed),
    // The kubelet is out of reach: the pod may still run.
    ("Unknown", PodPhase::Running),
];

/// Reads a Pod. Without a creation time it is as old as can be; without a uid its namespace and
/// name stand in.
pub(crate) fn read_pod(object: &Field<'_>) -> Option<Pod> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let status = fields.get("status");
    let allocated = status.as_ref().map(pod_spec::allocated).unwrap_or_default();
    let spec = fields.require("spec");
    let shape = Shape { allocated, ..Shape::default() };
    let spec = spec.and_then(|field| pod_spec::read(&field, metadata.as_ref()?, &shape));
    fields.done();
    let (metadata, (spec, node)) = (metadata?, spec?);
    let key = key_of(object, &metadata)?;
    let uid = metadata.uid.clone().unwrap_or_else(|| key.to_string());
    let created_at = metadata.created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let status = status.and_then(|field| read_status(&field, created_at)).unwrap_or_default();
    let node_name = |text: String| object.at("spec").at("nodeName").accept(NodeName::new(&text));
    Some(Pod {
        uid: object.at("metadata").at("uid").accept(PodUid::new(&uid))?,
        key,
        created_at,
        deleted_at: metadata.deleted_at,
        phase: status.phase,
        started_at: status.started_at,
        unschedulable_at: status.unschedulable_at,
        node: node.and_then(node_name),
        nominated_node: status.nominated_node.and_then(node_name),
        owner: metadata.owner,
        is_ready: status.is_ready,
        volumes: Vec::new(),
        spec: Arc::new(spec),
    })
}

/// Namespace (`default` unless given) and name.
pub(crate) fn key_of(object: &Field<'_>, metadata: &Metadata) -> Option<PodKey> {
    let namespace = metadata.namespace.as_deref().unwrap_or("default");
    let namespace = object.at("metadata").at("namespace").accept(Namespace::new(namespace))?;
    Some(PodKey { namespace, name: object.name().accept(ObjectName::new(&metadata.name))? })
}

#[derive(Default)]
struct Status {
    phase: PodPhase,
    started_at: Option<Timestamp>,
    unschedulable_at: Option<Timestamp>,
    nominated_node: Option<String>,
    is_ready: bool,
}

/// Only four members and two conditions are looked at, so that nothing else of a status can be wrong.
fn read_status(field: &Field<'_>, created_at: Timestamp) -> Option<Status> {
    let mut fields = field.fields()?;
    let phase = fields.get("phase").and_then(|field| field.choice(PHASES));
    let nominated = fields.get("nominatedNodeName").and_then(|field| field.text());
    let conditions = fields.get("conditions").and_then(|field| field.list()).unwrap_or_default();
    let is = |condition: &Field<'_>, key: &str, text: &str| {
        condition.tree().get(key).and_then(|tree| tree.as_text()) == Some(text)
    };
    let given_up = conditions
        .iter()
        .find(|one| is(one, "type", "PodScheduled") && is(one, "reason", "Unschedulable"));
    let unschedulable_at = given_up.map(|condition| {
        let since = condition.tree().get("lastTransitionTime").and_then(|tree| tree.as_text());
        since.and_then(|text| text.parse().ok()).unwrap_or(created_at)
    });
    Some(Status {
        phase: phase.unwrap_or_default(),
        started_at: fields.get("startTime").and_then(|field| timestamp(&field)),
        unschedulable_at,
        is_ready: conditions
            .iter()
            .any(|one| is(one, "type", "Ready") && is(one, "status", "True")),
        nominated_node: nominated.filter(|name| !name.is_empty()).map(ToOwned::to_owned),
    })
}

/// Reads a Deployment, StatefulSet, ReplicaSet or Job.
pub(crate) fn read_workload(object: &Field<'_>, kind: WorkloadKind) -> Option<Workload> {
    let mut fields = object.fields()?;
    fields.ignore(&["status"]);
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    spec.ignore(match kind {
        WorkloadKind::Deployment => DEPLOYMENT,
        WorkloadKind::StatefulSet => STATEFUL_SET,
        WorkloadKind::Job => JOB,
        WorkloadKind::ReplicaSet => &["selector", "minReadySeconds"],
    });
    let replicas = match kind {
        WorkloadKind::Job => job_replicas(&mut spec),
        _ => count(spec.get("replicas")).unwrap_or(1),
    };
    let shape = Shape {
        has_claim_templates: spec
            .get("volumeClaimTemplates")
            .and_then(|field| field.list())
            .is_some_and(|list| !list.is_empty()),
        ..Shape::default()
    };
    let template = spec.require("template").and_then(|field| read_template(&field, &shape));
    spec.done();
    let (metadata, template) = (metadata?, template?);
    Some(Workload {
        kind,
        key: key_of(object, &metadata)?,
        replicas,
        spec: Arc::new(template),
        created_at: metadata.created_at,
    })
}

const DEPLOYMENT: &[&str] = &[
    "selector",
    "strategy",
    "minReadySeconds",
    "revisionHistoryLimit",
    "paused",
    "progressDeadlineSeconds",
];
const STATEFUL_SET: &[&str] = &[
    "selector",
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "revisionHistoryLimit",
    "minReadySeconds",
    "persistentVolumeClaimRetentionPolicy",
    "ordinals",
];
const JOB: &[&str] = &[
    "selector",
    "activeDeadlineSeconds",
    "podFailurePolicy",
    "successPolicy",
    "backoffLimit",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "manualSelector",
    "ttlSecondsAfterFinished",
    "completionMode",
    "suspend",
    "podReplacementPolicy",
    "managedBy",
];
const DAEMON_SET: &[&str] =
    &["selector", "updateStrategy", "minReadySeconds", "revisionHistoryLimit"];

/// Pods of a Job at a time: `parallelism`, but no more than `completions`.
fn job_replicas(spec: &mut Fields<'_>) -> u32 {
    let parallelism = count(spec.get("parallelism")).unwrap_or(1);
    count(spec.get("completions")).map_or(parallelism, |completions| completions.min(parallelism))
}

fn count(field: Option<Field<'_>>) -> Option<u32> {
    field?.integer(0, i64::from(i32::MAX))
}

/// Reads a DaemonSet.
pub(crate) fn read_daemon_set(object: &Field<'_>) -> Option<DaemonSet> {
    let mut fields = object.fields()?;
    fields.ignore(&["status"]);
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    spec.ignore(DAEMON_SET);
    let template =
        spec.require("template").and_then(|field| read_template(&field, &Shape::default()));
    spec.done();
    let metadata = metadata?;
    Some(DaemonSet { key: key_of(object, &metadata)?, spec: Arc::new(template?) })
}

fn read_template(field: &Field<'_>, shape: &Shape) -> Option<PodSpec> {
    let mut fields = field.fields()?;
    let mut metadata = Metadata::default();
    if let Some(mut inner) = fields.get("metadata").and_then(|field| field.fields()) {
        inner.ignore(&["name", "namespace", "creationTimestamp", "generateName", "finalizers"]);
        metadata.labels = inner.get("labels").and_then(|f| f.text_map()).unwrap_or_default();
        metadata.annotations =
            inner.get("annotations").and_then(|f| f.text_map()).unwrap_or_default();
        inner.done();
    }
    let spec = fields.require("spec").and_then(|field| pod_spec::read(&field, &metadata, shape));
    fields.done();
    spec.map(|(spec, _)| spec)
}

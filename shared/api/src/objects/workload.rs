//! What makes pods: Deployments, StatefulSets, ReplicaSets, Jobs.

use std::sync::Arc;

use jiff::Timestamp;
use model::{
    ObjectName, PodKey, PodSpec, PodUid, pod::Owner, selector::LabelSelector, storage::PodVolume,
};

use super::{admission::NewPod, label_selector, metadata::Metadata, pod, template_rules, volume};
use crate::document::field::{Field, Fields};

const DEPLOYMENT: &[&str] =
    &["strategy", "minReadySeconds", "revisionHistoryLimit", "paused", "progressDeadlineSeconds"];
const STATEFUL_SET: &[&str] = &[
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "revisionHistoryLimit",
    "minReadySeconds",
    "persistentVolumeClaimRetentionPolicy",
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
    "podReplacementPolicy",
    "managedBy",
];

/// What makes the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` StatefulSet.
    StatefulSet,
    /// `batch/v1` Job.
    Job,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
}

impl WorkloadKind {
    /// Its name in `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::Job => "Job",
            Self::ReplicaSet => "ReplicaSet",
        }
    }

    /// Its `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Deployment | Self::StatefulSet | Self::ReplicaSet => "apps/v1",
            Self::Job => "batch/v1",
        }
    }

    /// The controller of this kind called `name`, as its pods name it.
    pub fn owner(self, name: &ObjectName) -> Owner {
        let (api_version, kind) = (self.api_version().to_owned(), self.as_str().to_owned());
        Owner { api_version, kind, name: name.to_string() }
    }
}

/// A Deployment, StatefulSet, Job or ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Which of them.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: PodKey,
    /// `metadata.uid`, or namespace and name.
    pub uid: PodUid,
    /// How many pods; of a Job how many at a time that are still to come.
    pub replicas: u32,
    /// What controls it: a ReplicaSet often has a Deployment.
    pub owner: Option<Owner>,
    /// Which pods belong together, as it says; of a Job that is not read. Whose a pod is, the pod names.
    pub selector: Option<LabelSelector>,
    /// What each pod is like.
    pub spec: Arc<PodSpec>,
    /// Volumes of each pod that are claims.
    pub volumes: Vec<PodVolume>,
    /// Of a StatefulSet: claims that each pod gets, with the storage class that they name.
    pub claim_templates: Vec<(ObjectName, Option<String>)>,
    /// Of a StatefulSet: the number of its first pod.
    pub first_ordinal: u32,
    /// Whether its pods wait for something before they are scheduled.
    pub is_gated: bool,
    /// The node that its pods name: kube-scheduler does not see them.
    pub node: Option<String>,
    /// What admission reads of its pods.
    pub new: NewPod,
    /// Whether it is being deleted: it makes no more pods.
    pub is_deleting: bool,
    /// `metadata.creationTimestamp`, if it is there.
    pub created_at: Option<Timestamp>,
}

/// Reads a Deployment, StatefulSet, ReplicaSet or Job.
pub(crate) fn read(object: &Field<'_>, kind: WorkloadKind) -> Option<Workload> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let status = fields.get("status");
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    let selector = match kind {
        WorkloadKind::Job => None,
        _ => spec.get("selector").and_then(|field| label_selector::read(&field)),
    };
    spec.ignore(match kind {
        WorkloadKind::Deployment => DEPLOYMENT,
        WorkloadKind::StatefulSet => STATEFUL_SET,
        WorkloadKind::Job => JOB,
        WorkloadKind::ReplicaSet => &["minReadySeconds"],
    });
    let replicas = match kind {
        WorkloadKind::Job => job_replicas(&mut spec, status.as_ref()),
        _ => count(spec.get("replicas")).unwrap_or(1),
    };
    let templates =
        if kind == WorkloadKind::StatefulSet { claim_templates(&mut spec) } else { vec![] };
    let first_ordinal = match kind {
        WorkloadKind::StatefulSet => first_ordinal(&mut spec),
        _ => 0,
    };
    let template = spec.require("template").and_then(|field| pod::read_template(&field));
    spec.done();
    let is_job = kind == WorkloadKind::Job;
    template_rules::check_restart_policy(object, is_job);
    if kind == WorkloadKind::StatefulSet {
        template_rules::check_name_of_stateful_set(object);
    }
    if let (false, Some(template)) = (is_job, &template) {
        template_rules::check_selector(object, selector.as_ref(), &template.spec);
    }
    let (metadata, template) = (metadata?, template?);
    let key = metadata.key(object)?;
    let uid = metadata.uid.clone().unwrap_or_else(|| key.to_string());
    Some(Workload {
        kind,
        uid: object.at("metadata").at("uid").accept(PodUid::new(&uid))?,
        key,
        replicas,
        owner: metadata.owner,
        selector,
        spec: Arc::new(template.spec),
        volumes: template.volumes,
        claim_templates: templates,
        first_ordinal,
        is_gated: template.is_gated,
        node: template.node,
        new: template.new,
        is_deleting: metadata.deleted_at.is_some(),
        created_at: metadata.created_at,
    })
}

fn claim_templates(spec: &mut Fields<'_>) -> Vec<(ObjectName, Option<String>)> {
    let items = spec.get("volumeClaimTemplates").and_then(|field| field.list());
    items.unwrap_or_default().iter().filter_map(volume::claim_template).collect()
}

fn first_ordinal(spec: &mut Fields<'_>) -> u32 {
    let ordinals = spec.get("ordinals").and_then(|field| field.fields());
    ordinals.and_then(|mut ordinals| count(ordinals.get("start"))).unwrap_or_default()
}

/// Pods of a Job at a time: `parallelism`, but no more than `completions` that are still to come.
/// None when it is suspended or over.
fn job_replicas(spec: &mut Fields<'_>, status: Option<&Field<'_>>) -> u32 {
    let parallelism = count(spec.get("parallelism")).unwrap_or(1);
    let completions = count(spec.get("completions"));
    let is_suspended = spec.get("suspend").and_then(|field| field.boolean()).unwrap_or_default();
    let mut status = status.and_then(Field::fields);
    let mut member = |key: &'static str| status.as_mut().and_then(|status| status.get(key));
    let succeeded = count(member("succeeded")).unwrap_or_default();
    let is_over = member("completionTime").is_some();
    let is_of_queue = completions.is_none() && succeeded > 0;
    if is_suspended || is_over || is_of_queue {
        return 0;
    }
    completions.map_or(parallelism, |number| number.saturating_sub(succeeded).min(parallelism))
}

fn count(field: Option<Field<'_>>) -> Option<u32> {
    field?.integer(0, i64::from(i32::MAX))
}

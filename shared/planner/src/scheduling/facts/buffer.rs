//! CapacityBuffers: the pods that do not exist and that keep room for those that will.
//!
//! Looking up templates and workloads is the reader's: a buffer comes with the pods that it stands
//! for.
//!
//! Karpenter: `pkg/controllers/capacitybuffer` and `pkg/utils/buffers`.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use model::{
    Condition, ConditionKind, ConditionReason, ObjectName, Plan, Pod, PodKey, PodSpec, PodUid,
    buffer::{BufferStatus, BufferTarget, CapacityBuffer, ObservedBuffer, Reference},
    duration::later,
    facts::Facts,
    limits::PODS_PER_PLAN_MAX,
    words,
};

/// Annotation, `true` on pods that only stand for a buffer.
const FAKE_POD: &str = "karpenter.sh/capacity-buffer-fake-pod";
/// Annotation: the buffer that a pod stands for.
const BUFFER_NAME: &str = "karpenter.sh/capacity-buffer-name";
/// Annotation: the namespace of that buffer.
const BUFFER_NAMESPACE: &str = "karpenter.sh/capacity-buffer-namespace";

/// The pods that all buffers stand for, behind the gate `CapacityBuffer`: `NAMESPACE/
/// capacity-buffer-BUFFER-N` with N from 1. They are placed like pods that wait, and are not to be
/// validated, nominated or reported as anybody's workload.
///
/// At most as many as one plan considers; buffers behind those get none.
#[must_use]
pub fn virtual_pods(facts: &Facts) -> Vec<Pod> {
    if !facts.policies.capacity_buffer {
        return Vec::new();
    }
    let buffers = facts.surroundings.capacity_buffers.iter();
    buffers.flat_map(|buffer| pods_of(buffer, facts.now)).take(PODS_PER_PLAN_MAX).collect()
}

fn pods_of(buffer: &CapacityBuffer, now: Timestamp) -> impl Iterator<Item = Pod> {
    let spec = spec_of(buffer).map(|spec| Arc::new(marked(spec, buffer)));
    let count = if spec.is_some() { replicas(buffer) } else { 0 };
    (1..=count).filter_map(move |number| {
        let (key, uid) = names(buffer, number)?;
        let pod = Pod::waiting(key, uid, Arc::clone(spec.as_ref()?), now);
        // Of a pod and a buffer that ask for the same the pod comes first, also one that is new.
        Some(Pod { created_at: later(now, SignedDuration::from_nanos(1)), ..pod })
    })
}

fn spec_of(buffer: &CapacityBuffer) -> Option<&PodSpec> {
    match &buffer.target {
        BufferTarget::Template(spec) | BufferTarget::Workload(spec, _) => Some(spec),
        BufferTarget::Missing(_) => None,
    }
}

fn names(buffer: &CapacityBuffer, number: u64) -> Option<(PodKey, PodUid)> {
    let name = ObjectName::new(&format!("capacity-buffer-{}-{number}", buffer.name)).ok()?;
    let uid = PodUid::new(&format!("{}-{number}", buffer.uid)).ok()?;
    Some((PodKey { namespace: buffer.namespace.clone(), name }, uid))
}

/// The template's spec with the marks of a buffer, and below everything else in priority.
fn marked(spec: &PodSpec, buffer: &CapacityBuffer) -> PodSpec {
    let mut pod_spec = spec.clone();
    pod_spec.priority = i32::MIN;
    let marks = [
        (FAKE_POD, "true"),
        (BUFFER_NAME, buffer.name.as_str()),
        (BUFFER_NAMESPACE, buffer.namespace.as_str()),
    ];
    pod_spec.annotations.extend(marks.map(|(key, value)| (key.to_owned(), value.to_owned())));
    pod_spec
}

/// For how many pods a buffer stands: the larger of its replicas and its share of the workload, at
/// most what its limits allow; with limits alone, what they allow. Of a workload without replicas there is no share.
pub fn replicas(buffer: &CapacityBuffer) -> u64 {
    let Some(spec) = spec_of(buffer) else { return 0 };
    let share = match (&buffer.target, buffer.percentage) {
        (BufferTarget::Workload(_, replicas), Some(percentage)) if 0 < *replicas => {
            Some((u64::from(*replicas) * u64::from(percentage)).div_ceil(100))
        }
        _ => None,
    };
    let allowed = allowed(spec, buffer);
    match buffer.replicas.map(u64::from).max(share) {
        Some(wanted) => wanted.min(allowed.unwrap_or(u64::MAX)),
        None => allowed.unwrap_or(0),
    }
}

/// How many pods fit into the limits; `None` when no limit is about what a pod requests.
fn allowed(spec: &PodSpec, buffer: &CapacityBuffer) -> Option<u64> {
    let limits = buffer.limits.iter();
    limits.filter_map(|(name, limit)| limit.checked_div(spec.requests.get(name.as_str()))).min()
}

/// What became of the pods of a buffer in a plan.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// Number of pods with room on nodes and claims that are there.
    fitting: u64,
    /// Number of pods for which a claim is created.
    needing_claims: u64,
    /// Number of pods that find no place.
    unplaced: u64,
}

/// What the status of each buffer of `observed` has to say after `plan`, which answers `facts`; buffers that say it
/// already are left out.
///
/// Karpenter: `pkg/controllers/capacitybuffer/controller.go` and `pkg/controllers/provisioning/buffers.go`.
#[must_use]
pub fn buffer_statuses<'o>(
    facts: &Facts,
    plan: &Plan,
    observed: &'o [ObservedBuffer],
) -> Vec<(&'o ObservedBuffer, BufferStatus)> {
    if !facts.policies.capacity_buffer {
        return Vec::new();
    }
    let outcomes = outcomes(facts, plan);
    let news = observed.iter().filter_map(|observed| {
        let key = &observed.key;
        let mut buffers = facts.surroundings.capacity_buffers.iter();
        let buffer = buffers.find(|b| (&b.namespace, &b.name) == (&key.namespace, &key.name))?;
        let status = status_of(buffer, observed, outcomes.get(key).copied());
        let is_news = observed.status_generation != Some(observed.generation)
            || !says(&observed.status, &status);
        is_news.then_some((observed, status))
    });
    news.collect()
}

/// Whether `stored` says all that `status` says.
fn says(stored: &BufferStatus, status: &BufferStatus) -> bool {
    let is_stored = |wanted: &Condition| {
        let is_same = |known: &Condition| {
            let Condition { kind, status, reason, message } = known;
            (*kind, *status, reason.as_str(), message.as_str())
                == (wanted.kind, wanted.status, wanted.reason.as_str(), wanted.message.as_str())
        };
        stored.conditions.iter().any(is_same)
    };
    let BufferStatus { replicas, template, strategy, conditions } = status;
    (replicas, template, strategy) == (&stored.replicas, &stored.template, &stored.strategy)
        && conditions.iter().all(is_stored)
}

fn outcomes(facts: &Facts, plan: &Plan) -> BTreeMap<PodKey, Outcome> {
    let marked = |pod: Pod| {
        let mark = |key| pod.spec.annotations.get(key);
        let name = ObjectName::new(mark(BUFFER_NAME)?).ok()?;
        let namespace = pod.key.namespace.clone();
        Some((pod.key, PodKey { namespace, name }))
    };
    let buffers: BTreeMap<PodKey, PodKey> =
        virtual_pods(facts).into_iter().filter_map(marked).collect();
    let mut outcomes: BTreeMap<PodKey, Outcome> = BTreeMap::new();
    let mut count = |pod: &PodKey, add: fn(&mut Outcome)| {
        if let Some(buffer) = buffers.get(pod) {
            add(outcomes.entry(buffer.clone()).or_default());
        }
    };
    for pod in plan.placements.iter().flat_map(|placement| &placement.pods) {
        count(pod, |outcome| outcome.fitting += 1);
    }
    for pod in plan.new_claims.iter().flat_map(|new| &new.claim.pods) {
        count(pod, |outcome| outcome.needing_claims += 1);
    }
    for unplaced in &plan.unplaced {
        count(&unplaced.pod, |outcome| outcome.unplaced += 1);
    }
    outcomes
}

/// If the pods of the buffer are not known, what its status says of an earlier spec remains.
fn status_of(
    buffer: &CapacityBuffer,
    observed: &ObservedBuffer,
    outcome: Option<Outcome>,
) -> BufferStatus {
    let (ready, provisioning) = (ConditionKind::ReadyForProvisioning, ConditionKind::Provisioning);
    let strategy = observed.strategy.clone();
    if let BufferTarget::Missing(why) = &buffer.target {
        let reason = match &observed.refers_to {
            Reference::Template(..) => ConditionReason::PodTemplateNotFound,
            Reference::Workload => ConditionReason::ScalableRefNotFound,
            Reference::Unusable => ConditionReason::ResolutionFailed,
        };
        let unready = ConditionReason::NotReadyForProvisioning;
        let conditions = vec![
            Condition::fails(ready, reason, why),
            Condition::fails(provisioning, unready, "the pods of the buffer are not known"),
        ];
        return BufferStatus { strategy, conditions, ..observed.status.clone() };
    }
    let replicas = replicas(buffer);
    let resolved = Condition {
        kind: ready,
        status: Some(true),
        reason: ConditionReason::Resolved,
        message: "the pods of the buffer are known".to_owned(),
    };
    let conditions = [Some(resolved), provisioned(replicas, outcome)];
    BufferStatus {
        replicas: Some(u32::try_from(replicas).unwrap_or(u32::MAX)),
        template: match &observed.refers_to {
            Reference::Template(name, Some(generation)) => Some((name.clone(), *generation)),
            _ => None,
        },
        strategy,
        conditions: conditions.into_iter().flatten().collect(),
    }
}

fn pods(number: u64) -> String {
    words::counted(usize::try_from(number).unwrap_or(usize::MAX), "pod")
}

/// The condition `Provisioning`; `None` if the plan was not about all pods of the buffer.
fn provisioned(replicas: u64, outcome: Option<Outcome>) -> Option<Condition> {
    let kind = ConditionKind::Provisioning;
    if replicas == 0 {
        let reason = ConditionReason::BufferEmpty;
        return Some(Condition::fails(kind, reason, "the buffer asks for no pod"));
    }
    let Outcome { fitting, needing_claims, unplaced } = outcome?;
    if 0 < needing_claims + unplaced {
        let message = format!(
            "of {} {fitting} can be scheduled on nodes that are there, {needing_claims} on new nodes, and {unplaced} \
             cannot be scheduled",
            pods(replicas)
        );
        return Some(Condition::fails(kind, ConditionReason::RequiresNewCapacity, message));
    }
    (fitting == replicas).then(|| Condition {
        kind,
        status: Some(true),
        reason: ConditionReason::FitsExistingCapacity,
        message: format!("room for {} on nodes that are there", pods(replicas)),
    })
}

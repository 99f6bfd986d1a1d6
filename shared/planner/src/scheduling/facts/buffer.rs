//! CapacityBuffers: the pods that do not exist and that keep room for those that will.
//!
//! Looking up templates and workloads is the reader's: a buffer comes with the pods that it stands
//! for.
//!
//! Karpenter: `pkg/controllers/capacitybuffer` and `pkg/utils/buffers`.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    ObjectName, Pod, PodKey, PodSpec, PodUid,
    buffer::{BufferTarget, CapacityBuffer},
    duration::later,
    facts::Facts,
    limits::PODS_PER_PLAN_MAX,
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

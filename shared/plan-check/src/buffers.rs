//! The pods that CapacityBuffers stand for (specification §10.2), so that the judge knows them.

use std::sync::Arc;

use model::{
    Pod, PodKey, PodSpec,
    buffer::{BufferTarget, CapacityBuffer},
    facts::Facts,
    limits::PODS_PER_PLAN_MAX,
};

/// All of them; none behind a closed gate.
pub(crate) fn pods(facts: &Facts) -> Vec<Pod> {
    let mut pods = Vec::new();
    let is_open = facts.policies.capacity_buffer;
    for buffer in facts.surroundings.capacity_buffers.iter().filter(|_| is_open) {
        let (spec, workload) = match &buffer.target {
            BufferTarget::Template(spec) => (spec, None),
            BufferTarget::Workload(spec, replicas) => (spec, Some(*replicas)),
            BufferTarget::Missing(_) => continue,
        };
        let mut number = 1;
        while number <= count(buffer, spec, workload) && pods.len() < PODS_PER_PLAN_MAX {
            pods.extend(one(facts, buffer, spec, number));
            number += 1;
        }
    }
    pods
}

fn count(buffer: &CapacityBuffer, spec: &PodSpec, workload: Option<u32>) -> u64 {
    let mut wanted = buffer.replicas.map(u64::from);
    // Of a workload without replicas there is no share.
    let workload = workload.filter(|replicas| 0 < *replicas);
    if let (Some(replicas), Some(percentage)) = (workload, buffer.percentage) {
        let share = u64::from(replicas).saturating_mul(u64::from(percentage)).div_ceil(100);
        wanted = Some(wanted.unwrap_or(0).max(share));
    }
    let mut cap = None;
    for (name, amount) in spec.requests.iter() {
        let limit = buffer.limits.iter().find(|(limited, _)| limited.as_str() == name);
        if let Some((_, limit)) = limit {
            cap = Some(cap.unwrap_or(u64::MAX).min(limit / amount));
        }
    }
    match (wanted, cap) {
        (Some(wanted), Some(cap)) => wanted.min(cap),
        (Some(number), None) | (None, Some(number)) => number,
        (None, None) => 0,
    }
}

fn one(facts: &Facts, buffer: &CapacityBuffer, spec: &Arc<PodSpec>, number: u64) -> Option<Pod> {
    let name = format!("capacity-buffer-{}-{number}", buffer.name).parse().ok()?;
    let key = PodKey { namespace: buffer.namespace.clone(), name };
    let uid = format!("{}-{number}", buffer.uid).parse().ok()?;
    Some(Pod::waiting(key, uid, Arc::clone(spec), facts.now))
}

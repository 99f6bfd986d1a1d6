//! Which nodes each method looks at.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,drift,staticdrift,consolidation}.go`,
//! `ShouldDisrupt`.

use model::{disruption::Method, node_pool::ConsolidationPolicy};

use super::{candidate::Candidate, conditions, nodes::State};

/// Why `method` does not look at `candidate`, if so.
pub(crate) fn objection(
    state: &State<'_>,
    method: Method,
    candidate: &Candidate<'_>,
) -> Option<String> {
    if let Some(reason) = candidate.blocked_for(method) {
        return Some(reason.to_owned());
    }
    let is_static = candidate.pool.replicas.is_some();
    match method {
        Method::StaticDrift if !is_static => Some(not_static(candidate)),
        Method::StaticDrift => not_drifted(state, candidate),
        _ if is_static => Some(format!("NodePool {} is static", candidate.pool.name)),
        Method::Drift => not_drifted(state, candidate),
        Method::Emptiness => not_idle(state, candidate),
        Method::MultiNode | Method::SingleNode => not_comparable(state, candidate),
    }
}

fn not_static(candidate: &Candidate<'_>) -> String {
    format!("NodePool {} is not static", candidate.pool.name)
}

fn not_drifted(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let drift = conditions::drift(state, &state.nodes[candidate.number], candidate.pool);
    drift.is_none().then(|| "it has not drifted".to_owned())
}

fn not_idle(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let pool = candidate.pool;
    if pool.disruption.consolidate_after.is_none() {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    }
    if state.hosts_buffers.contains(&candidate.node.name) {
        return Some("room for a CapacityBuffer is kept on it".to_owned());
    }
    if !candidate.is_empty() {
        let count = candidate.pods.len();
        return Some(format!("{} would need another node", super::counted(count, "pod")));
    }
    conditions::not_consolidatable(state, candidate).or_else(|| {
        // What is noted is since when no pod would need another node, whatever that pod costs.
        let is_used = !state.is_watched && !candidate.pods.is_empty();
        is_used.then(|| "pods run on it, if cheap to move".to_owned())
    })
}

fn not_comparable(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let pool = candidate.pool;
    if candidate.instance_type.is_none() {
        return Some("its instance type is not known, so neither is its price".to_owned());
    }
    if candidate.capacity_type.is_none() {
        return Some("it has no label karpenter.sh/capacity-type".to_owned());
    }
    if !candidate.has_zone {
        return Some("it has no label topology.kubernetes.io/zone".to_owned());
    }
    if pool.disruption.consolidate_after.is_none() {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    }
    if candidate.is_empty() {
        return Some("it is empty: emptiness looks after it".to_owned());
    }
    if pool.disruption.policy == ConsolidationPolicy::WhenEmpty {
        return Some(format!("NodePool {} gives up only empty nodes", pool.name));
    }
    conditions::not_consolidatable(state, candidate)
}

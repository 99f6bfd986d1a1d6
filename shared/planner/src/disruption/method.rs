//! Which nodes each method looks at.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,drift,staticdrift,consolidation}.go`,
//! `ShouldDisrupt`.

use model::{disruption::Method, labels, node_pool::ConsolidationPolicy};

use super::{candidate::Candidate, conditions, nodes::State, objection::Objection};

/// Why `method` does not look at `candidate`, if so.
pub(crate) fn objection(
    state: &State<'_>,
    method: Method,
    candidate: &Candidate<'_>,
) -> Option<Objection> {
    if method == Method::Repair {
        return candidate.due.is_none().then_some(Objection::NotIll);
    }
    if let Some(reason) = &candidate.refused {
        return Some(reason.clone());
    }
    if let Some(reason) = candidate.blocked_for(method) {
        return Some(reason.clone().into());
    }
    let specific = of_method(state, method, candidate);
    specific.or_else(|| state.history.objection(method, candidate))
}

/// What only `method` asks.
fn of_method(state: &State<'_>, method: Method, candidate: &Candidate<'_>) -> Option<Objection> {
    let is_static = candidate.pool.replicas.is_some();
    match method {
        Method::Repair => None,
        Method::StaticDrift if !is_static => {
            Some(Objection::NotStatic(candidate.pool.name.clone()))
        }
        Method::StaticDrift => not_drifted(state, candidate),
        _ if is_static => Some(Objection::Static(candidate.pool.name.clone())),
        Method::Drift => not_drifted(state, candidate),
        Method::Emptiness => not_idle(state, candidate),
        Method::MultiNode | Method::SingleNode => not_comparable(state, candidate),
    }
}

fn not_drifted(state: &State<'_>, candidate: &Candidate<'_>) -> Option<Objection> {
    let drift = conditions::drift(state, &state.nodes[candidate.number], candidate.pool);
    drift.is_none().then_some(Objection::NotDrifted)
}

fn not_idle(state: &State<'_>, candidate: &Candidate<'_>) -> Option<Objection> {
    let pool = candidate.pool;
    if pool.disruption.consolidate_after.is_none() {
        return Some(Objection::NeverConsolidated(pool.name.clone()));
    }
    if state.hosts_buffers.contains(&candidate.node.name) {
        return Some(Objection::KeepsRoom);
    }
    if !candidate.is_empty() {
        return Some(Objection::Used(candidate.pods.len()));
    }
    conditions::not_consolidatable(state, candidate).or_else(|| {
        // What is noted is since when no pod would need another node, whatever that pod costs.
        let is_used = !state.is_watched && !candidate.pods.is_empty();
        is_used.then_some(Objection::CheaplyUsed)
    })
}

fn not_comparable(state: &State<'_>, candidate: &Candidate<'_>) -> Option<Objection> {
    let pool = candidate.pool;
    if candidate.instance_type.is_none() {
        return Some(Objection::UnknownInstanceType);
    }
    if candidate.capacity_type.is_none() {
        return Some(Objection::NoLabel(labels::CAPACITY_TYPE));
    }
    if !candidate.has_zone {
        return Some(Objection::NoLabel(labels::ZONE));
    }
    if pool.disruption.consolidate_after.is_none() {
        return Some(Objection::NeverConsolidated(pool.name.clone()));
    }
    if candidate.is_empty() {
        let keeps_room = state.hosts_buffers.contains(&candidate.node.name);
        return Some(if keeps_room { Objection::KeepsRoom } else { Objection::Empty });
    }
    if pool.disruption.policy == ConsolidationPolicy::WhenEmpty {
        return Some(Objection::OnlyWhenEmpty(pool.name.clone()));
    }
    conditions::not_consolidatable(state, candidate)
}

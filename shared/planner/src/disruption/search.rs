//! What each method would do on one state of the cluster, before any delay.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,drift,staticdrift}.go`, `ComputeCommands`.

use std::collections::BTreeMap;

use model::{NodePoolName, ResourceName, disruption::Method};

use super::{
    balanced::Totals,
    budgets::Remaining,
    candidate::{self, Candidate},
    conditions, method,
    nodes::State,
    objection::Objection,
    simulation::{Mode, Outcome, Simulator},
};
use crate::index::{
    id::{CandidateId, NodeId, kind},
    table::Table,
};

/// Candidates that would go together, and what would become of
/// their pods.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) nodes: Vec<CandidateId>,
    pub(crate) outcome: Outcome,
}

/// Why candidates are left alone.
pub(crate) type Notes = BTreeMap<CandidateId, Objection>;

/// Every node that could be given up, and what has to be known about all of them.
#[derive(Debug)]
pub(crate) struct Field<'a> {
    pub(crate) candidates: Table<kind::Candidate, Candidate<'a>>,
    pub(crate) totals: Totals<'a>,
    /// Why the other nodes are none.
    pub(crate) others: BTreeMap<NodeId, Objection>,
}

impl<'a> Field<'a> {
    pub(crate) fn of(state: &State<'a>) -> Self {
        let mut candidates = Table::default();
        let mut others = BTreeMap::new();
        for (number, entry) in state.nodes.entries() {
            match candidate::candidate(state, number, entry) {
                Ok(candidate) => drop(candidates.push(candidate)),
                Err(reason) => drop(others.insert(number, reason)),
            }
        }
        let totals = Totals::of(state, &candidates);
        Self { candidates, totals, others }
    }

    /// The candidates that `method` looks at, and why not the others.
    pub(crate) fn eligible(&self, state: &State<'a>, method: Method) -> (Vec<CandidateId>, Notes) {
        let mut eligible = Vec::new();
        let mut notes = Notes::new();
        for (id, candidate) in self.candidates.entries() {
            match method::objection(state, method, candidate) {
                None => eligible.push(id),
                Some(reason) => drop(notes.insert(id, reason)),
            }
        }
        (eligible, notes)
    }

    /// The candidates `ids`, what saves most for what moving its pods costs first.
    pub(crate) fn by_savings(&self, ids: &[CandidateId]) -> Vec<CandidateId> {
        let mut sorted = ids.to_vec();
        let candidates = &self.candidates;
        sorted.sort_by(|a, b| candidate::by_savings(&candidates[*a], &candidates[*b]));
        sorted
    }

    pub(crate) fn get(&self, ids: &[CandidateId]) -> Vec<&Candidate<'a>> {
        ids.iter().map(|id| &self.candidates[*id]).collect()
    }
}

/// As many of `sorted` as the budgets allow, in their order.
pub(crate) fn within_budgets(
    field: &Field<'_>,
    sorted: &[CandidateId],
    remaining: &mut Remaining<'_>,
    notes: &mut Notes,
) -> Vec<CandidateId> {
    let mut kept = Vec::new();
    for at in sorted {
        if remaining.take(&field.candidates[*at].pool.name) {
            kept.push(*at);
        } else {
            notes.insert(*at, Objection::BudgetSpent);
        }
    }
    kept
}

/// Every empty node that the budgets allow, at once.
pub(crate) fn emptiness(
    state: &State<'_>,
    field: &Field<'_>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Option<Draft> {
    let mut remaining = Remaining::of(state, Method::Emptiness.reason());
    let nodes = within_budgets(field, &field.by_savings(eligible), &mut remaining, notes);
    (!nodes.is_empty()).then(|| Draft { nodes, outcome: Outcome::default() })
}

/// The first drifted node whose pods all find a place: what drifted first, and before that what has
/// no pods.
pub(crate) fn drift<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Result<Option<Draft>, Objection> {
    let remaining = Remaining::of(state, Method::Drift.reason());
    let mut sorted: Vec<(bool, jiff::Timestamp, CandidateId)> = Vec::new();
    for at in eligible {
        let candidate = &field.candidates[*at];
        let drift = conditions::drift(state, &state.nodes[candidate.number], candidate.pool);
        let Some((since, _)) = drift else { continue };
        sorted.push((!candidate.pods.is_empty(), since, *at));
    }
    sorted.sort_unstable();
    for (_, _, at) in sorted {
        let candidate = &field.candidates[at];
        if remaining.is_spent(&candidate.pool.name) {
            notes.insert(at, Objection::BudgetSpent);
            continue;
        }
        let outcome = simulator.without(&[candidate], Mode::Drift)?;
        match outcome.stuck {
            Some(reason) => drop(notes.insert(at, Objection::Stuck(Box::new(reason)))),
            None if !state.launches && !outcome.in_flight.is_empty() => {
                notes.insert(at, Objection::NoLaunchForDrift);
            }
            None => return Ok(Some(Draft { nodes: vec![at], outcome })),
        }
    }
    Ok(None)
}

/// As many drifted nodes of each static pool as its budgets and its limit of nodes allow.
pub(crate) fn static_drift(
    state: &State<'_>,
    field: &Field<'_>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Option<Draft> {
    let remaining = Remaining::of(state, Method::StaticDrift.reason());
    let mut by_pool: BTreeMap<&NodePoolName, Vec<CandidateId>> = BTreeMap::new();
    for at in eligible {
        by_pool.entry(&field.candidates[*at].pool.name).or_default().push(*at);
    }
    let mut nodes = Vec::new();
    for (pool, candidates) in by_pool {
        let granted = match granted(state, pool, &remaining, candidates.len()) {
            Ok(granted) => granted,
            Err(reason) => {
                notes.extend(candidates.iter().map(|at| (*at, reason.clone())));
                continue;
            }
        };
        let (go, stay) = candidates.split_at(granted.min(candidates.len()));
        nodes.extend_from_slice(go);
        notes.extend(stay.iter().map(|at| (*at, Objection::NoRoomInNodePool)));
    }
    (!nodes.is_empty()).then(|| Draft { nodes, outcome: Outcome::default() })
}

/// How many of `wanted` nodes of a static pool may be replaced now.
fn granted(
    state: &State<'_>,
    name: &NodePoolName,
    remaining: &Remaining<'_>,
    wanted: usize,
) -> Result<usize, Objection> {
    let Some(pool) = state.pool(name.as_str()) else { return Ok(0) };
    let left = remaining.left(name).map_or(wanted, |left| usize::try_from(left).unwrap_or(wanted));
    if left == 0 {
        return Err(Objection::BudgetSpent);
    }
    let filter = state.facts.ledger.claims.values().filter(|claim| claim.node_pool == *name);
    let (mut active, mut deleting) = (0_u64, 0_u64);
    for claim in filter {
        let is_going = claim.is_deleting() || claim.conditions.is_instance_terminating;
        *(if is_going { &mut deleting } else { &mut active }) += 1;
    }
    if pool.replicas.is_some_and(|replicas| replicas < active) {
        return Err(Objection::ScalesDown);
    }
    let nodes = ResourceName::new("nodes").ok();
    let limit = nodes.and_then(|nodes| pool.limits.0.get(&nodes).copied());
    let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(active + deleting));
    Ok(wanted.min(left).min(usize::try_from(room).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests;

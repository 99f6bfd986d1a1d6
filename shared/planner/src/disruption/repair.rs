//! The one ill node that goes: the one that has been due the longest and whose pods find a place.
//!
//! Karpenter 1.15: `pkg/controllers/disruption/repair.go`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use jiff::SignedDuration;
use model::{disruption::Method, labels, node::IllCondition, repair};

use super::{
    budgets::Remaining,
    candidate::Candidate,
    nodes::State,
    objection::Objection,
    search::{CommandDraft, Field, Notes, dynamic, may_refill, room},
    simulation::{Mode, Simulator},
};
use crate::index::id::CandidateId;

/// Maximum share of a pool's nodes in per cent that may be unhealthy, due or not. Above it none is repaired: what
/// makes that many unhealthy is nothing that a new node would cure.
const ILL_PERCENT_MAX: usize = 20;

/// The first ill node that may go, with what comes in its place.
pub(crate) fn repair<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Result<Option<CommandDraft>, Objection> {
    let remaining = Remaining::of(state, Method::Repair.reason());
    let broken = broken_pools(state);
    let goes_first = state.facts.policies.terminate_first_repair;
    let mut sorted = eligible.to_vec();
    sorted.sort_by_cached_key(|at| {
        let candidate = &field.candidates[*at];
        (Reverse(due_for(state, candidate)), candidate.cost, &candidate.node.name)
    });
    for at in sorted {
        let candidate = &field.candidates[at];
        let pool = &candidate.pool.name;
        // One that never came up takes nothing of a budget.
        let needs_budget = candidate.node.is_initialized();
        if broken.contains(pool.as_str()) {
            notes.insert(at, Objection::ManyIll(pool.clone()));
        } else if needs_budget && remaining.is_spent(pool) {
            notes.insert(at, remaining.objection(pool));
        } else if candidate.is_to_be_rebooted() {
            return Ok(Some(CommandDraft { reboots: true, ..CommandDraft::of(vec![at]) }));
        } else if candidate.pool.replicas.is_some() {
            match of_static_pool(state, candidate, goes_first) {
                Ok(is_first) => {
                    return Ok(Some(CommandDraft { is_first, ..CommandDraft::of(vec![at]) }));
                }
                Err(objection) => drop(notes.insert(at, objection)),
            }
        } else if simulator.is_used_up() {
            notes.insert(at, Objection::NotReached);
        } else {
            match dynamic(simulator, candidate, (Mode::Repair, goes_first))? {
                Ok((outcome, is_first)) => {
                    let draft = CommandDraft { outcome, is_first, ..CommandDraft::of(vec![at]) };
                    return Ok(Some(draft));
                }
                Err(objection) => drop(notes.insert(at, objection)),
            }
        }
    }
    Ok(None)
}

/// For how long the candidate has been due. All policies have one priority: nothing else counts.
fn due_for(state: &State<'_>, candidate: &Candidate<'_>) -> SignedDuration {
    let due = candidate.due.as_ref();
    due.map_or(SignedDuration::ZERO, |due| state.now.duration_since(due.since))
}

/// The pools of which too many nodes are ill.
fn broken_pools<'a>(state: &State<'a>) -> BTreeSet<&'a str> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for node in state.facts.nodes.values() {
        let Some(pool) = node.labels.get(labels::NODE_POOL) else { continue };
        let (nodes, ill) = counts.entry(pool).or_default();
        *nodes += 1;
        let is_about =
            |condition: &IllCondition| repair::is_about(&condition.kind, condition.status);
        let is_ill = node.ill_conditions.iter().any(is_about);
        *ill += usize::from(is_ill);
    }
    let broken = counts.into_iter().filter(|(_, (nodes, ill))| {
        let allowed = nodes.saturating_mul(ILL_PERCENT_MAX).div_ceil(100);
        allowed < *ill
    });
    broken.map(|(pool, _)| pool).collect()
}

/// Whether a node of a static pool goes before its replacement is there; or why it stays.
fn of_static_pool(
    state: &State<'_>,
    candidate: &Candidate<'_>,
    goes_first: bool,
) -> Result<bool, Objection> {
    match room(state, candidate.pool)? {
        0 if goes_first && may_refill(state, candidate.pool) => Ok(true),
        0 => Err(Objection::AtNodeLimit),
        _ => Ok(false),
    }
}

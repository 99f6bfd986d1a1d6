//! One node at a time, the pools taking turns.
//!
//! Karpenter: `pkg/controllers/disruption/singlenodeconsolidation.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodePoolName, disruption::Method};

use super::{
    budgets::Remaining,
    multi,
    nodes::State,
    objection::Objection,
    search::{CommandDraft, Field, Notes},
    simulation::Simulator,
};
use crate::index::id::CandidateId;

/// What a look at single nodes found.
#[derive(Debug, Default)]
pub(crate) struct Single {
    pub(crate) draft: Option<CommandDraft>,
    /// Pools that were not reached before the work was used up: they come first next time.
    pub(crate) unseen: BTreeSet<NodePoolName>,
}

/// The first node that can go for less.
pub(crate) fn single_node<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    (eligible, first): (&[CandidateId], &BTreeSet<NodePoolName>),
    notes: &mut Notes,
) -> Single {
    let remaining = Remaining::of(state, Method::SingleNode.reason());
    let order = in_turns(field, &field.by_savings(eligible), first);
    let mut unseen: BTreeSet<NodePoolName> =
        field.get(&order).iter().map(|candidate| candidate.pool.name.clone()).collect();
    for at in order {
        let candidate = &field.candidates[at];
        if simulator.is_used_up() {
            notes.insert(at, Objection::NotReached);
            continue;
        }
        unseen.remove(&candidate.pool.name);
        if remaining.is_spent(&candidate.pool.name) {
            notes.insert(at, remaining.objection(&candidate.pool.name));
            continue;
        }
        if !field.totals.may_approve(candidate) {
            notes.insert(at, Objection::Score);
            continue;
        }
        match multi::together(state, simulator, field, &[at]) {
            Ok(outcome) => {
                return Single {
                    draft: Some(CommandDraft { outcome, ..CommandDraft::of(vec![at]) }),
                    ..Single::default()
                };
            }
            Err(objection) => {
                let is_wait = is_of_new_nodes(&objection)
                    && simulator.fits_once_settled(candidate, state.now);
                let objection = if is_wait { Objection::OthersUnsettled } else { objection };
                notes.insert(at, objection);
            }
        }
    }
    Single { unseen, ..Single::default() }
}

/// Whether `objection` is about what would be launched, or about that nothing can be.
const fn is_of_new_nodes(objection: &Objection) -> bool {
    matches!(
        objection,
        Objection::Stuck(_)
            | Objection::ManyNodes(_)
            | Objection::NotCheaper(_)
            | Objection::SavesLittle(_)
            | Objection::MinValues
            | Objection::SpotGate
            | Objection::FewSpotTypes(_)
            | Objection::SameType
    )
}

/// The best of every pool, then the second best: pools in `first` lead, the others follow in the
/// order of their best.
fn in_turns(
    field: &Field<'_>,
    sorted: &[CandidateId],
    first: &BTreeSet<NodePoolName>,
) -> Vec<CandidateId> {
    let mut pools: Vec<&NodePoolName> = Vec::new();
    let mut turns: BTreeMap<&NodePoolName, Vec<CandidateId>> = BTreeMap::new();
    for at in sorted {
        let pool = &field.candidates[*at].pool.name;
        let candidates = turns.entry(pool).or_default();
        if candidates.is_empty() {
            pools.push(pool);
        }
        candidates.push(*at);
    }
    pools.sort_by_key(|pool| !first.contains(*pool));
    let longest = turns.values().map(Vec::len).max().unwrap_or_default();
    let of_turn = |turn: usize| {
        let turns = &turns;
        pools
            .iter()
            .filter_map(move |pool| turns.get(*pool)?.get(turn).copied())
            .collect::<Vec<_>>()
    };
    (0..longest).flat_map(of_turn).collect()
}

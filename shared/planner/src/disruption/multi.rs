//! Several nodes at once: the longest run of the best candidates that can go together.
//!
//! Karpenter: `pkg/controllers/disruption/multinodeconsolidation.go`.

use model::disruption::Method;

use super::{
    budgets::Remaining,
    candidate::Candidate,
    consolidation,
    nodes::State,
    objection::Objection,
    packed,
    price::{self, Exact},
    search::{CommandDraft, Field, Notes, within_budgets},
    simulation::{Simulated, Simulator},
};
use crate::index::id::CandidateId;

/// Candidates that are looked at together at most. The search may reach one more.
///
/// Karpenter: `multinodeconsolidation.go`, `MaxParallelConsolidation`.
const NODES_MAX: usize = 100;

/// The longest prefix of the candidates, best first, that a binary search finds to be possible.
pub(crate) fn multi_node<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Result<Option<CommandDraft>, Objection> {
    let mut remaining = Remaining::of(state, Method::MultiNode.reason());
    let sorted = within_budgets(field, &field.by_savings(eligible), &mut remaining, notes);
    if sorted.len() < 2 {
        notes.extend(sorted.iter().map(|at| (*at, Objection::Alone)));
        return Ok(None);
    }
    let (mut low, mut high) =
        (1, if NODES_MAX < sorted.len() { NODES_MAX } else { sorted.len() - 1 });
    let mut best = None;
    while low <= high {
        let middle = usize::midpoint(low, high);
        let nodes: Vec<CandidateId> = sorted.iter().take(middle + 1).copied().collect();
        match together(state, simulator, field, &nodes) {
            Ok(outcome) => {
                best = Some(CommandDraft { outcome, ..CommandDraft::of(nodes) });
                low = middle + 1;
            }
            Err(Objection::NoReadyNodePool) => return Err(Objection::NoReadyNodePool),
            Err(objection) => {
                let together =
                    Objection::Together { before: middle, objection: Box::new(objection) };
                notes.extend(nodes.last().map(|at| (*at, together)));
                high = middle - 1;
            }
        }
    }
    for at in sorted {
        let goes = best.as_ref().is_some_and(|draft: &CommandDraft| draft.nodes.contains(&at));
        if !goes {
            notes.entry(at).or_insert(Objection::NotTogether);
        }
    }
    Ok(best)
}

/// What would happen without all of the candidates `nodes`.
pub(crate) fn together<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    nodes: &[CandidateId],
) -> Result<Simulated, Objection> {
    let chosen = field.get(nodes);
    let mut outcome = consolidation::compute(state, simulator, &chosen)?;
    if chosen.len() > 1 {
        consolidation::without_same_types(state, &chosen, &mut outcome)?;
    }
    let before = price::of_all(&chosen);
    let saving = before.minus(consolidation::price_after(&outcome));
    is_worth_it(state, field, &chosen, saving)?;
    Ok(outcome)
}

/// The same, if new nodes are packed so that they cost least; and what that saves.
pub(crate) fn together_packed<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    nodes: &[CandidateId],
) -> Result<(Simulated, Exact), Objection> {
    let chosen = field.get(nodes);
    let mut outcome = packed::compute(state, simulator, &chosen)?;
    if chosen.len() > 1 {
        consolidation::without_same_types(state, &chosen, &mut outcome)?;
    }
    let saving = packed::saving(state, &chosen, &outcome);
    if saving == Exact::default() {
        let before = price::of_all(&chosen);
        return Err(Objection::NotCheaper(before.rounded()));
    }
    is_worth_it(state, field, &chosen, saving)?;
    Ok((outcome, saving))
}

fn is_worth_it(
    state: &State<'_>,
    field: &Field<'_>,
    nodes: &[&Candidate<'_>],
    saving: Exact,
) -> Result<(), Objection> {
    if !field.totals.approves(nodes, saving) {
        return Err(Objection::Score);
    }
    yields_enough(state, nodes, saving)
}

/// Whether disrupting `nodes` saves as much for the pods that it moves as the settings ask for.
fn yields_enough(
    state: &State<'_>,
    nodes: &[&Candidate<'_>],
    saving: Exact,
) -> Result<(), Objection> {
    let pods: usize = nodes.iter().map(|node| node.pods.len()).sum();
    let of_one = state.facts.policies.calm.saving_per_move_min.parts();
    let least = Exact(of_one.saturating_mul(u128::try_from(pods).unwrap_or(u128::MAX)));
    if saving < least {
        let (saved, least) = (saving.rounded(), least.rounded());
        return Err(Objection::YieldsLittle { saved, pods, least });
    }
    Ok(())
}

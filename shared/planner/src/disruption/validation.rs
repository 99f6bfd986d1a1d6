//! Whether what was found a while ago still holds: a command on newer facts.
//!
//! Karpenter: `pkg/controllers/disruption/validation.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{
    InstanceTypeName, NodeClaimName, NodeName,
    disruption::{Command, Method, Replacement},
    policies::ConsolidationSearch,
};

use super::{
    budgets::Remaining,
    candidate::Candidate,
    method,
    nodes::{State, StateNode},
    objection::Objection,
    search::Field,
    simulation::{Mode, NewNode, Simulated, Simulator},
};
use crate::index::id::CandidateId;

/// What of a command still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valid {
    /// The command, of the candidates that are left.
    pub command: Command,
    /// The candidates that it had, and has no longer.
    pub dropped: Vec<Dropped>,
}

/// That a command does not hold any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Voided {
    /// Nodes are no candidates any more.
    Churn(Vec<Dropped>),
    /// Pods were nominated to nodes, or the budgets are spent.
    Budget(Vec<Dropped>),
    /// The pods do not fit any more as they did.
    Scheduling(Objection),
}

/// A candidate that may not go any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Its claim.
    pub claim: NodeClaimName,
    /// Its node; `None` when that is gone.
    pub node: Option<NodeName>,
    /// Why it stays.
    pub reason: Objection,
    /// Whether pods were nominated to it, or the budgets of its NodePool are spent.
    is_for_budget: bool,
}

impl Dropped {
    /// Whether there is nothing left to disrupt.
    fn is_gone(&self) -> bool {
        self.reason == Objection::Gone
    }
}

impl fmt::Display for Dropped {
    /// `node-1: it is not initialized`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{node}: {}", self.reason),
            None => write!(f, "{}: {}", self.claim, self.reason),
        }
    }
}

impl fmt::Display for Voided {
    /// As Karpenter's metrics call it, and what happened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, dropped) = match self {
            Self::Churn(dropped) => ("churn", dropped),
            Self::Budget(dropped) => ("budget", dropped),
            Self::Scheduling(reason) => return write!(f, "void (scheduling): {reason}"),
        };
        let lines: Vec<String> = dropped.iter().map(ToString::to_string).collect();
        write!(f, "void ({kind}): {}", lines.join("; "))
    }
}

/// What of `command` still holds on newer facts; or why nothing does.
///
/// A candidate that is gone needs no deletion. Of an emptiness command the rest holds by
/// itself; of any other all that is left goes together, or none of it.
pub fn still(
    facts: &model::facts::Facts,
    command: &Command,
    options: &super::Options,
) -> Result<Valid, Voided> {
    let mut prepared = super::decide::PreparedCluster::of(facts, options);
    if !options.is_watched {
        prepared.spare_for_pending();
    }
    prepared.still(command)
}

/// The same on facts that are ready.
pub(super) fn still_in<'a>(
    state: &State<'a>,
    field: &Field<'a>,
    simulator: &mut Simulator<'a>,
    command: &Command,
) -> Result<Valid, Voided> {
    let (left, dropped) = qualified(state, field, command);
    let all_or_nothing = command.method != Method::Emptiness;
    if left.is_empty() || (all_or_nothing && !dropped.iter().all(Dropped::is_gone)) {
        return Err(void(dropped, all_or_nothing));
    }
    if all_or_nothing && command.method != Method::StaticDrift {
        fits_as_it_did(state, field, simulator, (command, &left))?;
    }
    let is_left: BTreeSet<&NodeClaimName> =
        field.get(&left).into_iter().map(|candidate| &candidate.claim.name).collect();
    let mut command = command.clone();
    command.candidates.retain(|claim| is_left.contains(claim));
    Ok(Valid { command, dropped })
}

/// Candidates that stay for both reasons make a whole command void for churn, and what is left of
/// an emptiness command for its budgets.
fn void(dropped: Vec<Dropped>, all_or_nothing: bool) -> Voided {
    let mut for_budget = dropped.iter().map(|gone| gone.is_for_budget);
    let is_budget = if all_or_nothing {
        !dropped.is_empty() && for_budget.all(|is| is)
    } else {
        for_budget.any(|is| is)
    };
    if is_budget { Voided::Budget(dropped) } else { Voided::Churn(dropped) }
}

/// Whether the pods of the candidates `left` still go where they went, and need no other node than
/// the command launches.
fn fits_as_it_did<'a>(
    state: &State<'a>,
    field: &Field<'a>,
    simulator: &mut Simulator<'a>,
    (command, left): (&Command, &[CandidateId]),
) -> Result<(), Voided> {
    let mode = match command.method {
        Method::Drift => Mode::Drift,
        Method::Repair => Mode::Repair,
        _ => Mode::Consolidation(state.now),
    };
    let outcome = as_found(state, simulator, (command, mode), &field.get(left))
        .map_err(Voided::Scheduling)?;
    is_as_expected(&outcome, &command.replacements).map_err(Voided::Scheduling)?;
    // Karpenter creates one replacement at most.
    let expected = command.replacements.len();
    if 1 < expected && !may_be_packed(state, command) {
        return Err(Voided::Scheduling(Objection::OtherCount { in_flight: expected, expected }));
    }
    Ok(())
}

/// What would be without `nodes`, the candidates of `command`: packed so that new nodes cost least, where only that
/// leads to the nodes that the command launches.
pub fn as_found<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    (command, mode): (&Command, Mode),
    nodes: &[&Candidate<'a>],
) -> Result<Simulated, Objection> {
    let usual = simulator.without(nodes, mode)?;
    let is_usual = is_as_expected(&usual, &command.replacements).is_ok();
    if is_usual || !may_be_packed(state, command) {
        return Ok(usual);
    }
    simulator.packed(nodes, state.now)
}

/// Whether the new nodes of `command` may be several, packed so that they cost least.
fn may_be_packed(state: &State<'_>, command: &Command) -> bool {
    state.facts.policies.consolidation == ConsolidationSearch::Thorough
        && matches!(command.method, Method::MultiNode | Method::SingleNode)
        && !command.replacements.is_empty()
}

/// Why the pods need other nodes than `expected`, if so.
fn is_as_expected(outcome: &Simulated, expected: &[Replacement]) -> Result<(), Objection> {
    if let Some(stuck) = &outcome.stuck {
        return Err(stuck.clone());
    }
    let (in_flight, count) = (outcome.in_flight.len(), expected.len());
    if in_flight != count {
        return Err(Objection::OtherCount { in_flight, expected: count });
    }
    let mut both = outcome.in_flight.iter().zip(expected);
    let is_kept = both.all(|(new, expected)| has_all_types(new, expected));
    if is_kept { Ok(()) } else { Err(Objection::FewerInstanceTypes) }
}

fn has_all_types(new: &NewNode, expected: &Replacement) -> bool {
    let offered: BTreeSet<&InstanceTypeName> =
        new.types.iter().map(|instance_type| &instance_type.name).collect();
    expected.instance_types.iter().all(|name| offered.contains(name))
}

/// The candidates of `command` that still are candidates within budgets, and what became of the
/// others. The order of the command is the order in which pods are looked at.
fn qualified(
    state: &State<'_>,
    field: &Field<'_>,
    command: &Command,
) -> (Vec<CandidateId>, Vec<Dropped>) {
    let named: BTreeSet<&NodeClaimName> = command.candidates.iter().collect();
    let candidates: BTreeMap<&NodeClaimName, CandidateId> = field
        .candidates
        .entries()
        .map(|(at, candidate)| (&candidate.claim.name, at))
        .filter(|(claim, _)| named.contains(claim))
        .collect();
    let mut remaining = Remaining::of(state, command.method.reason());
    let (mut left, mut dropped) = (Vec::new(), Vec::new());
    for claim in &command.candidates {
        let Some(at) = candidates.get(claim).copied() else {
            dropped.push(no_candidate(state, field, claim));
            continue;
        };
        let candidate = &field.candidates[at];
        let drop = |reason: Objection, is_for_budget| Dropped {
            claim: claim.clone(),
            node: Some(candidate.node.name.clone()),
            reason,
            is_for_budget,
        };
        if left.contains(&at) {
            continue;
        }
        if let Some(reason) = method::objection(state, command.method, candidate) {
            dropped.push(drop(reason, false));
        } else if !remaining.take(&candidate.pool.name) {
            dropped.push(drop(remaining.objection(&candidate.pool.name), true));
        } else if was_needed(state, command, candidate) {
            dropped.push(drop(Objection::Needed, false));
        } else {
            left.push(at);
        }
    }
    (left, dropped)
}

/// Whether a pod was on an empty node since `command` was found, and left again.
fn was_needed(state: &State<'_>, command: &Command, candidate: &Candidate<'_>) -> bool {
    !state.is_watched
        && command.method == Method::Emptiness
        && candidate.claim.empty_since.is_some_and(|since| command.found_at < since)
}

/// Why the node of `claim` is no candidate.
fn no_candidate(state: &State<'_>, field: &Field<'_>, claim: &NodeClaimName) -> Dropped {
    let is_its =
        |entry: &StateNode<'_>| entry.claim.is_some_and(|standing| standing.name == *claim);
    let entry = state.nodes.entries().find(|(_, entry)| is_its(entry));
    let node = entry.and_then(|(_, entry)| Some(&entry.node?.name));
    let reason = match (entry, node) {
        (None, _) => Objection::Gone,
        (Some(_), None) => Objection::NodeGone,
        // Every node that is no candidate is among the others.
        (Some((number, _)), Some(_)) => {
            field.others.get(&number).cloned().unwrap_or(Objection::NodeGone)
        }
    };
    Dropped {
        claim: claim.clone(),
        node: node.cloned(),
        reason,
        is_for_budget: node.is_some_and(|node| state.is_nominated(node)),
    }
}

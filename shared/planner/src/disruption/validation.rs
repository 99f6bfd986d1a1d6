//! Whether what was found a while ago still holds: a command on newer facts.
//!
//! Karpenter: `pkg/controllers/disruption/validation.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{InstanceTypeName, NodeName};

use super::{
    Method,
    budgets::Remaining,
    candidate::Candidate,
    command::Command,
    method,
    nodes::State,
    search::Field,
    simulation::{Mode, Simulator},
};

/// What made a command void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VoidReason {
    /// A node is no candidate any more.
    Churn,
    /// Pods were promised to a node, or the budgets are spent.
    Budget,
    /// The pods do not fit any more as they did.
    Scheduling,
}

impl VoidReason {
    /// Its name in Karpenter's metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Churn => "churn",
            Self::Budget => "budget",
            Self::Scheduling => "scheduling",
        }
    }
}

/// That a command does not hold any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voided {
    /// Of which kind.
    pub reason: VoidReason,
    /// What happened, in words: one line for each node, or one for all.
    pub details: Vec<String>,
}

impl fmt::Display for Voided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "void ({}): {}", self.reason.as_str(), self.details.join("; "))
    }
}

fn void<T>(reason: VoidReason, details: Vec<String>) -> Result<T, Voided> {
    Err(Voided { reason, details })
}

/// `command` as far as it still holds in `state`. Of an emptiness command that is what is left of
/// it; of any other all or nothing. Drift is not validated: it holds as it is.
pub(crate) fn validated<'a>(
    state: &State<'a>,
    field: &Field<'a>,
    simulator: &mut Simulator<'a>,
    command: &Command,
) -> Result<Command, Voided> {
    if command.method.is_eventual() {
        return Ok(command.clone());
    }
    let (left, dropped) = qualified(state, field, command);
    if command.method == Method::Emptiness {
        return still_empty(command, &left, dropped);
    }
    if !dropped.is_empty() {
        let reason = dropped.iter().map(|(reason, _)| *reason).min();
        let details = dropped.into_iter().map(|(_, text)| text).collect();
        return void(reason.unwrap_or(VoidReason::Churn), details);
    }
    // The order of the command is the order in which its pods are looked at.
    let nodes: Vec<usize> = field.places(command.nodes()).into_iter().map(|(_, at)| at).collect();
    let chosen = field.get(&nodes);
    let fresh = match simulator.without(&chosen, Mode::Consolidation(state.now)) {
        Ok(fresh) => fresh,
        Err(obstacle) => return void(VoidReason::Scheduling, vec![obstacle.to_string()]),
    };
    if let Some(reason) = fresh.stuck {
        return void(VoidReason::Scheduling, vec![reason]);
    }
    let known = match (fresh.opened.as_slice(), command.replacements.as_slice()) {
        ([], []) => return Ok(command.clone()),
        ([new], [expected]) => {
            let known: BTreeSet<&InstanceTypeName> =
                new.types.iter().map(|one| &one.name).collect();
            expected.instance_types.iter().all(|name| known.contains(name))
        }
        (opened, expected) => {
            let (opened, expected) = (opened.len(), expected.len());
            let text = format!("its pods need {opened} new nodes now, not {expected}");
            return void(VoidReason::Scheduling, vec![text]);
        }
    };
    if known {
        return Ok(command.clone());
    }
    let text = "its replacement may not have all of its instance types any more".to_owned();
    void(VoidReason::Scheduling, vec![text])
}

/// The nodes of `command` that are still candidates within budgets, and what became of the others.
fn qualified<'c>(
    state: &State<'_>,
    field: &Field<'_>,
    command: &'c Command,
) -> (BTreeSet<&'c NodeName>, Vec<(VoidReason, String)>) {
    let own = field.places(command.nodes());
    let by_name: BTreeMap<&NodeName, usize> = own.iter().map(|(name, at)| (*name, *at)).collect();
    let mut remaining = Remaining::of(state, command.method.reason());
    let mut left = BTreeSet::new();
    let mut dropped = Vec::new();
    for name in command.nodes() {
        let candidate = match eligible(state, field, command.method, by_name.get(name).copied()) {
            Ok(candidate) => candidate,
            Err(why) => {
                let why = why.or_else(|| why_not(state, field, name));
                let why = why.unwrap_or_else(|| "it is gone".to_owned());
                let reason =
                    if state.is_nominated(name) { VoidReason::Budget } else { VoidReason::Churn };
                dropped.push((reason, format!("{name}: {why}")));
                continue;
            }
        };
        if remaining.take(&candidate.pool.name) {
            left.insert(name);
        } else {
            let text = format!("{name}: the disruption budgets of its NodePool are spent");
            dropped.push((VoidReason::Budget, text));
        }
    }
    (left, dropped)
}

/// The candidate at `at`, if `method` looks at it; or why not, as far as it is one.
fn eligible<'f, 'a>(
    state: &State<'a>,
    field: &'f Field<'a>,
    method: Method,
    at: Option<usize>,
) -> Result<&'f Candidate<'a>, Option<String>> {
    let candidate = at.and_then(|at| field.candidates.get(at)).ok_or(None)?;
    method::objection(state, method, candidate).map_or(Ok(candidate), |reason| Err(Some(reason)))
}

/// Why the node called `name` is no candidate.
fn why_not(state: &State<'_>, field: &Field<'_>, name: &NodeName) -> Option<String> {
    let place = state.nodes.iter().position(|one| one.name() == name.as_str())?;
    field.others.get(&place).cloned()
}

fn still_empty(
    command: &Command,
    left: &BTreeSet<&NodeName>,
    dropped: Vec<(VoidReason, String)>,
) -> Result<Command, Voided> {
    if left.is_empty() {
        let reason = dropped.iter().map(|(reason, _)| *reason).max();
        let details = dropped.into_iter().map(|(_, text)| text).collect();
        return void(reason.unwrap_or(VoidReason::Churn), details);
    }
    let mut still = command.clone();
    still.candidates.retain(|one| left.contains(&one.node));
    still.rejected.extend(dropped.into_iter().map(|(_, text)| text));
    still.price_before = super::outlook::price_of(&still.candidates);
    Ok(still)
}

#[cfg(test)]
mod tests;

//! Plans as lines, and what differs between two of them.

use std::{collections::BTreeMap, fmt::Write as _};

use model::{
    NodeClaim, Plan, PodKey,
    disruption::Command,
    ledger::Decision,
    plan::{NewClaim, Target},
    words,
};
use report::output::dollars;

use crate::records;

/// Pods of one line.
const PODS_SHOWN: usize = 8;
/// Lines of what is not told in words.
const DETAILS_SHOWN: usize = 40;

/// What `plan` comes to, a line for each part of it.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan.new_claims.iter().map(created).collect();
    lines.extend(plan.changes.iter().map(changed));
    lines.extend(plan.started.iter().map(|(id, command)| format!("{id}: {}", started(command))));
    lines.extend(plan.ended.iter().map(|id| format!("{id}: the command ends")));
    for (offering, until) in &plan.unavailable_offerings {
        lines.push(format!("leave {offering} alone until {until:.0}"));
    }
    for placement in &plan.placements {
        let target = match &placement.target {
            Target::Node(name) => format!("node {name}"),
            Target::Claim(name) => format!("NodeClaim {name}"),
        };
        lines.push(format!("place on {target}: {}", pods(&placement.pods)));
    }
    for unplaced in &plan.unplaced {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        lines.push(format!("no node for {}: {}", unplaced.pod, reasons.join("; ")));
    }
    lines.extend(plan.decisions.iter().flat_map(decided));
    if lines.is_empty() {
        lines.push("nothing is done".to_owned());
    }
    lines
}

/// `launch general-1-0: m7g.large on-demand …, $0.0816 an hour, or one of 3 other types: web/a, web/b`
fn created(new: &NewClaim) -> String {
    let (claim, offering) = (&new.claim, &new.cheapest);
    let price = dollars(u128::from(new.price.nanos()));
    let others = claim.instance_types.len().saturating_sub(1);
    let others = match others {
        0 => String::new(),
        others => format!(", or one of {}", words::counted(others, "other type")),
    };
    let (kind, sold, zone) = (offering.capacity_type, &offering.instance_type, &offering.zone);
    let what = format!("{sold} {kind} in {zone}, {price} an hour{others}");
    format!("launch {} of {}: {what}: {}", claim.name, claim.node_pool, pods(&claim.pods))
}

fn changed(claim: &NodeClaim) -> String {
    match &claim.deletion {
        Some(deletion) => format!("delete {}: {}", claim.name, deletion.reason),
        None => format!("note on {} what was seen of its node", claim.name),
    }
}

fn started(command: &Command) -> String {
    let candidates: Vec<String> = command.candidates.iter().map(ToString::to_string).collect();
    let replacements = match command.replacements.len() {
        0 => "nothing in their place".to_owned(),
        replacements => words::counted(replacements, "replacement"),
    };
    let (method, progress) = (command.method, records::progress(command));
    format!("{method} of {}, {replacements}: {progress}", candidates.join(", "))
}

fn decided(decision: &Decision) -> Vec<String> {
    let kind = decision.kind.as_str();
    let mut lines = vec![format!("{kind}: {}", decision.summary)];
    let rejected = decision.rejected.iter();
    lines.extend(
        rejected.map(|rejected| {
            format!("{kind}: not chosen: {rejected} ({})", rejected.reason.as_str())
        }),
    );
    lines
}

fn pods(pods: &[PodKey]) -> String {
    if pods.is_empty() {
        return "no pod".to_owned();
    }
    let mut names: Vec<String> = pods.iter().take(PODS_SHOWN).map(PodKey::to_string).collect();
    if PODS_SHOWN < pods.len() {
        names.push(format!("and {} more", words::counted(pods.len() - PODS_SHOWN, "pod")));
    }
    names.join(", ")
}

/// `then` with the summaries of `now` for decisions that differ in nothing else: each release words summaries as it
/// likes, and that is no other decision.
fn worded_as(then: &Plan, now: &Plan) -> Plan {
    let mut then = then.clone();
    for (old, new) in then.decisions.iter_mut().zip(&now.decisions) {
        let reworded = Decision { summary: new.summary.clone(), ..old.clone() };
        if reworded == *new {
            *old = reworded;
        }
    }
    then
}

/// What differs between two plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// Lines that only the first has.
    pub(super) removed: Vec<String>,
    /// Lines that only the second has.
    pub(super) added: Vec<String>,
}

impl Difference {
    pub(super) fn of(then: &Plan, now: &Plan) -> Self {
        let then = &worded_as(then, now);
        if then == now {
            return Self::default();
        }
        let told = Self::between(&lines(then), &lines(now));
        if !told.is_none() {
            return told;
        }
        // Where words tell no difference, the plans' own members do.
        let members = |plan: &Plan| -> Vec<String> {
            let mut text = String::new();
            write!(text, "{plan:#?}").unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        };
        let mut details = Self::between(&members(then), &members(now));
        details.removed.truncate(DETAILS_SHOWN);
        details.added.truncate(DETAILS_SHOWN);
        if details.is_none() {
            details.added.push("the same in another order".to_owned());
        }
        details
    }

    fn between(then: &[String], now: &[String]) -> Self {
        let left_over = |of: &[String], without: &[String]| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for line in without {
                *counts.entry(line).or_default() += 1;
            }
            let is_left = |line: &&String| match counts.get_mut(line.as_str()) {
                Some(count) if 0 < *count => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            of.iter().filter(is_left).cloned().collect()
        };
        Self { removed: left_over(then, now), added: left_over(now, then) }
    }

    /// Whether both are the same.
    pub(super) fn is_none(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// All of it, as `diff` marks it.
    pub(super) fn lines(&self) -> Vec<String> {
        let removed = self.removed.iter().map(|line| format!("- {line}"));
        removed.chain(self.added.iter().map(|line| format!("+ {line}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{Function, ledger::DecisionKind};

    use super::*;

    fn plan(kind: DecisionKind, summary: &str) -> Plan {
        let who = (Function::Disrupt, jiff::Timestamp::UNIX_EPOCH);
        let decisions = vec![Decision::about(kind, [], who, summary.to_owned())];
        Plan { decisions, ..Plan::default() }
    }

    #[test]
    fn other_words_of_the_same_decision_are_no_difference() {
        let then = plan(DecisionKind::Termination, "general-1-0 goes");
        let now = |kind| Difference::of(&then, &plan(kind, "general-1-0 is deleted"));
        assert!(now(DecisionKind::Termination).is_none());
        assert!(!now(DecisionKind::Disruption).is_none());
    }
}

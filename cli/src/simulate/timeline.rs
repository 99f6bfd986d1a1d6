//! The timeline: what happened, in lines that people read.
//!
//! What happens to many things alike within a while is one line that says what they have in common,
//! unless everything is asked for.

mod about;
mod fold;
mod line;
mod sentence;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Decided;
use jiff::{SignedDuration, Timestamp};
use model::{
    Function, PodKey,
    ledger::{Decision, DecisionKind, Rejected},
    plan::Unplaced,
};
use report::{
    contents::{Interned, LINES_MAX, PageTimeline},
    output::{count, elapsed, many},
};
use serde_json::{Value, json};
use simulator::TimelineEvent;

use self::{
    fold::Folds,
    line::{Like, Line},
    words::Words,
};
use crate::workloads::workload_of;

/// Of how many parts a simulation is, in each of which what is alike is one line.
const PARTS: i32 = 60;
/// The shortest and the longest part.
const PART_MIN: SignedDuration = SignedDuration::from_mins(1);
const PART_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The lines so far.
pub(crate) struct Timeline {
    start: Timestamp,
    is_verbose: bool,
    done: Vec<Line>,
    words: Words,
    /// Reasons that were shown, so that a pod that waits is not reported at each look.
    shown: BTreeSet<String>,
}

impl Timeline {
    pub(crate) fn new(start: Timestamp, is_verbose: bool) -> Self {
        let words = Words::default();
        Self { start, is_verbose, done: Vec::new(), words, shown: BTreeSet::new() }
    }

    /// Adds what happened since the last call.
    pub(crate) fn add(&mut self, events: Vec<TimelineEvent>, decided: &[Decided]) {
        let mut lines: Vec<Line> = Vec::new();
        for event in events {
            let line = self.words.line(event, self.is_verbose);
            let mut same =
                lines.iter_mut().rev().take_while(|l| l.at.as_second() == line.at.as_second());
            match same.find(|before| before.is_about_pods && before.is_same(&line)) {
                Some(before) => before.absorb(&line),
                None => lines.push(line),
            }
        }
        lines.extend(decided.iter().flat_map(|decided| self.decisions(decided)));
        lines.sort_by_key(|line| line.at);
        self.done.extend(lines);
    }

    /// Everything for people, of a simulation that ended at `end`.
    pub(crate) fn lines(&self, end: Timestamp) -> Vec<String> {
        let line = |at, text: String| format!("{} {text}", elapsed(self.start, at));
        if self.is_verbose {
            return self.done.iter().map(|l| line(l.at, l.show())).collect();
        }
        let folds = Folds::of(&self.done, part(end.duration_since(self.start)));
        folds.shown(self.start).into_iter().map(|(at, text)| line(at, text)).collect()
    }

    /// Everything for people, each with when and of what kind, of a simulation that ended at `end`.
    pub(crate) fn told(&self, end: Timestamp) -> Vec<(Timestamp, &'static str, String)> {
        let folds = Folds::of(&self.done, part(end.duration_since(self.start)));
        folds.shown_by_kind(self.start).collect()
    }

    /// What a page shows, of a simulation that ended at `end`.
    pub(super) fn of_report(&self, end: Timestamp) -> PageTimeline {
        let mut kinds: Interned<&'static str> = Interned::default();
        let start = self.start.as_second();
        let mut line = |at, kind, text: String| (elapsed(self.start, at), kinds.place(kind), text);
        let lines_done = count(u64::try_from(self.done.len()).unwrap_or(u64::MAX), "line");
        if self.done.len() <= LINES_MAX {
            let lines = self.done.iter().map(|l| line(l.at, l.kind, l.show())).collect();
            let about = "Everything that happened; pods of one second are counted.".to_owned();
            return PageTimeline { about, start, kinds: kinds.into_values(), lines };
        }
        let mut part = part(end.duration_since(self.start));
        let mut folds = Folds::of(&self.done, part);
        while folds.len() > LINES_MAX && part < end.duration_since(self.start) {
            part = part.saturating_mul(2);
            folds = Folds::of(&self.done, part);
        }
        let lines = folds
            .shown_by_kind(self.start)
            .map(|(at, kind, text)| line(at, kind, text))
            .take(LINES_MAX)
            .collect();
        let about = format!(
            "Of {lines_done}, those that are alike within {} are one here, so that this page stays small.",
            count(u64::try_from(part.as_secs()).unwrap_or_default(), "second"),
        );
        PageTimeline { about, start, kinds: kinds.into_values(), lines }
    }

    /// What happened to single nodes: when, of what kind, and the names of NodeClaim, instance and node, as far as
    /// they are in the line.
    pub(super) fn of_nodes(
        &self,
    ) -> impl Iterator<Item = (Timestamp, &'static str, impl Iterator<Item = &str>)> {
        self.done.iter().map(|line| (line.at, line.kind, line.about.node_names()))
    }

    /// What a decider says about its plan.
    fn decisions(&mut self, decided: &Decided) -> Vec<Line> {
        let Some(plan) = &decided.report.plan else { return Vec::new() };
        let mut lines: Vec<Line> = Vec::new();
        // Pods without a node are printed below, and the others when they are bound.
        let is_printed = |decision: &&Decision| {
            !matches!(decision.kind, DecisionKind::Placement | DecisionKind::Refusal)
        };
        for decision in plan.decisions.iter().filter(is_printed) {
            let text = format!("{}: {}", decision.function, decision.summary);
            if !decision.subjects.is_empty() || self.shown.insert(text.clone()) {
                let line = Line::of_sentence(decided.at, "Decided", text);
                let pods = decision.subjects.iter().flat_map(|subject| &subject.pods);
                let pods = pods.filter(|_| decided.function == Function::Provision);
                lines.push(Line { pods: pods.cloned().collect(), ..line });
            }
            if decided.function == Function::Disrupt {
                let is_news = |rejected: &&Rejected| self.shown.insert(rejected.to_string());
                let news = decision.rejected.iter().filter(is_news);
                lines.extend(staying(decided.at, news));
            }
        }
        if decided.function == Function::Provision {
            for (workload, reasons, pods) in unplaced(&plan.unplaced) {
                let common = format!("{workload}: {reasons}");
                if self.shown.insert(format!("no node for {common}")) {
                    lines.push(Line::of_unplaced(decided.at, &workload, &reasons, pods));
                }
            }
        }
        lines
    }

    /// All lines for machines.
    pub(crate) fn json(&self) -> Vec<Value> {
        let value = |line: &Line| {
            let mut members = line.about.members();
            members.insert("at".to_owned(), json!(line.at.to_string()));
            members.insert("kind".to_owned(), json!(line.kind));
            members.insert("text".to_owned(), json!(line.show()));
            if line.is_about_pods {
                members.insert("pods".to_owned(), json!(line.number));
            }
            Value::Object(members)
        };
        self.done.iter().map(value).collect()
    }
}

/// Within how much time what is alike is one line, of a simulation of `length`.
fn part(length: SignedDuration) -> SignedDuration {
    let part = length.checked_div(PARTS).unwrap_or(PART_MAX);
    SignedDuration::from_secs(part.as_secs()).clamp(PART_MIN, PART_MAX)
}

/// Pods that cannot be scheduled: those of a workload for the same reasons.
pub(super) fn unplaced(unplaced: &[Unplaced]) -> Vec<(String, String, Vec<PodKey>)> {
    let mut groups: BTreeMap<(String, String), Vec<PodKey>> = BTreeMap::new();
    for Unplaced { pod, reasons } in unplaced {
        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        groups.entry((workload_of(pod), reasons.join("; "))).or_default().push(pod.clone());
    }
    groups.into_iter().map(|((workload, reasons), pods)| (workload, reasons, pods)).collect()
}

/// Why nodes stay, those with the same reason in one line; a reason that names no node by itself.
fn staying<'a>(at: Timestamp, rejecteds: impl Iterator<Item = &'a Rejected>) -> Vec<Line> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rejected in rejecteds {
        by_reason.entry(&rejected.why).or_default().extend(rejected.what.as_deref());
    }
    let line = |(why, nodes): (&str, Vec<&str>)| {
        let (number, text) = match nodes.as_slice() {
            [first, _, ..] => {
                let number = many(nodes.len());
                (nodes.len(), format!("{number} nodes not disrupted ({first}, …): {why}"))
            }
            [node] => (1, format!("{node} not disrupted: {why}")),
            [] => return Line::of_words(at, "NodeStays", why.to_owned()),
        };
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let first = nodes.first().copied().unwrap_or_default();
        let like =
            Like::things(number, "node", "not disrupted", why.to_owned()).called(first).apart();
        Line { number, ..Line::of(at, "NodeStays", text, like) }
    };
    by_reason.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;

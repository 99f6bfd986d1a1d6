//! The timeline: what happened, in lines that people read.
//!
//! What happens to many pods in one second is one line, unless every pod is asked for.

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Decided;
use jiff::{SignedDuration, Timestamp};
use model::{Function, ledger::Rejected, plan::Unplaced};
use serde_json::{Value, json};
use simulator::{Happening, TimelineEvent};

use crate::{
    output::{count, elapsed, many, thousands},
    workloads::workload_of,
};

/// A line: when, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    at: Timestamp,
    kind: &'static str,
    text: String,
    /// What is summed up with others of the same second, and how: before and after the count.
    pods: Option<(u64, String)>,
    /// What makes it like others: the same things happen to other claims, instances and nodes.
    likeness: String,
}

impl Line {
    fn new(at: Timestamp, kind: &'static str, text: String) -> Self {
        let likeness = likeness(&text);
        Self { at, kind, text, pods: None, likeness }
    }
}

/// Lines that are alike of which each is shown, within [`ALIKE_WITHIN`].
const ALIKE_SHOWN: usize = 5;
/// What happens again later is told again.
const ALIKE_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// `text` without what differs between things of a kind: numbers, and the letters in names that have
/// some.
fn likeness(text: &str) -> String {
    let word = |word| if str::contains(word, |c: char| c.is_ascii_digit()) { "…" } else { word };
    let mut words: Vec<&str> = text.split(' ').map(word).collect();
    words.dedup_by(|word, before| *word == "…" && word == before);
    words.join(" ")
}

/// The lines so far.
pub(crate) struct Timeline {
    start: Timestamp,
    is_verbose: bool,
    done: Vec<Line>,
    /// Reasons that were shown, so that a pod that waits is not reported at each look.
    shown: BTreeSet<String>,
}

/// Lines that were folded away after one of their likeness.
struct Folded {
    since: Timestamp,
    shown: usize,
    hidden: u64,
    /// How many pods the hidden lines are about.
    pods: u64,
    latest: Timestamp,
}

impl Timeline {
    pub(crate) fn new(start: Timestamp, is_verbose: bool) -> Self {
        Self { start, is_verbose, done: Vec::new(), shown: BTreeSet::new() }
    }

    /// Adds what happened since the last call.
    pub(crate) fn add(&mut self, events: Vec<TimelineEvent>, decided: &[Decided]) {
        let mut lines: Vec<Line> = Vec::new();
        for event in events {
            let line = line(event, self.is_verbose);
            let same =
                lines.iter_mut().rev().take_while(|l| l.at.as_second() == line.at.as_second());
            let mut same = same.filter(|l| l.kind == line.kind && l.text == line.text);
            match (same.next().and_then(|l| l.pods.as_mut()), &line.pods) {
                (Some((number, _)), Some((more, _))) => *number += more,
                _ => lines.push(line),
            }
        }
        lines.extend(decided.iter().flat_map(|decided| self.decisions(decided)));
        lines.sort_by_key(|line| line.at);
        self.done.extend(lines);
    }

    /// Everything for people. What happens over and over is told a few times, and then how often and
    /// until when.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut folds: BTreeMap<(&str, &str), Folded> = BTreeMap::new();
        let mut shown: Vec<(Timestamp, String)> = Vec::new();
        for line in &self.done {
            let key = (line.kind, line.likeness.as_str());
            let is_over = |fold: &Folded| {
                line.at.duration_since(fold.since) > ALIKE_WITHIN || self.is_verbose
            };
            if let Some(fold) = folds.get(&key)
                && is_over(fold)
                && let Some(fold) = folds.remove(&key)
            {
                shown.extend(told(&fold, key.1));
            }
            let fold = folds.entry(key).or_insert(Folded {
                since: line.at,
                shown: 0,
                hidden: 0,
                pods: 0,
                latest: line.at,
            });
            if fold.shown < ALIKE_SHOWN {
                fold.shown += 1;
                shown.push((line.at, show(line)));
            } else {
                fold.hidden += 1;
                fold.pods += line.pods.as_ref().map_or(0, |(pods, _)| *pods);
                fold.latest = line.at;
            }
        }
        shown.extend(folds.iter().filter_map(|((_, likeness), fold)| told(fold, likeness)));
        shown.sort_by_key(|(at, _)| *at);
        let line = |(at, text): (Timestamp, String)| format!("{} {text}", elapsed(self.start, at));
        shown.into_iter().map(line).collect()
    }

    /// What a decider says about its plan.
    fn decisions(&mut self, decided: &Decided) -> Vec<Line> {
        let Some(plan) = &decided.report.plan else { return Vec::new() };
        let line = |kind, text| Line::new(decided.at, kind, text);
        let mut lines: Vec<Line> = Vec::new();
        for decision in &plan.decisions {
            let text = format!("{}: {}", decision.function, decision.summary);
            if !decision.claims.is_empty() || self.shown.insert(text.clone()) {
                lines.push(line("Decided", text));
            }
            if decided.function == Function::Disrupt {
                let is_news = |rejected: &&Rejected| self.shown.insert(rejected.to_string());
                let news = decision.rejected.iter().filter(is_news);
                lines.extend(staying(news).map(|text| line("NodeStays", text)));
            }
        }
        if decided.function == Function::Provision {
            for (workload, reasons, number) in unplaced(&plan.unplaced) {
                let text = format!("no place for {workload}: {reasons}");
                if self.shown.insert(text) {
                    let pods = if number > 1 {
                        format!(" ×{}", thousands(number.into()))
                    } else {
                        String::new()
                    };
                    let text = format!("no place for {workload}{pods}: {reasons}");
                    lines.push(line("PodUnplaced", text));
                }
            }
        }
        lines
    }

    /// All lines for machines.
    pub(crate) fn json(&self) -> Vec<Value> {
        let value =
            |line: &Line| json!({"at": line.at.to_string(), "kind": line.kind, "text": show(line)});
        self.done.iter().map(value).collect()
    }
}

/// That lines were folded away, if so.
fn told(fold: &Folded, likeness: &str) -> Option<(Timestamp, String)> {
    let text = match fold.pods {
        0 => format!("{} more: {likeness}", thousands(fold.hidden.into())),
        1 => format!("1 more pod {likeness}"),
        pods => format!("{} more pods {likeness}", thousands(pods.into())),
    };
    (fold.hidden > 0).then_some((fold.latest, text))
}

/// Pods without a place: so many of a workload for the same reasons.
pub(super) fn unplaced(unplaced: &[Unplaced]) -> Vec<(String, String, u64)> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for Unplaced { pod, reasons } in unplaced {
        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        *counts.entry((workload_of(pod), reasons.join("; "))).or_default() += 1;
    }
    counts.into_iter().map(|((workload, reasons), number)| (workload, reasons, number)).collect()
}

/// Why nodes stay, those with the same reason in one line; a reason that names no node by itself.
fn staying<'a>(rejecteds: impl Iterator<Item = &'a Rejected>) -> impl Iterator<Item = String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rejected in rejecteds {
        by_reason.entry(&rejected.why).or_default().extend(rejected.what.as_deref());
    }
    by_reason.into_iter().map(|(why, nodes)| match nodes.as_slice() {
        [first, _, ..] => format!("{} nodes stay ({first}, …): {why}", many(nodes.len())),
        [node] => format!("{node} stays: {why}"),
        [] => why.to_owned(),
    })
}

fn show(line: &Line) -> String {
    match &line.pods {
        Some((number, before)) if !before.is_empty() => {
            format!("{before}{} {}", count(*number, "pod"), line.text)
        }
        Some((number, _)) => format!("{} {}", count(*number, "pod"), line.text),
        None => line.text.clone(),
    }
}

fn line(event: TimelineEvent, is_verbose: bool) -> Line {
    let (kind, pod, text) = words(event.happening);
    match pod {
        Some(pod) if is_verbose => Line::new(event.at, kind, format!("pod {pod} {text}")),
        Some(_) => Line { pods: Some((1, String::new())), ..Line::new(event.at, kind, text) },
        None => Line::new(event.at, kind, text),
    }
}

/// Kind, the pod that it is about, and what is said.
fn words(happening: Happening) -> (&'static str, Option<String>, String) {
    let of_pod = |kind, pod: model::PodKey, text: String| (kind, Some(pod.to_string()), text);
    match happening {
        Happening::PodPending { pod } => of_pod("PodPending", pod, "created".to_owned()),
        Happening::PodUnschedulable { pod } => {
            of_pod("PodUnschedulable", pod, "unschedulable".to_owned())
        }
        Happening::PodBound { pod, node } => of_pod("PodBound", pod, format!("bound to {node}")),
        Happening::PodRunning { pod, node } => {
            of_pod("PodRunning", pod, format!("running on {node}"))
        }
        Happening::PodEvicted { pod, node } => {
            of_pod("PodEvicted", pod, format!("evicted from {node}"))
        }
        Happening::PodLost { pod, node } => of_pod("PodLost", pod, format!("lost with {node}")),
        other => {
            let (kind, text) = other_words(&other);
            (kind, None, text)
        }
    }
}

fn other_words(happening: &Happening) -> (&'static str, String) {
    match happening {
        Happening::WorkloadScaled { workload, replicas } => {
            ("WorkloadScaled", format!("{workload} wants {}", count(u64::from(*replicas), "pod")))
        }
        Happening::ClaimPromised { claim, node_pool } => {
            ("ClaimPromised", format!("NodeClaim {claim} promised for NodePool {node_pool}"))
        }
        Happening::ClaimGivenUp { claim, reason } => {
            ("ClaimGivenUp", format!("NodeClaim {claim} given up: {reason}"))
        }
        Happening::ClaimRemoved { claim } => ("ClaimRemoved", format!("NodeClaim {claim} gone")),
        Happening::InstanceLaunched { instance, offering, price } => {
            ("InstanceLaunched", format!("{instance} launched: {offering}, ${price} an hour"))
        }
        Happening::OfferingUnavailable { offering } => {
            ("OfferingUnavailable", format!("no capacity for {offering}"))
        }
        Happening::NodeJoined { node, instance } => {
            ("NodeJoined", format!("node {node} joined ({instance})"))
        }
        Happening::NodeReady { node } => ("NodeReady", format!("node {node} ready")),
        Happening::NodeDrained { node } => ("NodeDrained", format!("node {node} drained")),
        Happening::NodeRemoved { node } => ("NodeRemoved", format!("node {node} removed")),
        Happening::SpotNotice { instance, node, ends_at: _ } => {
            let node = node.as_ref().map(|node| format!(" ({node})")).unwrap_or_default();
            ("SpotNotice", format!("EC2 takes {instance}{node} back in two minutes"))
        }
        Happening::InstanceEnding { instance } => {
            ("InstanceEnding", format!("{instance} shutting down"))
        }
        Happening::InstanceTerminated { instance, node: _ } => {
            ("InstanceTerminated", format!("{instance} terminated"))
        }
        pod => ("Other", format!("{pod:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w4_what_happens_over_and_over_is_said_a_few_times_and_then_how_often() {
        let start = Timestamp::UNIX_EPOCH;
        let mut timeline = Timeline::new(start, false);
        let event = |second: i64, happening| TimelineEvent {
            at: Timestamp::from_second(second).unwrap(),
            happening,
        };
        let bound = |number: i64| {
            let pod = |name: &str| model::PodKey {
                namespace: model::Namespace::new("default").unwrap(),
                name: model::ObjectName::new(name).unwrap(),
            };
            let node = model::NodeName::new(&format!("ip-{number}")).unwrap();
            let of = |pod| event(number, Happening::PodBound { pod, node: node.clone() });
            [of(pod("a")), of(pod("b"))]
        };
        let ready = |number: i64| {
            let node = model::NodeName::new(&format!("ip-{number}")).unwrap();
            event(number, Happening::NodeReady { node })
        };
        let events = (1..=8).flat_map(bound).chain((1..=7).map(ready));
        timeline.add(events.collect(), &[]);
        let lines = timeline.lines();
        assert_eq!(lines.len(), 12, "{lines:?}");
        assert!(lines.contains(&"+00:00:05 2 pods bound to ip-5".to_owned()), "{lines:?}");
        assert!(lines.contains(&"+00:00:08 6 more pods bound to …".to_owned()), "{lines:?}");
        assert!(lines.contains(&"+00:00:07 2 more: node … ready".to_owned()), "{lines:?}");
    }

    #[test]
    fn nodes_that_stay_for_one_reason_are_one_line() {
        let of = |what: Option<&str>, why: &str| Rejected {
            what: what.map(str::to_owned),
            why: why.to_owned(),
        };
        let rejecteds = [
            of(Some("a"), "pod x: it stays"),
            of(Some("b"), "it is not initialized"),
            of(None, "a NodeClaim has no instance yet: nothing is decided until it has"),
            of(Some("c"), "it is not initialized"),
        ];
        let lines: Vec<String> = staying(rejecteds.iter()).collect();
        assert_eq!(
            lines,
            [
                // Not a node called `a NodeClaim has no instance yet`.
                "a NodeClaim has no instance yet: nothing is decided until it has",
                "2 nodes stay (b, …): it is not initialized",
                "a stays: pod x: it stays",
            ]
        );
    }
}

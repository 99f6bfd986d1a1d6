//! The timeline: what happened, in lines that people read.
//!
//! What happens to many pods in one second is one line, unless every pod is asked for.

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Decided;
use jiff::Timestamp;
use model::{Function, ledger::Rejected};
use serde_json::{Value, json};
use simulator::{Happening, TimelineEvent};

use crate::output::{count, elapsed};

/// A line: when, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    at: Timestamp,
    kind: &'static str,
    text: String,
    /// What is summed up with others of the same second, and how: before and after the count.
    pods: Option<(u64, String)>,
}

/// The lines so far.
pub(crate) struct Timeline {
    start: Timestamp,
    is_verbose: bool,
    done: Vec<Line>,
    /// Reasons that were shown, so that a pod that waits is not reported at each look.
    shown: BTreeSet<String>,
}

impl Timeline {
    pub(crate) fn new(start: Timestamp, is_verbose: bool) -> Self {
        Self { start, is_verbose, done: Vec::new(), shown: BTreeSet::new() }
    }

    /// Adds what happened since the last call, and shows it.
    pub(crate) fn lines(&mut self, events: Vec<TimelineEvent>, decided: &[Decided]) -> Vec<String> {
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
        let shown =
            lines.iter().map(|line| format!("{} {}", elapsed(self.start, line.at), show(line)));
        let shown = shown.collect();
        self.done.extend(lines);
        shown
    }

    /// What a decider says about its plan.
    fn decisions(&mut self, decided: &Decided) -> Vec<Line> {
        let Some(plan) = &decided.report.plan else { return Vec::new() };
        let line = |kind, text| Line { at: decided.at, kind, text, pods: None };
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
            for unplaced in &plan.unplaced {
                let reasons: Vec<String> =
                    unplaced.reasons.iter().map(ToString::to_string).collect();
                let text = format!("no place for {}: {}", unplaced.pod, reasons.join("; "));
                if self.shown.insert(text.clone()) {
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

/// Why nodes stay, those with the same reason in one line; a reason that names no node by itself.
fn staying<'a>(rejecteds: impl Iterator<Item = &'a Rejected>) -> impl Iterator<Item = String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rejected in rejecteds {
        by_reason.entry(&rejected.why).or_default().extend(rejected.what.as_deref());
    }
    by_reason.into_iter().map(|(why, nodes)| match nodes.as_slice() {
        [first, _, ..] => format!("{} nodes stay ({first}, …): {why}", nodes.len()),
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
        Some(pod) if is_verbose => {
            Line { at: event.at, kind, text: format!("pod {pod} {text}"), pods: None }
        }
        Some(_) => Line { at: event.at, kind, text, pods: Some((1, String::new())) },
        None => Line { at: event.at, kind, text, pods: None },
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

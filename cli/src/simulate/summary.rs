//! The summary: the run in figures, and what found no place and why.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, PodKey,
    ledger::RejectionReason,
    plan::{Reason, Unplaced},
};
use report::{
    contents::{Figure, Notes, PageTable},
    cost::{By, Costs, Over, RULE},
    json::Dollars,
    output::{count, dollars, elapsed, many, seconds, thousands},
    screen::Screen,
};
use serde_json::{Value, json};
use simulator::{Happening, Sim, Summary};

use super::{drains::LongDrain, timeline};

/// How a simulation ended.
pub(crate) struct Outcome {
    summary: Summary,
    /// Pods that wait at the end, and why.
    pub(crate) unplaced: BTreeMap<PodKey, Vec<Reason>>,
    malformed: Vec<String>,
    ignored: Vec<String>,
    dead_letters: Vec<String>,
    drains: Vec<LongDrain>,
    /// How many NodeClaims were deleted, by reason.
    disrupted: BTreeMap<&'static str, u64>,
    /// Spot instances that EC2 took back.
    interruptions: u64,
    /// Who bears what was spent.
    pub(super) costs: Costs,
    /// How long it took.
    pub(super) over: Over,
}

impl Outcome {
    /// Adds to what is assumed.
    pub(crate) fn assume(&mut self, assumed: Vec<String>) {
        self.summary.assumptions.extend(assumed);
    }

    /// How `sim` ended. Of `reasons`, those of pods that still wait count.
    pub(crate) fn of(
        sim: &Sim,
        reasons: &BTreeMap<PodKey, Vec<Reason>>,
        malformed: &[String],
        ignored: &[String],
        (costs, length): (Costs, SignedDuration),
    ) -> Self {
        let waiting = sim.pods().into_iter().filter(|pod| {
            pod.node.is_none() && !pod.is_terminal() && !pod.is_owned_by_daemon_set()
        });
        let unplaced = waiting.map(|pod| {
            let known = reasons.get(&pod.key).cloned();
            let lost = sim.lost_volume_of(&pod).map(|volume| vec![lost_volume(&volume)]);
            (pod.key, lost.or(known).unwrap_or_else(|| vec![still_waiting()]))
        });
        let (mut disrupted, mut interruptions) = (BTreeMap::new(), 0);
        for event in sim.timeline(0) {
            match event.happening {
                Happening::ClaimDeleted { reason, .. } => {
                    *disrupted.entry(reason.as_str()).or_default() += 1;
                }
                Happening::SpotNotice { .. } => interruptions += 1,
                _ => {}
            }
        }
        Self {
            disrupted,
            interruptions,
            costs,
            over: Over::Seconds(u64::try_from(length.as_secs()).unwrap_or_default()),
            drains: LongDrain::of(sim),
            summary: sim.summary(),
            unplaced: unplaced.collect(),
            malformed: malformed.to_vec(),
            ignored: ignored.to_vec(),
            dead_letters: sim.dead_letters().iter().map(|letter| format!("{letter:?}")).collect(),
        }
    }
}

fn still_waiting() -> Reason {
    let text = "was still waiting for its node at the end".to_owned();
    Reason { node_pool: None, reason: RejectionReason::LeftForNextPlan, text }
}

fn lost_volume(volume: &str) -> Reason {
    let text = format!("its PersistentVolume {volume} is local to a node that is not there");
    Reason { node_pool: None, reason: RejectionReason::VolumesElsewhere, text }
}

/// Prints it for people. The figures come last: that is what a terminal still shows.
pub(crate) fn print(
    outcome: &Outcome,
    (start, end): (Timestamp, Timestamp),
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let Outcome { summary, unplaced, malformed, ignored, dead_letters, drains, .. } = outcome;
    let drains: Vec<_> = drains.iter().flat_map(LongDrain::lines).collect();
    let sections = [
        ("Not used", ignored),
        ("Assumed of the account", &summary.assumptions),
        ("Objects that could not be read", malformed),
        ("Messages that failed too often", dead_letters),
        ("Drains that wait for pods", &drains),
        ("Cannot be scheduled", &unplaced_lines(unplaced)),
    ];
    for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        writeln!(out)?;
        screen.title(title, out)?;
        lines.iter().try_for_each(|line| screen.text(2, line, out))?;
    }
    print_costs(outcome, screen, out)?;
    writeln!(out)?;
    let title = format!("Summary after {}", elapsed(start, end).trim_start_matches('+'));
    screen.title(&title, out)?;
    let waits =
        |percent| summary.pending_percentile(percent).map_or_else(|| "-".to_owned(), seconds);
    let nodes: u64 = summary.nodes_by_type.values().map(|count| u64::from(*count)).sum();
    let types: Vec<String> = summary
        .nodes_by_type
        .iter()
        .map(|(name, count)| format!("{} {name}", thousands((*count).into())))
        .collect();
    let types = if types.is_empty() { String::new() } else { format!(": {}", types.join(", ")) };
    let placed = thousands(summary.pods_placed.into());
    let price = dollars(summary.price_now.nanos().into());
    let rows = [
        ("pods placed", format!("{placed} (pending p50 {}, p99 {})", waits(50), waits(99))),
        ("pods unplaced", many(unplaced.len())),
        ("launched in all", launched(summary)),
        ("disrupted", disrupted(outcome)),
        (
            "nodes now",
            format!("{}{types} (instances for {price} an hour)", thousands(nodes.into())),
        ),
    ];
    for (name, value) in rows {
        screen.text(2, &format!("{name:<16} {value}"), out)?;
    }
    Ok(())
}

/// Rows of each table of costs.
const COSTS_SHOWN: usize = 5;

/// Who bears what was spent.
fn print_costs(outcome: &Outcome, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let Outcome { costs, over, .. } = outcome;
    if costs.total() == 0 {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("Cost", out)?;
    screen.text(2, RULE, out)?;
    for by in By::ALL {
        let rows: Vec<Vec<String>> = costs
            .bars(by, *over, COSTS_SHOWN)
            .into_iter()
            .map(|bar| std::iter::once(bar.name).chain(bar.cells).collect())
            .collect();
        let name = by.as_str().to_uppercase();
        screen.table(&[&name, "SPENT", "MONTHLY", "SHARE", "OF REQUESTS"], &rows, out)?;
    }
    Ok(())
}

impl Outcome {
    /// What a page says first.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let summary = &self.summary;
        let waits =
            |percent| summary.pending_percentile(percent).map_or_else(|| "–".to_owned(), seconds);
        let nodes: u64 = summary.nodes_by_type.values().map(|count| u64::from(*count)).sum();
        let launched: u64 = summary.launched.values().map(|count| u64::from(*count)).sum();
        let disrupted: u64 = self.disrupted.values().sum();
        let number = |number: u64| thousands(number.into());
        vec![
            Figure::new(
                "Pods placed",
                number(summary.pods_placed),
                format!("pending p50 {}, p99 {}", waits(50), waits(99)),
            ),
            Figure::new("Pods that cannot be scheduled", many(self.unplaced.len()), String::new()),
            Figure::new("Instances launched", number(launched), by_capacity_type(summary)),
            Figure::new("Disrupted", number(disrupted), reasons(&self.disrupted)),
            Figure::new(
                "Evictions",
                number(summary.evictions),
                format!(
                    "{} lost with their node, {}",
                    number(summary.pods_lost),
                    count(self.interruptions, "spot interruption")
                ),
            ),
            Figure::new(
                "Spent",
                dollars(summary.spent_nanos),
                format!(
                    "for instances; {} run at the end for {} an hour",
                    count(nodes, "node"),
                    dollars(summary.price_now.nanos().into())
                ),
            ),
        ]
    }

    /// Pods without a place, for a page.
    pub(super) fn unplaced_table(&self) -> Option<PageTable> {
        let row = |(workload, reasons, number): (String, String, u64)| {
            vec![workload, thousands(number.into()), reasons]
        };
        let rows: Vec<_> = grouped(&self.unplaced).into_iter().map(row).collect();
        let heads = vec!["Workload", "Pods", "Why"];
        (!rows.is_empty()).then(|| PageTable {
            title: "Cannot be scheduled".to_owned(),
            heads,
            rows,
        })
    }

    /// What else a page says.
    pub(super) fn notes(&self) -> Vec<Notes> {
        let drains: Vec<_> = self.drains.iter().flat_map(LongDrain::lines).collect();
        let notes = [
            Notes::some("Drains that wait for pods", &drains),
            Notes::some("Objects that could not be read", &self.malformed),
            Notes::some("Messages that failed too often", &self.dead_letters),
            Notes::some("Assumed of the account", &self.summary.assumptions),
            Notes::some("Not used", &self.ignored),
        ];
        notes.into_iter().flatten().collect()
    }
}

/// `12 spot, 3 on-demand`
fn by_capacity_type(summary: &Summary) -> String {
    let mut counts: BTreeMap<CapacityType, u64> = BTreeMap::new();
    for (offering, number) in &summary.launched {
        *counts.entry(offering.capacity_type).or_default() += u64::from(*number);
    }
    let parts =
        counts.iter().map(|(kind, number)| format!("{} {kind}", thousands((*number).into())));
    parts.collect::<Vec<_>>().join(", ")
}

/// `2 Empty, 1 Expired`
fn reasons(disrupted: &BTreeMap<&'static str, u64>) -> String {
    let reasons =
        disrupted.iter().map(|(why, number)| format!("{} {why}", thousands((*number).into())));
    reasons.collect::<Vec<_>>().join(", ")
}

/// In brackets behind something, unless there is nothing.
fn in_brackets(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// What was launched, by how it is paid for, and what all of it cost.
fn launched(summary: &Summary) -> String {
    let instances = summary.launched.values().map(|count| u64::from(*count)).sum();
    let parts = in_brackets(&by_capacity_type(summary));
    format!("{}{parts}; {} spent", count(instances, "instance"), dollars(summary.spent_nanos))
}

/// How many NodeClaims were disrupted and why, and what that did to pods.
fn disrupted(outcome: &Outcome) -> String {
    let Outcome { summary, disrupted, interruptions, .. } = outcome;
    let reasons = in_brackets(&reasons(disrupted));
    let lost = thousands(summary.pods_lost.into());
    format!(
        "{}{reasons}; {} ({lost} lost with their node), {}",
        count(disrupted.values().sum(), "NodeClaim"),
        count(summary.evictions, "eviction"),
        count(*interruptions, "spot interruption"),
    )
}

/// One line for the pods of a workload that have the same reasons.
fn unplaced_lines(unplaced: &BTreeMap<PodKey, Vec<Reason>>) -> Vec<String> {
    let line = |(workload, reasons, number): (String, String, u64)| match number {
        1 => format!("{workload}: {reasons}"),
        number => format!("{workload} ×{}: {reasons}", thousands(number.into())),
    };
    grouped(unplaced).into_iter().map(line).collect()
}

/// Workloads with the reasons of their pods and how many pods have them.
fn grouped(unplaced: &BTreeMap<PodKey, Vec<Reason>>) -> Vec<(String, String, u64)> {
    let pods: Vec<Unplaced> = unplaced
        .iter()
        .map(|(pod, reasons)| Unplaced { pod: pod.clone(), reasons: reasons.clone() })
        .collect();
    let groups = timeline::unplaced(&pods).into_iter();
    let counted = |pods: Vec<PodKey>| u64::try_from(pods.len()).unwrap_or(u64::MAX);
    groups.map(|(workload, reasons, pods)| (workload, reasons, counted(pods))).collect()
}

/// The same for machines. Money is dollars.
pub(crate) fn json(outcome: &Outcome) -> Value {
    let Outcome {
        summary,
        unplaced,
        malformed,
        ignored,
        dead_letters,
        drains,
        disrupted,
        interruptions,
        costs,
        over,
    } = outcome;
    let millis = |percent| i64::try_from(summary.pending_percentile(percent)?.as_millis()).ok();
    let nodes: BTreeMap<String, u32> =
        summary.nodes_by_type.iter().map(|(name, count)| (name.to_string(), *count)).collect();
    let launched = summary.launched.iter().map(|(offering, count)| {
        json!({
            "instanceType": offering.instance_type.as_str(),
            "capacityType": offering.capacity_type.as_str(),
            "zone": offering.zone.as_str(),
            "instances": count,
        })
    });
    let launched: Vec<Value> = launched.collect();
    let unplaced: Vec<Value> = unplaced
        .iter()
        .map(|(pod, reasons)| {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            json!({"pod": pod.to_string(), "reasons": reasons})
        })
        .collect();
    json!({
        "podsPlaced": summary.pods_placed,
        "pendingMilliseconds": {"p50": millis(50), "p99": millis(99)},
        "unplaced": unplaced,
        "nodesByType": nodes,
        "launched": launched,
        "pricePerHour": Dollars::from(summary.price_now),
        "spent": Dollars::of(summary.spent_nanos),
        "disrupted": disrupted,
        "spotInterruptions": interruptions,
        "costs": costs.json(*over),
        "evictions": summary.evictions,
        "podsLost": summary.pods_lost,
        "drains": drains.iter().map(LongDrain::json).collect::<Vec<_>>(),
        "malformed": malformed,
        "deadLetters": dead_letters,
        "assumptions": summary.assumptions,
        "ignored": ignored,
    })
}

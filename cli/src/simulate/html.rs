//! The report of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{HourlyPrice, InstanceTypeName, NodeName, Pod, PodKey};
use report::{
    contents::{Chart, Figure, Measure, PackedNode, PageData, Series, Style, micros},
    output::{dollars, dollars_down, elapsed, seconds},
    packing::Packer,
};
use simulator::{Happening, TimelineEvent};

use super::{
    lanes,
    record::{MEASURES, Record, Sample, Snapshot},
    summary::Outcome,
    timeline::Timeline,
};
use crate::{least, workloads::workload_of};

/// Types that have an area of their own.
const TYPES_SHOWN: usize = 9;

/// What was played.
pub(super) struct Played<'a> {
    pub(super) title: String,
    pub(super) record: &'a Record,
    pub(super) events: &'a [TimelineEvent],
    pub(super) outcome: &'a Outcome,
    pub(super) timeline: &'a Timeline,
    pub(super) end: Timestamp,
}

impl Played<'_> {
    /// The page's content.
    pub(super) fn report(&self) -> PageData {
        let start = self.record.steps.start;
        let length = elapsed(start, self.end);
        let length = length.trim_start_matches('+');
        PageData {
            title: "journeyman simulate".to_owned(),
            about: format!("{} {length} of virtual time, from {start}.", self.title),
            figures: self.figures(),
            charts: self.charts(),
            costs: self.outcome.costs.view(self.outcome.over),
            packing: self.packing(),
            lanes: lanes::lanes(self.record, self.events, self.timeline, self.end),
            rollouts: self.record.rollouts.lanes((start, self.end)),
            tables: self.outcome.unplaced_table().into_iter().collect(),
            timeline: Some(self.timeline.of_report(self.end)),
            notes: self.outcome.notes(),
            ..PageData::default()
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = self.outcome.figures();
        figures.extend(self.record.savings.figure(self.end));
        figures.extend(self.least().into_iter().flatten());
        figures
    }

    /// What all instances could have cost at least, where that was proved for each time, and how much less that is.
    fn least(&self) -> Option<[Figure; 2]> {
        let seconds = u128::try_from(self.record.steps.seconds).unwrap_or_default();
        let samples = self.record.samples.iter();
        let paid = samples.clone().map(|sample| u128::from(sample.price.nanos())).sum::<u128>();
        let bounds: Option<Vec<u128>> = samples
            .map(|sample| match sample.bound {
                None if sample.price == HourlyPrice::default() => Some(0),
                bound => bound.map(|bound| bound.nanos().into()),
            })
            .collect();
        let least: u128 = bounds?.into_iter().sum();
        let times = (least > 0).then(|| paid * 100 / least)?;
        let more = format!(
            "proved for the same pods; {}.{:02} times that was paid",
            times / 100,
            times % 100
        );
        let possible = paid.saturating_sub(least);
        let part = possible * 100 / paid.max(1);
        let possible = Figure::new(
            "Possible savings",
            dollars(possible * seconds / 3_600),
            format!("at most, {part} % of the cost: the cost minus the least possible"),
        );
        let least = Figure::new("Least possible", dollars_down(least * seconds / 3_600), more);
        Some([possible, least])
    }

    fn charts(&self) -> Vec<Chart> {
        let step = self.record.steps.in_words();
        let each = format!("One point each {step}, as it stood at the end of them.");
        let within = format!("One point each {step}, for what happened within them.");
        let samples = &self.record.samples;
        let mut charts = vec![
            self.capacity("Capacity by instance type", &each, |measure| {
                by_type(samples, move |sample| sample.by_type.get(measure))
            }),
            self.capacity("Capacity by capacity type", &each, |measure| {
                parts(samples, move |sample| sample.by_capacity_type.get(measure))
            }),
            self.chart("Cost per hour", &self.priced(&each), ("$", 1_000_000, Style::Lines), {
                let price = |sample: &Sample| Some(micros(sample.price.nanos().into()));
                let bound =
                    |sample: &Sample| sample.bound.map(|bound| micros(bound.nanos().into()));
                [("price", values(samples, price)), ("lower bound", values(samples, bound))]
                    .into_iter()
                    .filter(|(_, values)| values.iter().any(Option::is_some))
                    .map(|(name, values)| Series { name: name.to_owned(), values })
                    .collect()
            }),
        ];
        let (pending, disturbed) = self.happened();
        let waiting = Series {
            name: "pods that wait".to_owned(),
            values: values(samples, |sample| Some(sample.waiting)),
        };
        let bound = "From a pod's creation to its node, of the pods that were bound.";
        let left = "Pods that were asked to leave or went down with their node, and spot instances that \
                    EC2 took back.";
        charts.extend([
            self.chart(
                "Pending time",
                &format!("{bound} {within}"),
                ("s", 1_000, Style::Points),
                pending,
            ),
            self.chart("Pods without a node", &each, ("", 1, Style::Lines), vec![waiting]),
            self.chart(
                "Evictions and interruptions",
                &format!("{left} {within}"),
                ("", 1, Style::Bars),
                disturbed,
            ),
        ]);
        charts.retain(|chart| !chart.series.is_empty());
        charts
    }

    /// What is said about prices, and about a bound that is not there.
    fn priced(&self, each: &str) -> String {
        let has_bound = self.record.samples.iter().any(|sample| sample.bound.is_some());
        let bound = if has_bound { least::ABOUT } else { least::UNKNOWN };
        format!("What all instances that are pending or running cost. {bound} {each}")
    }

    fn chart(
        &self,
        title: &'static str,
        about: &str,
        (unit, per, style): (&'static str, u64, Style),
        series: Vec<Series>,
    ) -> Chart {
        let steps = self.record.steps;
        let ends = (0..self.record.samples.len()).map(|place| steps.end_of(place).min(self.end));
        let at = ends.map(Timestamp::as_second).collect();
        let (about, measures) = (about.to_owned(), Vec::new());
        Chart { title, about, unit, per, style, at, series, measures }
    }

    /// A chart of what runs, in each measure.
    fn capacity(
        &self,
        title: &'static str,
        about: &str,
        series: impl Fn(usize) -> Vec<Series>,
    ) -> Chart {
        let measure = |(place, (name, unit, per)): (usize, (&'static str, &'static str, u64))| {
            let series = if place == 0 { Vec::new() } else { series(place) };
            Measure { name, unit, per, series }
        };
        let about = format!("All instances that are pending or running. {about}");
        let (_, unit, per) = MEASURES[0];
        let measures = MEASURES.into_iter().enumerate().map(measure).collect();
        Chart { measures, ..self.chart(title, &about, (unit, per, Style::Stack), series(0)) }
    }

    /// Pending times, and what disturbed pods, in each step.
    fn happened(&self) -> (Vec<Series>, Vec<Series>) {
        let steps = self.record.samples.len();
        let mut created: BTreeMap<&PodKey, Timestamp> = BTreeMap::new();
        let mut waits: Vec<Vec<SignedDuration>> = vec![Vec::new(); steps];
        let mut counts = [vec![0; steps], vec![0; steps], vec![0; steps]];
        for TimelineEvent { at, happening } in self.events {
            let place = self.record.steps.place(*at);
            let counted = match happening {
                Happening::PodPending { pod } => {
                    created.insert(pod, *at);
                    continue;
                }
                Happening::PodBound { pod, .. } => {
                    let waited = created.get(pod).map(|created| at.duration_since(*created));
                    waits.get_mut(place).into_iter().for_each(|waits| waits.extend(waited));
                    continue;
                }
                Happening::PodEvicted { .. } => 0,
                Happening::PodLost { .. } => 1,
                Happening::SpotNotice { .. } => 2,
                _ => continue,
            };
            if let Some(count) = counts.get_mut(counted).and_then(|counts| counts.get_mut(place)) {
                *count += 1;
            }
        }
        for waits in &mut waits {
            waits.sort();
        }
        let millis = |wait: &SignedDuration| u64::try_from(wait.as_millis()).unwrap_or_default();
        let median = |waits: &Vec<SignedDuration>| waits.get(waits.len() / 2).map(millis);
        let longest = |waits: &Vec<SignedDuration>| waits.last().map(millis);
        let pending = vec![
            Series { name: "median".to_owned(), values: waits.iter().map(median).collect() },
            Series { name: "longest".to_owned(), values: waits.iter().map(longest).collect() },
        ];
        let names = ["evicted", "lost with their node", "spot interruptions"];
        let disturbed = names.into_iter().zip(counts).map(|(name, counts)| Series {
            name: name.to_owned(),
            values: counts.into_iter().map(Some).collect(),
        });
        (pending, disturbed.collect())
    }

    fn packing(&self) -> Option<report::contents::PackingView> {
        let mut packer = Packer::default();
        let mut bound: BTreeMap<(&PodKey, &NodeName), Timestamp> = BTreeMap::new();
        for TimelineEvent { at, happening } in self.events {
            if let Happening::PodBound { pod, node } = happening {
                bound.insert((pod, node), *at);
            }
        }
        for snapshot in &self.record.snapshots {
            let nodes = self.nodes(snapshot, &bound, &mut packer);
            let name = elapsed(self.record.steps.start, snapshot.at);
            packer.moment(name, Some(snapshot.at), nodes);
        }
        packer.finish(
            "What pods request of each node's CPU and memory, in a color for each workload. Point at an area or tap it \
             for its pods; the button lists all pods of a node, with why they are there."
                .to_owned(),
        )
    }

    fn nodes(
        &self,
        snapshot: &Snapshot,
        bound: &BTreeMap<(&PodKey, &NodeName), Timestamp>,
        packer: &mut Packer,
    ) -> Vec<PackedNode> {
        let mut pods: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
        for pod in snapshot.pods.iter().filter(|pod| !pod.is_terminal()) {
            pod.node.iter().for_each(|node| pods.entry(node).or_default().push(pod));
        }
        let claims = snapshot.claims.iter();
        let claims: BTreeMap<&NodeName, _> =
            claims.filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
        let running: BTreeMap<_, _> =
            snapshot.running.iter().map(|instance| (&instance.id, instance)).collect();
        let mut nodes = Vec::new();
        for node in &snapshot.nodes {
            let claim = claims.get(&node.name);
            let instance = claim.and_then(|claim| running.get(&claim.instance.as_ref()?.id));
            let meant: BTreeSet<&PodKey> =
                claim.into_iter().flat_map(|claim| &claim.pods).collect();
            let why = |pod: &Pod| match bound.get(&(&pod.key, &node.name)) {
                _ if pod.is_owned_by_daemon_set() => {
                    "a pod of a DaemonSet: every node has one".to_owned()
                }
                Some(at) => self.reason(pod, *at, meant.contains(&pod.key)),
                None => "it was here before the start".to_owned(),
            };
            let pods = pods
                .get(&node.name)
                .into_iter()
                .flatten()
                .map(|pod| packer.pod(pod, owner(pod), why(pod)));
            let pods = pods.collect();
            let launched = claim.and_then(|claim| self.record.reasons.get(&claim.name));
            let launched = launched.map(|reason| format!("It is there because of {reason}"));
            let stays = snapshot.stays.get(node.name.as_str());
            let stays = stays.map(|why| format!("It stays (as of the last look): {why}"));
            let going = claim.and_then(|claim| claim.deletion.as_ref());
            let going = going.map(|deletion| format!("It is disrupted: {}", deletion.reason));
            let why = [launched, going.or(stays)].into_iter().flatten();
            nodes.push(PackedNode {
                name: node.name.to_string(),
                kind: instance.map(|instance| instance.offering.to_string()).unwrap_or_default(),
                pool: claim.map(|claim| claim.node_pool.to_string()).unwrap_or_default(),
                price: instance.map(|instance| micros(instance.price.nanos().into())),
                cpu: node.allocatable.cpu.0,
                memory: node.allocatable.memory.0,
                mark: None,
                why: why.map(|text| packer.text(text)).collect(),
                pods,
            });
        }
        nodes
    }

    fn reason(&self, pod: &Pod, at: Timestamp, is_meant: bool) -> String {
        let waited = seconds(at.duration_since(pod.created_at));
        let at = elapsed(self.record.steps.start, at);
        let why =
            if is_meant { "the node was launched for it" } else { "kube-scheduler put it here" };
        format!("{why}; bound at {at}, {waited} after it was created")
    }
}

/// The workload of a pod.
pub(super) fn owner(pod: &Pod) -> String {
    match &pod.owner {
        Some(owner) if owner.kind != "ReplicaSet" => {
            format!("{}/{}", pod.key.namespace, owner.name)
        }
        _ => workload_of(&pod.key),
    }
}

fn values(samples: &[Sample], value: impl Fn(&Sample) -> Option<u64>) -> Vec<Option<u64>> {
    samples.iter().map(value).collect()
}

/// A series for each key that is ever there.
fn parts<'s, K: Ord + ToString + 's>(
    samples: &'s [Sample],
    counts: impl Fn(&'s Sample) -> Option<&'s BTreeMap<K, u64>>,
) -> Vec<Series> {
    let keys: BTreeSet<&K> = samples.iter().filter_map(&counts).flat_map(BTreeMap::keys).collect();
    let count = |sample, key| counts(sample).and_then(|counts| counts.get(key)).copied();
    let series = keys.into_iter().map(|key| Series {
        name: key.to_string(),
        values: samples.iter().map(|sample| Some(count(sample, key).unwrap_or(0))).collect(),
    });
    series.collect()
}

/// The types with the most of it by themselves, the others together.
fn by_type<'s>(
    samples: &'s [Sample],
    counts: impl Fn(&'s Sample) -> Option<&'s BTreeMap<InstanceTypeName, u64>>,
) -> Vec<Series> {
    let mut series = parts(samples, counts);
    let hours = |series: &Series| series.values.iter().flatten().sum::<u64>();
    series.sort_by(|a, b| hours(b).cmp(&hours(a)).then_with(|| a.name.cmp(&b.name)));
    let others = series.split_off(series.len().min(TYPES_SHOWN));
    if let [_, ..] = others.as_slice() {
        let values = (0..samples.len()).map(|place| {
            let values = others.iter().filter_map(|series| series.values.get(place).copied());
            Some(values.flatten().sum())
        });
        let name = format!("{} other types", others.len());
        let values = values.collect();
        series.push(Series { name, values });
    }
    series
}

//! What a report shows of a simulation, taken down while it is played.

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Decided;
use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, HourlyPrice, InstanceId, InstanceTypeName, NodeClaim, NodeClaimName, Pod,
    duration::later, node::Node,
};
use report::{contents::micros, series::Steps};
use simulator::{Happening, RunningInstance, Sim, TimelineEvent};

use super::{STEP, rollouts::Rollouts, savings::Savings};
use crate::least::{Least, paid_for};

/// Times at which every node and pod is kept, beside the end.
const SNAPSHOTS: i32 = 8;
/// Pods of all snapshots together, above which every other one is dropped: a page stays small.
const SNAPSHOT_PODS_MAX: usize = 24_000;

/// What the instances that run are measured in: name, unit, and how many of what a [`Sample`] counts are one unit.
pub(super) const MEASURES: [(&str, &str, u64); 3] =
    [("vCPUs", "", 1_000), ("nodes", "", 1), ("dollars an hour", "$", 1_000_000)];

/// How things stood at the end of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// In each of [`MEASURES`], in its place.
    pub(super) by_type: [BTreeMap<InstanceTypeName, u64>; 3],
    pub(super) by_capacity_type: [BTreeMap<CapacityType, u64>; 3],
    pub(super) price: HourlyPrice,
    /// What no packing of the same pods can be cheaper than, where it was worked out.
    pub(super) bound: Option<HourlyPrice>,
    pub(super) waiting: u64,
}

/// Everything at one time.
pub(super) struct Snapshot {
    pub(super) at: Timestamp,
    pub(super) nodes: Vec<Node>,
    pub(super) pods: Vec<Pod>,
    pub(super) claims: Vec<NodeClaim>,
    pub(super) running: Vec<RunningInstance>,
    /// Why nodes stay, as it was said last.
    pub(super) stays: BTreeMap<String, String>,
}

/// Takes down what a report shows.
pub(super) struct Record {
    pub(super) steps: Steps,
    /// One for each step.
    pub(super) samples: Vec<Sample>,
    pub(super) snapshots: Vec<Snapshot>,
    /// Why each claim was created.
    pub(super) reasons: BTreeMap<NodeClaimName, String>,
    /// What was decided last about claims that go.
    pub(super) endings: BTreeMap<NodeClaimName, String>,
    /// What disruption saved.
    pub(super) savings: Savings,
    /// What became of drifted nodes, where that is limited.
    pub(super) rollouts: Rollouts,
    /// The claims of instances.
    pub(super) claims: BTreeMap<InstanceId, NodeClaimName>,
    /// Instances that were launched, and whose claim does not name them yet.
    unnamed: BTreeSet<InstanceId>,
    stays: BTreeMap<String, String>,
    least: Least,
    /// How long it is from one snapshot to the next.
    pause: SignedDuration,
}

impl Record {
    /// Of what is played from `start` to `end`.
    pub(super) fn new(start: Timestamp, end: Timestamp) -> Self {
        let length = end.duration_since(start);
        Self {
            steps: Steps::of(start, end),
            samples: Vec::new(),
            snapshots: Vec::new(),
            reasons: BTreeMap::new(),
            endings: BTreeMap::new(),
            savings: Savings::default(),
            rollouts: Rollouts::default(),
            claims: BTreeMap::new(),
            unnamed: BTreeSet::new(),
            stays: BTreeMap::new(),
            least: Least::default(),
            pause: length.checked_div(SNAPSHOTS).unwrap_or(length),
        }
    }

    /// Looks at `sim`, and at what happened and was decided since the last look.
    pub(super) fn look(&mut self, sim: &Sim, events: &[TimelineEvent], decided: &[Decided]) {
        self.name_instances(sim, events);
        self.rollouts.look(sim, decided);
        let decisions = decided.iter().filter_map(|decided| decided.report.plan.as_ref());
        for decision in decisions.flat_map(|plan| &plan.decisions) {
            self.savings.decided(decision);
            for claim in decision.claims() {
                let reason = format!("{}: {}", decision.function, decision.summary);
                if decision.kind.ends_claims() {
                    self.endings.insert(claim.clone(), reason.clone());
                }
                self.reasons.entry(claim.clone()).or_insert(reason);
            }
            for rejected in &decision.rejected {
                if let Some(node) = &rejected.what {
                    self.stays.insert(node.clone(), rejected.why.clone());
                }
            }
        }
        for event in events {
            self.savings.happened(event);
        }
        let place = self.steps.place(sim.now());
        let next = later(sim.now(), STEP);
        // Only the last look of a step is kept.
        let sample = self.sample(sim, place < self.steps.place(next));
        if place >= self.samples.len() {
            self.samples.resize(place + 1, sample);
        } else if let Some(latest) = self.samples.last_mut() {
            *latest = sample;
        }
        let due = self.snapshots.last().map_or(self.steps.start, |snapshot| snapshot.at);
        if sim.now().duration_since(due) >= self.pause {
            self.snap(sim);
        }
    }

    /// Finds the claims of instances: a launch is asked for several claims at once, which name theirs afterwards.
    fn name_instances(&mut self, sim: &Sim, events: &[TimelineEvent]) {
        self.unnamed.extend(events.iter().filter_map(|event| match &event.happening {
            Happening::InstanceLaunched { instance, .. } => Some(instance.clone()),
            _ => None,
        }));
        if self.unnamed.is_empty() {
            return;
        }
        for claim in sim.claims() {
            if let Some(instance) = claim.instance
                && self.unnamed.remove(&instance.id)
            {
                self.claims.insert(instance.id, claim.name);
            }
        }
    }

    /// The end.
    pub(super) fn close(&mut self, sim: &Sim) {
        let sample = self.sample(sim, true);
        self.samples.last_mut().into_iter().for_each(|latest| latest.clone_from(&sample));
        if self.snapshots.last().is_none_or(|snapshot| snapshot.at < sim.now()) {
            self.snap(sim);
        }
        while self.snapshots.len() > 1
            && self.snapshots.iter().map(|snapshot| snapshot.pods.len()).sum::<usize>()
                > SNAPSHOT_PODS_MAX
        {
            // The last one stays.
            let parity = self.snapshots.len() % 2;
            let mut place = 0;
            self.snapshots.retain(|_| {
                place += 1;
                place % 2 == parity
            });
        }
    }

    fn snap(&mut self, sim: &Sim) {
        self.snapshots.push(Snapshot {
            at: sim.now(),
            nodes: sim.nodes(),
            pods: sim.pods(),
            claims: sim.claims(),
            running: sim.running(),
            stays: self.stays.clone(),
        });
    }

    fn sample(&mut self, sim: &Sim, with_bound: bool) -> Sample {
        let running = sim.running();
        let bound = with_bound.then(|| self.least.price(sim, &paid_for(sim, &running))).flatten();
        let mut sample = Sample { waiting: sim.pods_waiting(), bound, ..Sample::default() };
        let types = &sim.supply().catalog.instance_types;
        for RunningInstance { offering, price, .. } in running {
            let sold = types.binary_search_by(|sold| sold.name.cmp(&offering.instance_type));
            let sold = sold.ok().and_then(|place| types.get(place));
            let cpu = sold.map_or(0, |sold| sold.capacity.cpu.0);
            let amounts = [cpu, 1, micros(price.nanos().into())];
            for (counts, amount) in sample.by_type.iter_mut().zip(amounts) {
                *counts.entry(offering.instance_type.clone()).or_default() += amount;
            }
            for (counts, amount) in sample.by_capacity_type.iter_mut().zip(amounts) {
                *counts.entry(offering.capacity_type).or_default() += amount;
            }
            sample.price = sample.price.saturating_add(price);
        }
        sample
    }
}

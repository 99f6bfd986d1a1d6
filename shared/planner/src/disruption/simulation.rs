//! What would become of pods without some nodes.
//!
//! Karpenter: `pkg/controllers/disruption/helpers.go`, `SimulateScheduling`.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use model::{
    HourlyPrice, InstanceType, NodeName, NodePoolName, PodKey, Requirements, facts::Facts,
    node_pool::NodePool, plan::Target,
};

use super::{Options, candidate::Candidate, objection::Objection};
use crate::scheduling::{
    launchable::known::KnownTypes,
    what_if::{self, Trial, World},
};

/// What the nodes would go for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They have drifted: their pods may go anywhere.
    Drift,
    /// They are ill: also the pods that would keep them from going may go anywhere.
    Repair,
    /// To save, at this moment: running pods do not go onto nodes on which something happened just
    /// before.
    Consolidation(Timestamp),
}

/// A node that would be launched.
#[derive(Clone, Debug)]
pub struct NewNode {
    pub(crate) pool: NodePoolName,
    /// The types that it may become, cheapest first, at most as many as a claim keeps.
    pub(crate) types: Vec<Arc<InstanceType>>,
    pub(crate) requirements: Requirements,
    pub(crate) pods: Vec<PodKey>,
    /// Drivers whose devices these pods claim.
    pub(crate) device_drivers: BTreeSet<String>,
}

/// Where the pods would be.
#[derive(Clone, Debug, Default)]
pub struct Simulated {
    /// Nodes that would be launched, those for pods that are pending anyway among them.
    pub(crate) in_flight: Vec<NewNode>,
    /// Pods that go onto what is there.
    pub placed: Vec<(Target, Vec<PodKey>)>,
    /// A pod that runs and would find no place, and why.
    pub(crate) stuck: Option<Objection>,
}

/// Answers what would be without some nodes.
#[derive(Debug)]
pub struct Simulator<'a> {
    facts: &'a Facts,
    known: KnownTypes,
    /// See [`Options`].
    is_watched: bool,
    /// The prepared facts, from the first use on.
    world: Option<World<'a>>,
    /// How much was simulated so far, in pods.
    pub(crate) work: u64,
    /// How much may have been before the method stops for this time.
    work_max: u64,
    /// How many what-ifs that were.
    pub(crate) examined: u64,
    /// The nodes that they were about.
    pub(crate) seen: BTreeSet<NodeName>,
}

impl<'a> Simulator<'a> {
    /// About `facts`, whose instance types may be `known`.
    pub(crate) fn new(facts: &'a Facts, options: &Options) -> Self {
        Self {
            facts,
            known: options.types.clone(),
            is_watched: options.is_watched,
            world: None,
            work: 0,
            work_max: u64::MAX,
            examined: 0,
            seen: BTreeSet::new(),
        }
    }

    /// From here on, `work` more may be simulated.
    pub(crate) fn allow(&mut self, work: u64) {
        self.work_max = self.work.saturating_add(work);
    }

    /// Whether nothing more may be simulated.
    pub(crate) fn is_used_up(&self) -> bool {
        self.work_max <= self.work
    }

    /// The facts made ready.
    pub(crate) fn world(&mut self) -> &mut World<'a> {
        let (known, is_watched) = (&self.known, self.is_watched);
        self.world.get_or_insert_with(|| World::of(self.facts, known, is_watched))
    }

    /// What would be without `nodes`.
    pub(crate) fn without(
        &mut self,
        nodes: &[&Candidate<'a>],
        mode: Mode,
    ) -> Result<Simulated, Objection> {
        self.tried(nodes, mode, Trial::default())
    }

    /// What would be without `nodes` to save, if new nodes are packed so that they cost least.
    pub(crate) fn packed(
        &mut self,
        nodes: &[&Candidate<'a>],
        now: Timestamp,
    ) -> Result<Simulated, Objection> {
        let trial = Trial { is_packed: true, ..Trial::default() };
        self.tried(nodes, Mode::Consolidation(now), trial)
    }

    /// What would be without `nodes` to save, if kube-scheduler places the pods as it likes.
    pub(crate) fn scattered(
        &mut self,
        nodes: &[&Candidate<'a>],
        now: Timestamp,
    ) -> Result<Simulated, Objection> {
        let trial = Trial { is_scattered: true, ..Trial::default() };
        self.tried(nodes, Mode::Consolidation(now), trial)
    }

    /// Whether the pods of `node` fit onto nodes that are there, if none of these had to settle at `now`.
    pub(crate) fn fits_once_settled(&mut self, node: &Candidate<'a>, now: Timestamp) -> bool {
        if !self.world().is_any_unsettled(now) {
            return false;
        }
        let names = [&node.node.name];
        let outcome = self.world().without(&Trial { without: &names, ..Trial::default() });
        self.count(outcome.pods);
        outcome.stuck.is_empty() && outcome.in_flight.is_empty()
    }

    /// What the pods of each of `nodes` are worth for one hour: at the least for what new nodes for all of them cost.
    pub(crate) fn values(&mut self, nodes: &[&Candidate<'a>]) -> Vec<HourlyPrice> {
        let names: Vec<&NodeName> = nodes.iter().map(|node| &node.node.name).collect();
        let (values, pods) = self.world().values(&names);
        self.count(pods);
        values
    }

    /// Every trial costs something, whether it moves pods or not.
    fn count(&mut self, pods: usize) {
        self.work = self.work.saturating_add(u64::try_from(pods).unwrap_or(u64::MAX) + 1);
    }

    /// What would be if `node` gave its instance of a reservation back before anything is launched;
    /// `None` if it is in none.
    pub(crate) fn first_without(
        &mut self,
        node: &Candidate<'a>,
        mode: Mode,
    ) -> Option<Result<Simulated, Objection>> {
        let held = node.reservation()?;
        let trial = Trial { given_back: Some(held), ..Trial::default() };
        Some(self.tried(&[node], mode, trial))
    }

    fn tried(
        &mut self,
        nodes: &[&Candidate<'a>],
        mode: Mode,
        trial: Trial<'_>,
    ) -> Result<Simulated, Objection> {
        if !self.facts.node_pools.iter().any(|pool| is_ready(self.facts, pool)) {
            return Err(Objection::NoReadyNodePool);
        }
        let names: Vec<&NodeName> = nodes.iter().map(|node| &node.node.name).collect();
        let settles_at = match mode {
            Mode::Drift | Mode::Repair => None,
            Mode::Consolidation(at) => Some(at),
        };
        let go_anyway = mode == Mode::Repair;
        let trial = Trial { without: &names, settles_at, go_anyway, ..trial };
        let outcome = self.world().without(&trial);
        self.examined += 1;
        self.seen.extend(names.into_iter().cloned());
        self.count(outcome.pods);
        let new = |new: what_if::NewNode| NewNode {
            pool: new.node_pool,
            types: new.instance_types,
            requirements: new.requirements,
            pods: new.pods,
            device_drivers: new.device_drivers,
        };
        Ok(Simulated {
            stuck: outcome
                .stuck
                .into_iter()
                .next()
                .map(|(pod, why)| Objection::NoPlace { pod, why }),
            in_flight: outcome.in_flight.into_iter().map(new).collect(),
            placed: outcome.placed,
        })
    }
}

/// Whether `pool` may launch something.
fn is_ready(facts: &Facts, pool: &NodePool) -> bool {
    pool.is_usable() && facts.ready_types(&pool.template.node_class).is_some()
}

//! What befell nodes although nothing in the cluster decided it: EC2 took them back, or they failed.

use std::collections::{BTreeMap, BTreeSet};

use api::objects::EventSubject;
use jiff::Timestamp;
use model::{CapacityType, InstanceId, NodeName, OfferingKey, ProviderId, event::EventReason};
use report::output::{count, many};
use serde_json::{Value, json};
use simulator::{Action, RunningInstance, Sim, SpotTarget};

use super::dumps::Dump;
use crate::list_price::offering;

/// How AWS Node Termination Handler calls an interruption. Karpenter's name is [`EventReason::SpotInterrupted`].
const SPOT: &str = "SpotInterruption";
/// What says that a node goes because of its instance. Karpenter says that an instance terminates even where it
/// terminates it.
const TAKEN: [&str; 2] = [EventReason::TerminatingOnInterruption.as_str(), SPOT];

/// What befell an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Misfortune {
    /// EC2 takes it back in two minutes.
    Spot,
    /// AWS announced a change of it.
    Change,
    /// It ended.
    End,
}

/// A misfortune of one of their instances.
#[derive(Clone, Debug)]
struct Incident {
    /// When their cluster said so.
    at: Timestamp,
    instance: InstanceId,
    /// The node of the instance, if it had one.
    node: Option<NodeName>,
    offering: Option<OfferingKey>,
    what: Misfortune,
}

impl Incident {
    /// What happens to us then: it befalls the same instance, or one of the same offering; `None` where none is among
    /// `running`.
    fn played(&self, running: &[RunningInstance]) -> Option<Action> {
        let is_same = |ours: &&RunningInstance| ours.id == self.instance;
        let is_alike = |ours: &&RunningInstance| Some(&ours.offering) == self.offering.as_ref();
        let ours = running.iter().find(is_same).or_else(|| running.iter().find(is_alike))?;
        let target = SpotTarget::Instance(ours.id.clone());
        Some(match self.what {
            Misfortune::Spot if ours.offering.capacity_type == CapacityType::Spot => {
                Action::InterruptSpot(target)
            }
            Misfortune::Change => Action::AnnounceChange(target),
            Misfortune::Spot | Misfortune::End => Action::TerminateInstance(target),
        })
    }
}

/// What befell their nodes, and what of it befell ours.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    /// In the order of time.
    all: Vec<Incident>,
    /// Instances whose misfortune was played to us.
    played: BTreeSet<InstanceId>,
    /// Whether the dumps would show any: they have events, or no instance that EC2 takes back.
    is_known: bool,
    /// Evictions of theirs that count on neither side.
    pub(super) left_out: u64,
}

impl Incidents {
    /// What the events of `dumps` say.
    pub(super) fn of(dumps: &[Dump]) -> Self {
        let machines = Machines::of(dumps);
        let mut reasons: BTreeMap<&InstanceId, BTreeMap<&str, Timestamp>> = BTreeMap::new();
        let events = dumps.iter().flat_map(|dump| &dump.events);
        for event in events {
            let Some(instance) = machines.named.get(&event.about) else { continue };
            let known = reasons.entry(instance).or_default();
            let at = known.entry(&event.reason).or_insert(event.at);
            *at = event.at.min(*at);
        }
        let times = dumps.first().zip(dumps.last());
        let is_between =
            |at: &Timestamp| times.is_some_and(|(first, last)| first.at < *at && *at <= last.at);
        let mut incidents: Vec<Incident> = reasons
            .into_iter()
            .filter_map(|(instance, reasons)| {
                let at = TAKEN.into_iter().find_map(|reason| reasons.get(reason).copied())?;
                let has = |reason: EventReason| reasons.contains_key(reason.as_str());
                let what = if has(EventReason::SpotInterrupted) || reasons.contains_key(SPOT) {
                    Misfortune::Spot
                } else if has(EventReason::InstanceUnhealthy) {
                    Misfortune::Change
                } else {
                    Misfortune::End
                };
                let Machine { node, offering } = machines.known.get(instance)?.clone();
                Some(Incident { at, instance: instance.clone(), node, offering, what })
            })
            .filter(|incident| is_between(&incident.at))
            .collect();
        incidents.sort_by(|a, b| (a.at, &a.instance).cmp(&(b.at, &b.instance)));
        let is_known = machines.known.values().all(|machine| !machine.is_spot())
            || dumps.iter().any(|dump| !dump.events.is_empty());
        Self { all: incidents, is_known, ..Self::default() }
    }

    /// When the next one comes after `now`.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.all.iter().map(|incident| incident.at).find(|at| now < *at)
    }

    /// Has happen to us what happens to them at the present of `sim`.
    pub(super) fn play(&mut self, sim: &Sim) {
        for incident in self.all.iter().filter(|incident| incident.at == sim.now()) {
            if let Some(action) = incident.played(&sim.running()) {
                sim.act(action);
                self.played.insert(incident.instance.clone());
            }
        }
    }

    /// Their nodes whose misfortune was not played to us.
    pub(super) fn theirs_alone(&self) -> BTreeSet<NodeName> {
        let alone = self.all.iter().filter(|incident| !self.played.contains(&incident.instance));
        alone.filter_map(|incident| incident.node.clone()).collect()
    }

    /// The same for machines.
    pub(super) fn json(&self) -> Value {
        json!({
            "known": self.is_known,
            "theirs": self.all.len(),
            "played": self.played.len(),
            "evictionsLeftOut": self.left_out,
        })
    }

    /// What people should know about them; `None` where there is nothing to know.
    pub(super) fn in_words(&self) -> Option<String> {
        if !self.is_known {
            return Some(
                "The dumps have no events, so it is not known what EC2 took back of their spot instances, and nothing \
                 is taken back of ours: evictions compare less exactly. Dump events as well."
                    .to_owned(),
            );
        }
        let (taken, played) = (self.all.len(), self.played.len());
        let left_out = match taken - played {
            0 => String::new(),
            alone => format!(
                " We had none like {} of them: evictions from there ({}) count on neither side.",
                many(alone),
                many(usize::try_from(self.left_out).unwrap_or(usize::MAX))
            ),
        };
        (0 < taken).then(|| {
            let taken = count(u64::try_from(taken).unwrap_or(u64::MAX), "instance");
            let ours = many(played);
            format!(
                "AWS took {taken} of theirs away; the same happened to {ours} of ours.{left_out}"
            )
        })
    }
}

/// An instance of theirs.
#[derive(Clone, Debug, Default)]
struct Machine {
    node: Option<NodeName>,
    offering: Option<OfferingKey>,
}

impl Machine {
    fn is_spot(&self) -> bool {
        self.offering.as_ref().is_some_and(|key| key.capacity_type == CapacityType::Spot)
    }
}

/// Every instance that dumps show, and how events call it.
#[derive(Debug, Default)]
struct Machines {
    known: BTreeMap<InstanceId, Machine>,
    named: BTreeMap<EventSubject, InstanceId>,
}

impl Machines {
    fn of(dumps: &[Dump]) -> Self {
        let mut machines = Self::default();
        for dump in dumps {
            for claim in &dump.claims {
                let Some(instance) = &claim.instance else { continue };
                let about = EventSubject::NodeClaim(claim.name.clone());
                machines.named.insert(about, instance.id.clone());
                let machine = machines.known.entry(instance.id.clone()).or_default();
                machine.offering = Some(instance.offering());
            }
            for node in &dump.nodes {
                let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
                let Some(instance) = instance else { continue };
                machines.named.insert(EventSubject::Node(node.name.clone()), instance.clone());
                let machine = machines.known.entry(instance).or_default();
                machine.node = Some(node.name.clone());
                machine.offering = machine.offering.take().or_else(|| offering(&node.labels));
            }
        }
        machines
    }
}

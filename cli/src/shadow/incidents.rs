//! What happened to nodes although nothing in the cluster decided it: EC2 took them back, or they failed.

use std::collections::{BTreeMap, BTreeSet};

use api::objects::EventSubject;
use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, InstanceId, NodeName, OfferingKey, Pod, PodKey, PodUid, ProviderId,
    duration::later, event::EventReason,
};
use report::output::{count, many};
use serde_json::{Value, json};
use simulator::{Action, RunningInstance, Sim, SpotTarget};

use super::{dumps::Dump, side::workload};
use crate::list_price::offering;

/// How AWS Node Termination Handler calls an interruption. Karpenter's name is [`EventReason::SpotInterrupted`].
const SPOT: &str = "SpotInterruption";
/// What says that a node goes because of its instance. Karpenter says that an instance terminates even where it
/// terminates it.
const TAKEN: [&str; 2] = [EventReason::TerminatingOnInterruption.as_str(), SPOT];

/// How long after EC2's notice a cluster says so in an event.
const TOLD_AFTER: SignedDuration = SignedDuration::from_secs(2);

/// What happened to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Misfortune {
    /// EC2 takes it back in two minutes.
    Spot,
    /// AWS announced a change of it.
    Change,
    /// It ended.
    End,
}

/// Whether the incidents of a Node or NodeClaim are read from events of `reason`.
pub(super) fn is_used(reason: &str) -> bool {
    let other = [EventReason::SpotInterrupted, EventReason::InstanceUnhealthy];
    TAKEN.contains(&reason) || other.iter().any(|other| other.as_str() == reason)
}

/// A misfortune of one of their instances.
#[derive(Clone, Debug)]
struct Incident {
    /// When EC2 said so, or the first dump if it did before.
    at: Timestamp,
    instance: InstanceId,
    /// The node of the instance, if it had one.
    node: Option<NodeName>,
    offering: Option<OfferingKey>,
    what: Misfortune,
    /// When the first of its pods was replaced that was lost with the node.
    replaced_at: Option<Timestamp>,
}

impl Incident {
    /// Which of our `running` instances it happens to: the same, or another of the same offering, if possible none of
    /// those that are `named` by incidents. `None` if there is none but those that are `hit` already.
    fn ours<'r>(
        &self,
        running: &'r [RunningInstance],
        hit: &BTreeSet<&InstanceId>,
        named: &BTreeSet<&InstanceId>,
    ) -> Option<&'r RunningInstance> {
        let free = || running.iter().filter(|ours| !hit.contains(&ours.id));
        let mut alike = free().filter(|ours| Some(&ours.offering) == self.offering.as_ref());
        let same = free().find(|ours| ours.id == self.instance);
        same.or_else(|| alike.clone().find(|ours| !named.contains(&ours.id)))
            .or_else(|| alike.next())
    }

    /// What happens to `ours`.
    fn action(&self, ours: &RunningInstance) -> Action {
        let target = SpotTarget::Instance(ours.id.clone());
        match self.what {
            Misfortune::Spot if ours.offering.capacity_type == CapacityType::Spot => {
                Action::InterruptSpot(target)
            }
            Misfortune::Change => Action::AnnounceChange(target),
            Misfortune::Spot | Misfortune::End => Action::TerminateInstance(target),
        }
    }
}

/// What happened to their nodes, and which of it happened to ours.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    /// In the order of time.
    all: Vec<Incident>,
    /// Their instances whose misfortune was played to us, each with the instance of ours that it happened to.
    played: BTreeMap<InstanceId, InstanceId>,
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
                let is_end = what == Misfortune::End;
                let ended = node.as_ref().filter(|_| is_end);
                let replaced_at = ended.and_then(|node| replaced(dumps, node, at));
                let instance = instance.clone();
                Some(Incident { at, instance, node, offering, what, replaced_at })
            })
            .filter(|incident| is_between(&incident.at))
            .collect();
        if let Some((first, _)) = times {
            let begun = later(first.at, SignedDuration::from_secs(1));
            for incident in &mut incidents {
                incident.at = later(incident.at, -TOLD_AFTER).max(begun);
            }
        }
        incidents.sort_by(|a, b| (a.at, &a.instance).cmp(&(b.at, &b.instance)));
        let is_known = machines.known.values().all(|machine| !machine.is_spot())
            || dumps.iter().any(|dump| dump.has_events);
        Self { all: incidents, is_known, ..Self::default() }
    }

    /// The instances that had ended by `now` without a command of the cluster.
    pub(super) fn ended(&self, now: Timestamp) -> impl Iterator<Item = &InstanceId> {
        let ended =
            move |incident: &&Incident| incident.what == Misfortune::End && incident.at <= now;
        self.all.iter().filter(ended).map(|incident| &incident.instance)
    }

    /// When the next one comes after `now`.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.all.iter().map(|incident| incident.at).find(|at| now < *at)
    }

    /// Has happen to us what happens to them at the present of `sim`.
    pub(super) fn play(&mut self, sim: &Sim) {
        let named: BTreeSet<&InstanceId> =
            self.all.iter().map(|incident| &incident.instance).collect();
        for incident in self.all.iter().filter(|incident| incident.at == sim.now()) {
            // An instance that EC2 announces to take back runs on for minutes.
            let hit = self.played.values().collect();
            let running = sim.running();
            if let Some(ours) = incident.ours(&running, &hit, &named) {
                sim.act(incident.action(ours));
                if let Some(at) = incident.replaced_at {
                    sim.collect_pods_at(at, ours.id.clone());
                }
                self.played.insert(incident.instance.clone(), ours.id.clone());
            }
        }
    }

    /// Their nodes whose misfortune was not played to us.
    pub(super) fn theirs_alone(&self) -> BTreeSet<NodeName> {
        let alone =
            self.all.iter().filter(|incident| !self.played.contains_key(&incident.instance));
        alone.filter_map(|incident| incident.node.clone()).collect()
    }

    /// The incidents for programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "known": self.is_known,
            "current": self.all.len(),
            "played": self.played.len(),
            "evictionsLeftOut": self.left_out,
        })
    }

    /// What people should know about them; `None` where there is nothing to know.
    pub(super) fn in_words(&self) -> Option<String> {
        if !self.is_known {
            return Some(
                "The dumps have no events. Spot interruptions of the cluster are unknown, and Journeyman's instances are \
                 not interrupted, so evictions compare less exactly. Dump events as well; --live needs the right to \
                 list events."
                    .to_owned(),
            );
        }
        let (taken, played) = (self.all.len(), self.played.len());
        let left_out = match taken - played {
            0 => String::new(),
            alone => format!(
                " For {} of them, Journeyman had no other instance of the same offering: {} from their nodes count on neither \
                 side.",
                many(alone),
                count(self.left_out, "eviction")
            ),
        };
        (0 < taken).then(|| {
            let taken = count(u64::try_from(taken).unwrap_or(u64::MAX), "instance");
            let ours = many(played);
            format!(
                "AWS took away {taken} of the cluster; the same happened to {ours} of Journeyman's.{left_out}"
            )
        })
    }
}

/// When controllers made the first pod in place of those that were on `node` after `at`: chance decides when the
/// garbage collector misses a node, and until then the node that replaces it is empty.
fn replaced(dumps: &[Dump], node: &NodeName, at: Timestamp) -> Option<Timestamp> {
    let uids =
        |dump: &Dump| -> BTreeSet<PodUid> { dump.pods.iter().map(|pod| pod.uid.clone()).collect() };
    let of_pair = |pair: &[Dump]| {
        let [from, to] = pair else { return None };
        let (before, after) = (uids(from), uids(to));
        let is_lost = |pod: &&Pod| pod.node.as_ref() == Some(node) && !after.contains(&pod.uid);
        let lost: BTreeSet<PodKey> = from.pods.iter().filter(is_lost).map(workload).collect();
        let new = to.pods.iter().filter(|pod| at < pod.created_at && !before.contains(&pod.uid));
        let new = new.filter(|pod| lost.contains(&workload(pod)));
        new.map(|pod| pod.created_at).min()
    };
    let mut later = dumps.windows(2).skip_while(|pair| pair.last().is_some_and(|to| to.at < at));
    later.find_map(of_pair)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(id: &str) -> InstanceId {
        InstanceId::new(id).expect("an id")
    }

    fn incident(of: &str, offering: &OfferingKey) -> Incident {
        Incident {
            at: Timestamp::UNIX_EPOCH,
            instance: instance(of),
            node: None,
            offering: Some(offering.clone()),
            what: Misfortune::Spot,
            replaced_at: None,
        }
    }

    #[test]
    fn each_incident_happens_to_another_instance_of_ours() {
        let key = OfferingKey {
            capacity_type: CapacityType::Spot,
            instance_type: model::InstanceTypeName::new("m7i.large").expect("a type"),
            zone: model::Zone::new("us-west-2a").expect("a zone"),
        };
        let ours = |id| RunningInstance {
            id: instance(id),
            offering: key.clone(),
            price: model::HourlyPrice::default(),
        };
        let running = ["i-01", "i-02", "i-03", "i-04"].map(ours);
        let incidents = ["i-0a", "i-01", "i-0b", "i-0c", "i-0d"].map(|id| incident(id, &key));
        let named = incidents.iter().map(|incident| &incident.instance).collect();
        let mut hit = BTreeSet::new();
        let chosen = incidents.each_ref().map(|incident| {
            let ours = incident.ours(&running, &hit, &named).map(|ours| &ours.id);
            hit.extend(ours);
            ours.map(InstanceId::as_str)
        });
        // The same one, although it comes later; then what is left of them, and at last none.
        assert_eq!(chosen, [Some("i-02"), Some("i-01"), Some("i-03"), Some("i-04"), None]);
        // Those that incidents name are taken rather than none.
        let chosen = incident("i-0e", &key).ours(
            &running,
            &BTreeSet::new(),
            &running.iter().map(|ours| &ours.id).collect(),
        );
        assert_eq!(chosen.map(|ours| ours.id.as_str()), Some("i-01"));
    }
}

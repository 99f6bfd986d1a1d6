//! The whole world in one value, and what comes next in it.
//!
//! Events happen in the order of their times; ties in the order in which they were planned.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    task::Waker,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, InstanceId, NodeName, PodKey, PodUid, RegionCatalog, duration::later,
    instance_type_info::StoredRegionCatalog, ledger::Guard,
};

use ports::Fault;

use crate::{
    account::Account,
    authorization::Asked,
    chance::Chance,
    cluster::ClusterState,
    delivery::SCHEDULED,
    fault::{Call, FaultRule, Injection, RecordRule},
    ledger::LedgerState,
    limits::Usage,
    mail::Mail,
    settings::{Trace, WorldSettings},
    story::Action,
    timeline::{Happening, TimelineEvent},
    webhooks::{WakeCall, Webhooks},
};

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A story's action.
    Act(Action),
    /// A delayed call goes on.
    Wake(Waker),
    /// A schedule comes round.
    Schedule(Function),
    /// An instance runs.
    InstanceRuns(InstanceId),
    /// A spot instance's two minutes are over.
    SpotReclaims(InstanceId),
    /// An instance is gone.
    InstanceTerminates(InstanceId),
    /// A capacity block is about to end.
    ReservationWarns(model::ReservationId),
    /// A capacity reservation ends.
    ReservationEnds(model::ReservationId),
    /// A kubelet registers its node.
    NodeJoins(InstanceId),
    /// A kubelet reports ready.
    NodeReady(NodeName),
    /// A node that was there before the start has all that a node starts with.
    NodeStarted(NodeName),
    /// The drivers of a node publish its devices.
    DevicesPublished(NodeName),
    /// A machine booted again.
    NodeRebooted(NodeName),
    /// The owner of startup taints takes them away.
    StartupTaintsGo(NodeName),
    /// The node controller misses a kubelet.
    NodeUnreachable(NodeName),
    /// The cloud controller finds no instance behind a node.
    NodeOrphaned(NodeName),
    /// The toleration of unreachable nodes ends.
    TolerationEnds(NodeName),
    /// The garbage collector misses a node.
    PodsCollected(NodeName),
    /// A pod's containers run.
    PodRuns(PodKey, PodUid),
    /// A pod's containers ended by themselves.
    PodFinishes(PodKey, PodUid),
    /// A kubelet confirms that a deleted pod ended.
    PodEnds(PodKey, PodUid),
    /// The attach-detach controller finds that a volume of a node is not used there any more.
    VolumeDetaches(NodeName, String),
    /// Controllers and scheduler look at what changed.
    Reconcile,
    /// The API server stores that kube-scheduler had no node for a pod at this time.
    PodMarked(PodKey, PodUid, Timestamp),
    /// A call reaches the function URL of `wake`.
    WakeCalled(WakeCall),
    /// The API server goes on with a request for which it called `wake`.
    Admitted(u64),
    /// A stranger calls `wake`.
    WakeForged,
}

/// Generators by purpose.
#[derive(Debug)]
pub(crate) struct Chances {
    pub(crate) account: Chance,
    pub(crate) cluster: Chance,
    pub(crate) mail: Chance,
    pub(crate) faults: Chance,
    pub(crate) driver: Chance,
    /// How long requests take, and when they are sent again.
    pub(crate) requests: Chance,
    /// The calls of `wake`.
    pub(crate) wake: Chance,
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) settings: WorldSettings,
    pub now: Timestamp,
    pub(crate) chances: Chances,
    pub(crate) catalog: Arc<RegionCatalog>,
    pub(crate) account: Account,
    pub(crate) cluster: ClusterState,
    pub(crate) ledger: LedgerState,
    pub(crate) mail: Mail,
    pub(crate) webhooks: Webhooks,
    /// What the function `catalog` found.
    pub(crate) catalog_store: Option<StoredRegionCatalog>,
    pub(crate) rules: Vec<FaultRule>,
    /// What becomes of claims in the table, if not what was written.
    pub(crate) records: Option<RecordRule>,
    /// The delivery that is being polled.
    pub(crate) current: Option<(u64, Function)>,
    /// Whether a injection ended it.
    pub(crate) is_crashed: bool,
    /// The delivery whose call was the last that was refused for good, and which call.
    refused: Option<(u64, &'static str)>,
    pub(crate) trace: Vec<String>,
    pub(crate) timeline: Vec<TimelineEvent>,
    pub(crate) violations: Vec<String>,
    /// What was used of the account's limits.
    pub(crate) usage: Usage,
    calls: u64,
    /// Which calls of ports each function made so far.
    pub(crate) called: BTreeMap<Function, BTreeSet<&'static str>>,
    /// Which functions each function sent messages to so far.
    pub(crate) sent: BTreeMap<Function, BTreeSet<Function>>,
    /// What IAM was asked, while a test wants to know.
    pub(crate) asked: Option<Asked>,
    agenda: BTreeMap<(Timestamp, u64), Event>,
    planned: u64,
    /// When the checkers look at everything again.
    pub(crate) next_scan: Timestamp,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl World {
    pub(crate) fn new(settings: WorldSettings, catalog: Arc<RegionCatalog>) -> Self {
        let chance = Chance::new(settings.seed);
        let chances = Chances {
            account: chance.child("account"),
            cluster: chance.child("cluster"),
            mail: chance.child("mail"),
            faults: chance.child("faults"),
            driver: chance.child("driver"),
            requests: chance.child("requests"),
            wake: chance.child("wake"),
        };
        let mut world = Self {
            now: settings.start,
            chances,
            catalog,
            account: Account::default(),
            cluster: ClusterState::default(),
            ledger: LedgerState::default(),
            mail: Mail::default(),
            webhooks: Webhooks::default(),
            catalog_store: None,
            rules: Vec::new(),
            records: None,
            current: None,
            is_crashed: false,
            refused: None,
            trace: Vec::new(),
            timeline: Vec::new(),
            violations: Vec::new(),
            usage: Usage::default(),
            calls: 0,
            called: BTreeMap::new(),
            asked: None,
            sent: BTreeMap::new(),
            agenda: BTreeMap::new(),
            planned: 0,
            next_scan: settings.start,
            settings,
        };
        if world.settings.has_schedules {
            // They do not come round in the same second. What EC2NodeClasses select is found first: without
            // it nothing is decided.
            for (function, seconds) in SCHEDULED.into_iter().zip([50, 1, 5, 15, 25, 35, 45]) {
                world.after(SignedDuration::from_secs(seconds), Event::Schedule(function));
            }
        }
        world.plan_forgery();
        if world.settings.ledger_is_open {
            let cluster = world.settings.cluster.clone();
            let head = world.ledger.open(&cluster, None);
            // Where no schedule looks again, the word of the guard stands.
            let checked_at = if world.settings.has_schedules { world.now } else { Timestamp::MAX };
            if let Some(ledger) = head.ledger {
                world.ledger.put_guard(&cluster, &ledger, &Guard::Free { checked_at });
            }
        }
        world
    }

    /// Plans `event` for `at`, or for the present when that is over.
    pub(crate) fn at(&mut self, at: Timestamp, event: Event) {
        self.planned += 1;
        self.agenda.insert((at.max(self.now), self.planned), event);
    }

    /// Plans `event` for `duration` from now.
    pub(crate) fn after(&mut self, duration: SignedDuration, event: Event) {
        self.at(later(self.now, duration), event);
    }

    /// When the next event happens, deliveries aside.
    pub(crate) fn next_event_at(&self) -> Option<Timestamp> {
        self.agenda.keys().next().map(|(at, _)| *at)
    }

    /// Lets the clock stand at `to`, unless it does later already.
    pub(crate) fn pass_until(&mut self, to: Timestamp) {
        self.now = self.now.max(to);
    }

    /// Lets the next event happen.
    pub(crate) fn advance(&mut self) {
        let Some(((at, _), event)) = self.agenda.pop_first() else { return };
        self.pass_until(at);
        match event {
            Event::Act(action) => self.ask(action),
            Event::Wake(waker) => waker.wake(),
            Event::Schedule(function) => self.schedule(function),
            Event::InstanceRuns(instance) => self.instance_runs(&instance),
            Event::SpotReclaims(instance) => self.end_instance(&instance),
            Event::InstanceTerminates(instance) => self.instance_terminates(&instance),
            Event::ReservationWarns(id) => self.reservation_warns(&id),
            Event::ReservationEnds(id) => self.reservation_ends(&id),
            Event::NodeJoins(instance) => self.node_joins(&instance),
            Event::NodeReady(node) => self.node_ready(&node),
            Event::NodeStarted(node) => self.node_started(&node),
            Event::DevicesPublished(node) => self.devices_published(&node),
            Event::NodeRebooted(node) => self.node_rebooted(&node),
            Event::StartupTaintsGo(node) => self.startup_taints_go(&node),
            Event::NodeUnreachable(node) => self.node_unreachable(&node),
            Event::NodeOrphaned(node) => self.node_orphaned(&node),
            Event::TolerationEnds(node) => self.toleration_ends(&node),
            Event::PodsCollected(node) => self.pods_collected(&node),
            Event::PodRuns(pod, uid) => self.pod_runs(&pod, &uid),
            Event::PodFinishes(pod, uid) => self.pod_finishes(&pod, &uid),
            Event::PodEnds(pod, uid) => self.pod_ends(&pod, &uid),
            Event::VolumeDetaches(node, volume) => self.volume_detaches(&node, &volume),
            Event::Reconcile => self.reconcile(),
            Event::PodMarked(pod, uid, since) => self.mark_unschedulable(&pod, &uid, since),
            Event::WakeCalled(call) => self.wake_called(call),
            Event::Admitted(request) => self.admitted(request),
            Event::WakeForged => self.forge(),
        }
    }

    /// What the rules say about a call.
    pub(crate) fn judge(
        &mut self,
        operation: &'static str,
        access: crate::fault::Access,
        subject: &str,
    ) -> Injection {
        let number = self.calls;
        self.calls += 1;
        if let Some((_, function)) = self.current {
            self.called.entry(function).or_default().insert(operation);
        }
        if self.is_abandoned(operation) {
            return Injection::FailBefore(Fault::Permanent);
        }
        if self.rules.is_empty() {
            return Injection::Pass;
        }
        let call =
            Call { number, delivery: self.current, operation, subject, access, now: self.now };
        let mut injection = Injection::Pass;
        for rule in &mut self.rules {
            injection = rule(&call, &mut self.chances.faults);
            if injection != Injection::Pass {
                break;
            }
        }
        match injection {
            Injection::FailBefore(fault) => self.failed(operation, fault),
            Injection::Refuse(_) => self.failed(operation, Fault::Permanent),
            _ => {}
        }
        injection
    }

    /// `operation` ended with `fault`.
    pub(crate) fn failed(&mut self, operation: &'static str, fault: Fault) {
        if let Some((delivery, Function::Sweep)) = self.current
            && fault == Fault::Permanent
        {
            self.refused = Some((delivery, operation));
        }
    }

    /// Whether the delivery that asks now does without `operation`, because an earlier call of it was refused.
    fn is_abandoned(&self, operation: &str) -> bool {
        let sabotage = self.settings.sabotage;
        let delivery = self.current.map(|(delivery, _)| delivery);
        self.refused.is_some_and(|(refused_in, refused)| {
            let is_adoption = refused == "NodeClaims.take_over"
                && ["Ledger.commit", "Ledger.put_guard"].contains(&operation);
            delivery == Some(refused_in)
                && (sabotage.end_sweep_at_refusal || sabotage.adopt_all_or_none && is_adoption)
        })
    }

    /// Whether the ledger hides claims that have not launched from the delivery that asks now.
    pub(crate) fn forgets_unlaunched_claims(&self) -> bool {
        let is_provision = matches!(self.current, Some((_, Function::Provision)));
        is_provision && self.settings.sabotage.forget_unlaunched_claims
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Forgets rules and makes queues orderly.
    pub(crate) fn stop_faults(&mut self) {
        self.rules.clear();
        self.settings.disorder = crate::settings::Disorder::default();
        self.settings.wake = self.settings.wake.map(|_| crate::settings::WakeFaults::NONE);
    }

    /// Appends to trace and timeline.
    pub(crate) fn happened(&mut self, happening: Happening) {
        self.note(format_args!("{happening:?}"));
        self.timeline.push(TimelineEvent { at: self.now, happening });
    }

    /// Appends a line to the trace: seconds since the start, who, what.
    pub(crate) fn note(&mut self, what: fmt::Arguments<'_>) {
        if self.settings.trace == Trace::Dropped {
            return;
        }
        let elapsed = self.now.duration_since(self.settings.start).as_millis();
        let (seconds, millis) = (elapsed / 1_000, elapsed % 1_000);
        let line = match self.current {
            Some((delivery, function)) => {
                format!("{seconds}.{millis:03} {function}#{delivery} {what}")
            }
            None => format!("{seconds}.{millis:03} - {what}"),
        };
        self.trace.push(line);
    }
}

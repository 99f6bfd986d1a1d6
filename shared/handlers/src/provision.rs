//! Pending pods → promised claims.
//!
//! The pulse of `provision` never rests: each beat asks for the pods that wait, which is one small list.
//! The whole cluster is looked at only when something is new: other pods wait, capacity came, or claims
//! were given up.

use std::{cell::RefCell, collections::BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, Pod, PodUid,
    ledger::{Basis, Counters, Snapshot, digest},
    pulse::{PassEnd, PulseNote, Signal},
    recorded::Question,
};
use planner::Needed;
use ports::{Adapters, Clock as _, Cluster as _, Invocation, Ledger as _, PodSelection};

use crate::{
    Error, KnownOffers, Recorder, Report, Settings,
    commit::{ATTEMPTS_MAX, Committed, Decided, both, commit_or_note},
    observe::Sources,
    pulse::{Beating, Pass, Start, wake},
};

/// Until the next look while pods come.
const BUSY: SignedDuration = SignedDuration::from_secs(1);
/// Where a pod waited, others are expected for so long.
const QUIET_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// When the same pods still wait, the whole cluster is looked at again: a NodePool may have changed.
///
/// Karpenter looks every 10 s (`pkg/controllers/provisioning/controller.go`), at what it keeps in memory;
/// here it is a list of everything.
const LOOK_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// For how long pods are gathered before nodes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchWindow {
    /// Karpenter: `BATCH_IDLE_DURATION`.
    pub idle: SignedDuration,
    /// Karpenter: `BATCH_MAX_DURATION`.
    pub max: SignedDuration,
}

impl Default for BatchWindow {
    /// Karpenter's defaults.
    fn default() -> Self {
        Self { idle: SignedDuration::from_secs(1), max: SignedDuration::from_secs(10) }
    }
}

/// Where fewer of the pods wait that the last look was about, and no claim came or went, the whole cluster is
/// looked at again: the others may have taken their places.
///
/// Karpenter: `pkg/controllers/provisioning/controller.go`, which asks about each pod that waits every 10 s.
const FEWER_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// Between two looks because claims were given up: what is given up meanwhile shares a request for instances.
const GIVEN_UP_APART: SignedDuration = SignedDuration::from_secs(1);
/// The same after a look at many such claims.
const MANY_GIVEN_UP_APART: SignedDuration = SignedDuration::from_secs(3);
/// The same where the look before was because of such claims, too: a mass interruption gives up some each second.
const MASS_GIVEN_UP_APART: SignedDuration = SignedDuration::from_secs(8);
/// Looks because of claims that are given up are about the same interruption if they are no further apart.
const SAME_INTERRUPTION: SignedDuration = SignedDuration::from_secs(15);
/// So many claims that were given up within the time of an interruption are many.
const MANY: usize = 10;

/// What the last look of this process was about. Another process looks once more: it decides nothing.
#[derive(Debug, Default)]
pub struct LastLook(RefCell<Option<Looked>>);

#[derive(Debug)]
struct Looked {
    pods: BTreeSet<PodUid>,
    counters: Counters,
    at: Timestamp,
    /// When the next look because of claims that are given up is due.
    rests_until: Timestamp,
}

impl LastLook {
    /// Keeps what a look at `at` was about, and how many claims were given up shortly before.
    fn keep(&self, waiting: &[Pod], counters: Counters, given_up: usize, at: Timestamp) {
        let pods = waiting.iter().map(|pod| pod.uid.clone()).collect();
        let last = self.0.borrow().as_ref().map(|last| last.at);
        let is_again = last.is_some_and(|last| at.duration_since(last) < SAME_INTERRUPTION);
        let apart = match (given_up < MANY, is_again) {
            (true, _) => GIVEN_UP_APART,
            (false, false) => MANY_GIVEN_UP_APART,
            (false, true) => MASS_GIVEN_UP_APART,
        };
        let rests_until = at.checked_add(apart).unwrap_or(Timestamp::MAX);
        *self.0.borrow_mut() = Some(Looked { pods, counters, at, rests_until });
    }

    /// Until when another look because of claims that are given up has to wait.
    fn rests_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.0.borrow().as_ref().map(|last| last.rests_until)?;
        (now < until).then_some(until)
    }

    /// Whether it was about all of `waiting`, not long before `now`, and nothing happened to claims since.
    fn covers(&self, waiting: &[Pod], counters: Counters, now: Timestamp) -> bool {
        self.0.borrow().as_ref().is_some_and(|last| {
            last.counters == counters
                && now.duration_since(last.at) < FEWER_AGAIN_AFTER
                && waiting.iter().all(|pod| last.pods.contains(&pod.uid))
        })
    }
}

/// Everything that `provision` may touch.
#[derive(Debug)]
pub struct ProvisionPorts<'a, A: Adapters> {
    /// Pods, nodes, NodePools, EC2NodeClasses and what else decides where pods may go.
    pub cluster: &'a A::Cluster,
    /// What can be bought.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and what nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// Where claims are promised, and where the pulse is kept.
    pub ledger: &'a A::Ledger,
    /// The next beat, and `launch`.
    pub mailbox: &'a A::Mailbox,
    /// What people are told of it.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a KnownOffers,
    /// What the last look of this process was about.
    pub last_look: &'a LastLook,
    /// How to decide, and how often to look.
    pub settings: &'a Settings,
}

/// Looks for pods that need a node and promises claims for them.
pub async fn provision<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let ProvisionPorts { ledger, mailbox, clock, .. } = *ports;
    let beating = Beating::<A> { function: Function::Provision, ledger, mailbox, clock };
    let report = beating.call(signal, at, async |start| pass(ports, start, at).await).await;
    ports.recorder.publish(ports.clock, at).await;
    report
}

async fn pass<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let interval = ports.settings.poll_interval;
    let read = start.head.counters;
    let waiting = waiting_pods(ports).await?;
    let fixed = static_pools(ports).await?;
    // Pods of a node that is given up need another one before they wait for it.
    let any_given_up = start.pulse.served.departures < read.departures;
    let last = start.pulse.note;
    let again = |note: Option<PulseNote>, others_come: bool| {
        let is_recent = |note: PulseNote| at.now.duration_since(note.since) < QUIET_AFTER;
        let is_busy = others_come || note.is_some_and(is_recent);
        let next_at = at.after(if is_busy { BUSY.min(interval) } else { interval });
        PassEnd { read: Some(read), next_at: Some(next_at), note }
    };
    let nothing = |note| Pass { report: Report::default(), end: again(note, false) };
    let is_known = |is_settled| {
        last.is_some_and(|note| {
            note.digest == seen(&waiting, &fixed, is_settled, read)
                && (is_settled || at.now.duration_since(note.at) < LOOK_AGAIN_AFTER)
        })
    };
    // Room for a CapacityBuffer may be missing without any pod that waits.
    let keeps_room = ports.settings.policies.capacity_buffer;
    let nobody_asks = waiting.is_empty() && fixed.is_empty() && !any_given_up && !keeps_room;
    if nobody_asks || is_known(true) || is_known(false) {
        return Ok(nothing(last));
    }
    if fixed.is_empty() && ports.last_look.covers(&waiting, read, at.now) {
        return Ok(nothing(last));
    }
    if any_given_up && let Some(until) = ports.last_look.rests_until(at.now) {
        let end = PassEnd { read: None, next_at: Some(until), note: last };
        return Ok(Pass { report: Report::default(), end });
    }
    // They are not kept waiting by others that have just come.
    let (waiting, now) =
        if any_given_up { (waiting, at.now) } else { gathered(ports, waiting, at).await? };
    let at = &Invocation { now, ..at.clone() };
    let Outcome { report, counters, has_all_replicas, given_up } = look(ports, at).await?;
    let Some(counters) = counters else {
        let next_at = Some(at.after(BUSY));
        return Ok(Pass { report, end: PassEnd { read: Some(read), next_at, note: last } });
    };
    ports.last_look.keep(&waiting, counters, given_up, at.now);
    // Of pods that were asked to leave already, those in their place are about to come.
    let others_come = any_given_up;
    if waiting.is_empty() && fixed.is_empty() && !keeps_room {
        return Ok(Pass { report, end: again(last, others_come) });
    }
    let is_settled = waiting.is_empty() && has_all_replicas && !keeps_room;
    let digest = seen(&waiting, &fixed, is_settled, counters);
    let known = last.filter(|note| waiting.is_empty() || note.digest == digest);
    let now_if_asked = if waiting.is_empty() { Timestamp::UNIX_EPOCH } else { at.now };
    let since = known.map_or(now_if_asked, |note| note.since);
    let note = PulseNote { digest, at: at.now, since };
    Ok(Pass { report, end: again(Some(note), others_come) })
}

/// What a look came to.
struct Outcome {
    report: Report,
    /// After the commit; `None` where others committed first each time.
    counters: Option<Counters>,
    /// Whether every static pool has its replicas, or they are promised.
    has_all_replicas: bool,
    /// How many claims were given up shortly before.
    given_up: usize,
}

/// Looks at the whole cluster and promises what is missing: first the nodes of static pools, which pods may
/// go onto, then those for pods.
async fn look<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    at: &Invocation,
) -> Result<Outcome, Error> {
    let ProvisionPorts { cluster, catalog, discovery, ledger, mailbox, offers, settings, .. } =
        *ports;
    let policies = settings.policies;
    let sources = Sources::<A> { cluster, catalog, discovery, offers, policies };
    let snapshot = ledger.snapshot(&at.cluster).await?;
    let given_up = given_up_lately(&snapshot, at.now);
    let (mut facts, malformed) = sources.facts(snapshot, at).await?;
    let (mut done, mut has_all_replicas, mut overtaken) = (None, true, 0);
    while overtaken < ATTEMPTS_MAX {
        let Needed { plan, is_for_static_pools, notes } = planner::needed(&facts, &offers.types);
        for note in notes.iter().filter(|_| policies.static_capacity) {
            tracing::info!(note = %note, "a static pool does not get its replicas");
        }
        has_all_replicas = notes.is_empty();
        let decided = Decided::of(&plan, Basis::Arrivals)
            .counting(ports.recorder.told)
            .recorded(settings.record, || Question::Provision);
        match commit_or_note(ledger, &facts, &decided, at).await? {
            Committed::All(counters) => {
                if !plan.promises.is_empty() {
                    wake(mailbox, &[Function::Launch], counters, at).await;
                }
                let events = planner::events::of_pods(&plan, &facts.pods);
                ports.recorder.note(events);
                done = both(done, Some(plan));
                if !is_for_static_pools {
                    let report = Report { plan: done, malformed };
                    let counters = Some(counters);
                    return Ok(Outcome { report, counters, has_all_replicas, given_up });
                }
            }
            Committed::Overtaken => overtaken += 1,
        }
        // What others promised is in the ledger. What they saw of the cluster was seen here, too.
        facts.ledger = ledger.snapshot(&at.cluster).await?;
    }
    let report = Report { plan: done, malformed };
    Ok(Outcome { report, counters: None, has_all_replicas, given_up })
}

/// How many claims were given up within the time of an interruption.
fn given_up_lately(snapshot: &Snapshot, now: Timestamp) -> usize {
    let deletions = snapshot.claims.values().filter_map(|claim| claim.deletion.as_ref());
    deletions.filter(|deletion| now.duration_since(deletion.at) < SAME_INTERRUPTION).count()
}

/// The static pools and what they ask for, where they are kept.
async fn static_pools<A: Adapters>(ports: &ProvisionPorts<'_, A>) -> Result<Vec<String>, Error> {
    if !ports.settings.policies.static_capacity {
        return Ok(Vec::new());
    }
    let pools = ports.cluster.node_pools().await?.items;
    let asked = pools.iter().filter_map(|pool| {
        let limit = pool.limits.0.get("nodes");
        let may_launch = !pool.is_deleting && pool.problems.is_empty();
        Some(format!("{} {} {limit:?} {may_launch}", pool.name, pool.replicas?))
    });
    Ok(asked.collect())
}

/// What a look was about: the pods that wait, the static pools, and what happened to claims so far; and whether
/// all of that came to an end.
fn seen(waiting: &[Pod], fixed: &[String], is_settled: bool, counters: Counters) -> u64 {
    let pods = waiting.iter().map(|pod| format!("{} {}", pod.key, pod.uid));
    let end = format!("{counters} {is_settled}");
    let text: Vec<String> = pods.chain(fixed.iter().cloned()).chain([end]).collect();
    digest(text.join("\n").as_bytes())
}

/// The pods that wait and could be given a node.
async fn waiting_pods<A: Adapters>(ports: &ProvisionPorts<'_, A>) -> Result<Vec<Pod>, Error> {
    let waiting = ports.cluster.pods(&PodSelection::Waiting).await?;
    Ok(waiting.items.into_iter().filter(Pod::is_provisionable).collect())
}

/// Those that wait once no more are about to come, and when that is.
async fn gathered<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    mut waiting: Vec<Pod>,
    at: &Invocation,
) -> Result<(Vec<Pod>, Timestamp), Error> {
    let (mut now, window) = (at.now, ports.settings.batch);
    while let Some(closes_at) = window_closes_at(&waiting, window, now)
        && now.duration_since(at.now) < window.max
    {
        ports.clock.wait_until(closes_at).await;
        waiting = waiting_pods(ports).await?;
        now = ports.clock.now();
    }
    Ok((waiting, now))
}

/// Until when more pods are waited for: by default the newest is younger than a second and the oldest
/// younger than ten.
fn window_closes_at(waiting: &[Pod], window: BatchWindow, now: Timestamp) -> Option<Timestamp> {
    let ages = || waiting.iter().filter_map(|pod| Some(now.duration_since(pod.unschedulable_at?)));
    let left = (window.idle - ages().min()?).min(window.max - ages().max()?);
    // A clock that goes ahead of this one is no reason to wait for longer.
    let left = left.min(window.idle);
    (left > SignedDuration::ZERO).then(|| now.checked_add(left).unwrap_or(Timestamp::MAX))
}

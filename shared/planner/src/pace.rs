//! When `provision` and `disrupt` look at the whole cluster, and when they look again.
//!
//! A beat of `provision` lists the pending pods, which is one small list. It looks at the whole cluster only for
//! news: other pods are pending, capacity came, or nodes are disrupted.

use std::{collections::BTreeSet, rc::Rc};

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, Plan, Pod, PodUid,
    disruption::{Command, VALIDATION_DELAY},
    duration::later,
    facts::Facts,
    ledger::{Counters, RejectionReason, Snapshot, digest},
    node_pool::{NodePool, ObservedNodePool},
    pulse::{PassEnd, PulseNote},
    wake::CALLS_APART,
};

/// Commands that one look of `disrupt` begins at most: drift replaces one node by each.
pub const COMMANDS_PER_LOOK: u32 = 10;
/// Until the next beat while pods come.
const BUSY: SignedDuration = SignedDuration::from_secs(1);
/// After a pending pod, other pods are expected for this time.
const QUIET_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// If the same pods are still pending, the whole cluster is looked at again: a NodePool may have changed. For pods that
/// have been pending for ten minutes and more, looks are rarer.
///
/// Karpenter looks every 10 s (`pkg/controllers/provisioning/controller.go`), at what it keeps in memory;
/// here a look lists everything.
const LOOK_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// While CapacityBuffers are kept, the whole cluster is looked at again: no pod says that room is missing.
///
/// Karpenter: `pkg/controllers/provisioning/controller.go`, every 10 s.
const BUFFERS_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// The longest time until the whole cluster is looked at again for pods that have been pending for long.
const LOOK_AGAIN_WITHIN: SignedDuration = SignedDuration::from_mins(1);
/// One part in how many of the time for which the same pods have been pending they wait for the next look.
const PENDING_PARTS: i32 = 20;
/// If pods wait for an EC2NodeClass that `resolve` has not looked at yet, or whose dry run is under way, the whole
/// cluster is looked at again sooner: the class is ready within two minutes, and nothing tells `provision` of it.
const CLASS_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(5);
/// If a part of the pods of the last look is still pending, and no claim was created or deleted, the whole cluster
/// is looked at again: the other pods may have taken the room of these.
///
/// Karpenter: `pkg/controllers/provisioning/controller.go`, which asks about each pending pod every 10 s.
const FEWER_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// Between two looks because of disrupted claims: claims that are disrupted meanwhile share a request for instances.
const DISRUPTED_APART: SignedDuration = SignedDuration::from_secs(1);
/// Between two such looks after a look at [`MANY`] disrupted claims.
const MANY_DISRUPTED_APART: SignedDuration = SignedDuration::from_secs(3);
/// Between two such looks in a row: a mass interruption disrupts some claims each second.
const MASS_DISRUPTED_APART: SignedDuration = SignedDuration::from_secs(8);
/// Looks because of disrupted claims belong to one interruption if they are no further apart.
const SAME_INTERRUPTION: SignedDuration = SignedDuration::from_secs(15);
/// Number of claims disrupted within [`SAME_INTERRUPTION`] from which they are many.
const MANY: usize = 10;
/// The API server calls `wake` for a pod within this time after the scheduler found no node for it. The scheduler's event
/// may be sent some seconds late.
const PUSHED_WITHIN: SignedDuration = SignedDuration::from_secs(5);

/// For how long pods are gathered before nodes are launched for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchWindow {
    /// The window closes when no pod has come for this time. Karpenter: `BATCH_IDLE_DURATION`.
    pub idle: SignedDuration,
    /// The window closes this time after its first pod. Karpenter: `BATCH_MAX_DURATION`.
    pub max: SignedDuration,
}

impl Default for BatchWindow {
    /// Karpenter's defaults.
    fn default() -> Self {
        Self { idle: SignedDuration::from_secs(1), max: SignedDuration::from_secs(10) }
    }
}

/// What a beat of `provision` sees before it looks at the whole cluster.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Pending pods that a new node may help.
    pub pending: &'a [Pod],
    /// The NodePools; none if the feature gate StaticCapacity is off.
    pub node_pools: &'a [NodePool],
    /// The counters of the ledger when the pass began.
    pub counters: Counters,
    /// When the pass began: earlier than now once pods were gathered.
    pub began_at: Timestamp,
    /// Whether CapacityBuffers are kept: their room may be missing without any pending pod.
    pub keeps_buffers: bool,
    /// Between two beats while no pods come.
    pub poll_interval: SignedDuration,
    /// Whether and how far the API server's calls of `wake` can be relied on.
    pub calls: Calls,
    /// For how long pods are gathered.
    pub window: BatchWindow,
}

/// What a pass of `provision` knows of the API server's calls of `wake`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Whether a call asks for this pass.
    pub is_called: bool,
    /// Whether it asks for a look whatever was seen before.
    pub is_anew: bool,
    /// Between two beats while nothing is left to do, and since when all NodePools are known to be served by calls;
    /// `None` unless they are.
    pub rest: Option<(SignedDuration, Timestamp)>,
}

impl Calls {
    /// Those of a stack with `wake` whose NodePools are `pools`, with `rest` between two beats.
    #[must_use]
    pub fn with_rest(self, pools: &[ObservedNodePool], rest: SignedDuration) -> Self {
        let usable = || pools.iter().filter(|observed| !observed.pool.is_deleting);
        let healthy = usable().map(|observed| observed.wake.filter(|wake| wake.is_healthy));
        let since: Option<Vec<Timestamp>> = healthy.map(|wake| Some(wake?.since)).collect();
        // Without any NodePool nothing is known: they have the condition.
        let since = since.and_then(|times| times.into_iter().max());
        Self { rest: since.map(|since| (rest, since)), ..self }
    }
}

/// What earlier passes of `provision` saw.
#[derive(Clone, Debug)]
pub struct Past {
    /// The counters of the ledger that the last whole pass read.
    pub served: Counters,
    /// What the last look left in the pulse; `None` if there was no look.
    pub note: Option<PulseNote>,
    /// Whether the last pass failed.
    pub has_failed: bool,
    /// The last look of this process; `None` if there was none, which costs one more look.
    pub last_look: Option<Rc<LastLook>>,
}

/// What a look of `provision` was about.
#[derive(Clone, Debug)]
pub struct LastLook {
    pods: BTreeSet<PodUid>,
    counters: Counters,
    at: Timestamp,
    /// When the next look because of disrupted claims is due.
    rests_until: Timestamp,
}

impl LastLook {
    /// Whether the look was about all pods of `seen`, not long before `now`, and no claim changed since.
    fn covers(&self, seen: &Seen<'_>, now: Timestamp) -> bool {
        self.counters == seen.counters
            && now.duration_since(self.at) < FEWER_AGAIN_AFTER
            && seen.pending.iter().all(|pod| self.pods.contains(&pod.uid))
    }
}

/// What a pass of `provision` does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Look at the whole cluster now.
    Look,
    /// List the pending pods again at this time, in the same call.
    Wait(Timestamp),
    /// End the pass.
    Rest(PassEnd),
}

/// What a pass that sees `seen` does next.
#[must_use]
pub fn next(seen: &Seen<'_>, past: &Past, now: Timestamp) -> Pace {
    let has_gathered = seen.began_at < now;
    if !has_gathered && let Some(end) = seen.rest(past, now) {
        return Pace::Rest(end);
    }
    // Pods of disrupted nodes do not wait for pods that have just come.
    if !seen.is_any_disrupted(past)
        && let Some(closes_at) = seen.window_closes_at(past, now)
        && now.duration_since(seen.began_at) < seen.window.max
    {
        return Pace::Wait(closes_at);
    }
    Pace::Look
}

/// What a look of `provision` came to.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// The counters of the ledger after the commit.
    pub counters: Counters,
    /// Whether every static NodePool has its replicas, or claims for them.
    pub has_all_replicas: bool,
    /// Whether pods wait for an EC2NodeClass: see [`waits_for_class`].
    pub waits_for_class: bool,
    /// Number of claims that were disrupted shortly before the look: see [`disrupted_lately`].
    pub disrupted: usize,
    /// Whether the look created claims.
    pub creates_claims: bool,
}

/// How a pass ends after a look at `now`, and what the process remembers of the look. `looked` is `None` if other
/// functions committed first each time.
#[must_use]
pub fn after(
    seen: &Seen<'_>,
    past: &Past,
    looked: Option<&Looked>,
    now: Timestamp,
) -> (PassEnd, Option<LastLook>) {
    let Some(looked) = looked else {
        let next_at = Some(later(now, BUSY));
        return (PassEnd { read: Some(seen.counters), next_at, note: past.note }, None);
    };
    let is_again =
        past.last_look.as_ref().is_some_and(|last| now.duration_since(last.at) < SAME_INTERRUPTION);
    let apart = match (looked.disrupted < MANY, is_again) {
        (true, _) => DISRUPTED_APART,
        (false, false) => MANY_DISRUPTED_APART,
        (false, true) => MASS_DISRUPTED_APART,
    };
    let last_look = LastLook {
        pods: seen.pending.iter().map(|pod| pod.uid.clone()).collect(),
        counters: looked.counters,
        at: now,
        rests_until: later(now, apart),
    };
    // The pods of disrupted nodes that are evicted already come back as other pods.
    let others_come = seen.is_any_disrupted(past);
    let replicas = seen.replicas();
    if seen.pending.is_empty() && replicas.is_empty() && !seen.keeps_buffers {
        return (seen.end(past.note, Rest::Nothing, others_come), Some(last_look));
    }
    if seen.calls.is_anew && !looked.creates_claims {
        // What the call is about may not be stored yet: the next beat looks as if there had been no look.
        return (PassEnd { note: None, ..seen.end(None, Rest::Unplaced, true) }, None);
    }
    let is_settled = seen.pending.is_empty() && looked.has_all_replicas && !seen.keeps_buffers;
    let rest = match (is_settled, looked.waits_for_class) {
        (true, _) => Rest::Nothing,
        (false, true) => Rest::AwaitsClass,
        (false, false) => Rest::Unplaced,
    };
    let digest = seen.digest(&replicas, rest, looked.counters);
    let same = past.note.filter(|note| seen.pending.is_empty() || note.digest == digest);
    let first_seen = if seen.pending.is_empty() { Timestamp::UNIX_EPOCH } else { now };
    let since = same.map_or(first_seen, |note| note.since);
    let note = PulseNote { digest, at: now, since };
    (seen.end(Some(note), rest, others_come), Some(last_look))
}

/// A pod of which a call should have come, if this pass finds one that no call asked for: it became unschedulable after
/// the last look, while calls came, and is so for seconds. In busy times beats find pods as soon as calls do.
#[must_use]
pub fn not_pushed<'a>(seen: &Seen<'a>, past: &Past) -> Option<&'a Pod> {
    let (_, since) = seen.calls.rest.filter(|_| !seen.calls.is_called)?;
    if past.has_failed || seen.is_busy(past.note) {
        return None;
    }
    let since = past.note.map_or(since, |note| note.at.max(since));
    seen.pending.iter().find(|pod| {
        pod.unschedulable_at
            .is_some_and(|at| since < at && PUSHED_WITHIN < seen.began_at.duration_since(at))
    })
}

/// Whether a pod of `plan` waits for an EC2NodeClass that `resolve` has yet to look at, or to hear of its dry run.
#[must_use]
pub fn waits_for_class(plan: &Plan) -> bool {
    let mut reasons = plan.unplaced.iter().flat_map(|unplaced| &unplaced.reasons);
    reasons.any(|reason| reason.reason == RejectionReason::ClassUnresolved)
}

/// What a look leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// For pods or static NodePools there is no node.
    Unplaced,
    /// Pods wait for an EC2NodeClass.
    AwaitsClass,
}

/// Number of claims that were disrupted within the time of one interruption.
#[must_use]
pub fn disrupted_lately(ledger: &Snapshot, now: Timestamp) -> usize {
    let deletions = ledger.claims.values().filter_map(|claim| claim.deletion.as_ref());
    deletions.filter(|deletion| now.duration_since(deletion.at) < SAME_INTERRUPTION).count()
}

impl Seen<'_> {
    /// How the pass ends at once, if there is no news.
    fn rest(&self, past: &Past, now: Timestamp) -> Option<PassEnd> {
        let is_any_disrupted = self.is_any_disrupted(past);
        let replicas = self.replicas();
        let noted = |rest: Rest| {
            past.note.filter(|note| note.digest == self.digest(&replicas, rest, self.counters))
        };
        let is_early = |note: PulseNote, least| {
            now.duration_since(note.at) < self.look_again_after(note, least)
        };
        if let Some(note) = noted(Rest::AwaitsClass) {
            let is_early = is_early(note, CLASS_AGAIN_AFTER);
            return is_early.then(|| self.end(past.note, Rest::AwaitsClass, false));
        }
        let is_idle = self.pending.is_empty() && !is_any_disrupted && !self.keeps_buffers;
        let is_covered = || past.last_look.as_ref().is_some_and(|last| last.covers(self, now));
        let is_known = (replicas.is_empty() && (is_idle || is_covered()))
            || noted(Rest::Nothing).is_some()
            || noted(Rest::Unplaced).is_some_and(|note| is_early(note, LOOK_AGAIN_AFTER));
        if is_known {
            let is_settled = is_idle && (replicas.is_empty() || noted(Rest::Nothing).is_some());
            let rest = if is_settled { Rest::Nothing } else { Rest::Unplaced };
            return Some(self.end(past.note, rest, false));
        }
        let rests_until = past.last_look.as_ref().map(|last| last.rests_until);
        let next_at = rests_until.filter(|until| is_any_disrupted && now < *until)?;
        Some(PassEnd { read: None, next_at: Some(next_at), note: past.note })
    }

    /// How long after the look of `note` the whole cluster is looked at again without any news, `least` at least.
    fn look_again_after(&self, note: PulseNote, least: SignedDuration) -> SignedDuration {
        if self.keeps_buffers {
            return BUFFERS_AGAIN_AFTER.min(least);
        }
        if self.pending.is_empty() {
            return least;
        }
        let pending_for = note.at.duration_since(note.since);
        let part = pending_for.checked_div(PENDING_PARTS).unwrap_or_default();
        part.clamp(least, LOOK_AGAIN_WITHIN)
    }

    /// The end of a pass that served everything it had read and leaves `rest` to do.
    fn end(&self, note: Option<PulseNote>, rest: Rest, others_come: bool) -> PassEnd {
        // A call may come before the object that it is about is stored, and before the pod says that it is unschedulable.
        let is_busy = others_come || self.calls.is_called || self.is_busy(note);
        let delay = match self.calls.rest {
            _ if is_busy => BUSY.min(self.poll_interval),
            Some((wake_rest, _)) if rest == Rest::Nothing => wake_rest.max(self.poll_interval),
            _ => self.poll_interval,
        };
        PassEnd { read: Some(self.counters), next_at: Some(later(self.began_at, delay)), note }
    }

    /// Whether other pods are expected, since pods came shortly before `note` was left.
    fn is_busy(&self, note: Option<PulseNote>) -> bool {
        note.is_some_and(|note| self.began_at.duration_since(note.since) < QUIET_AFTER)
    }

    /// Whether claims were disrupted since the last pass. Their pods need other nodes before they are pending.
    fn is_any_disrupted(&self, past: &Past) -> bool {
        past.served.departures < self.counters.departures
    }

    /// What static NodePools ask for, a line for each.
    fn replicas(&self) -> Vec<String> {
        let line = |pool: &NodePool| {
            let limit = pool.limits.0.get("nodes");
            let may_launch = !pool.is_deleting && pool.problems.is_empty();
            Some(format!("{} {} {limit:?} {may_launch}", pool.name, pool.replicas?))
        };
        self.node_pools.iter().filter_map(line).collect()
    }

    /// Digest of what a look is about: pending pods, static NodePools, what happened to claims so far, and what is
    /// left to do.
    fn digest(&self, replicas: &[String], rest: Rest, counters: Counters) -> u64 {
        let pods = self.pending.iter().map(|pod| format!("{} {}", pod.key, pod.uid));
        let end = format!("{counters} {rest:?}");
        let lines: Vec<String> = pods.chain(replicas.iter().cloned()).chain([end]).collect();
        digest(lines.join("\n").as_bytes())
    }

    /// When the batch window closes; `None` if it is closed. By default it is open while the newest pod is younger
    /// than a second and the oldest younger than ten. Pods of the last look do not belong to it: each look ends a window.
    ///
    /// Karpenter: `pkg/controllers/provisioning/batcher.go`.
    fn window_closes_at(&self, past: &Past, now: Timestamp) -> Option<Timestamp> {
        let has_come =
            |pod: &&Pod| past.last_look.as_ref().is_none_or(|look| !look.pods.contains(&pod.uid));
        let since = |pod: &Pod| Some(now.duration_since(pod.unschedulable_at?));
        let ages = || self.pending.iter().filter(has_come).filter_map(since);
        let idle = self.window.idle - ages().min()?;
        // A clock ahead of this one is no reason to wait longer.
        let wait = idle.min(self.window.max - ages().max()?).min(self.window.idle);
        (wait > SignedDuration::ZERO).then(|| later(now, wait))
    }
}

/// When a pass is due that a request at `now` asks for. `asked_for`: when the last pass is due that the process asked
/// for. `None`: that pass is still to come, so it sees what the request is about.
#[must_use]
pub fn called(asked_for: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    match asked_for {
        Some(due_at) if now < due_at => None,
        Some(due_at) => Some(later(due_at, CALLS_APART).max(now)),
        None => Some(now),
    }
}

/// Between two looks of `disrupt` while nothing is under way.
const IDLE_LOOKS: SignedDuration = SignedDuration::from_mins(1);
/// Until the next look of `disrupt` after a look that found something: more may follow.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `pollingPeriod`.
const BUSY_LOOKS: SignedDuration = SignedDuration::from_secs(10);
/// Between two beats of `disrupt` while replacements launch.
const REPLACING: SignedDuration = SignedDuration::from_secs(3);

/// Whether a look of `disrupt` is due. `note` is what its last pass left: when the next look is due.
#[must_use]
pub fn is_disruption_due(note: Option<PulseNote>, now: Timestamp) -> bool {
    note.and_then(PulseNote::time).is_none_or(|due_at| due_at <= now)
}

/// When `disrupt` looks again after `plan` on `facts`; `plan` is `None` if other functions committed first each time.
/// `is_called`: a call of the API server asked for the look. What it is about may not be stored yet, so that a look
/// that deletes nothing is followed by another.
#[must_use]
pub fn next_disruption(facts: &Facts, plan: Option<&Plan>, is_called: bool) -> PulseNote {
    let is_busy = plan.is_none_or(|plan| is_news(facts, plan));
    let deletes = |plan: &Plan| plan.changes.iter().any(NodeClaim::is_deleting);
    let again = match is_busy {
        _ if is_called && !plan.is_some_and(deletes) => CALLS_APART,
        true => BUSY_LOOKS,
        false => IDLE_LOOKS,
    };
    let again = later(facts.now, again);
    let validation = plan.and_then(|plan| first_validation(facts, plan));
    let due_at = validation.map_or(again, |validated_at| validated_at.min(again));
    // The note has whole seconds: never early.
    PulseNote::of_time(later(due_at, SignedDuration::from_secs(1)), facts.now)
}

/// How a pass of `disrupt` ends that had read `read`. `is_replacing`: replacements are launching.
#[must_use]
pub fn disruption_end(
    read: Counters,
    note: Option<PulseNote>,
    is_replacing: bool,
    now: Timestamp,
) -> PassEnd {
    let replaced = is_replacing.then(|| later(now, REPLACING));
    let next_at = replaced.into_iter().chain(note.and_then(PulseNote::time)).min();
    PassEnd { read: Some(read), next_at, note }
}

/// When the first of the commands is validated that wait for it after `plan`; `None` if none does.
fn first_validation(facts: &Facts, plan: &Plan) -> Option<Timestamp> {
    let stored = facts.ledger.commands.iter();
    stored
        .filter(|(id, _)| !plan.ended.contains(*id) && !plan.started.contains_key(*id))
        .chain(&plan.started)
        .map(|(_, command)| command)
        .filter(|command| command.is_found())
        .map(validated_at)
        .min()
}

/// When `command`, which was found, is validated.
pub(crate) fn validated_at(command: &Command) -> Timestamp {
    later(command.found_at, VALIDATION_DELAY)
}

/// Whether more may follow `plan`. What claims only show to people is no news.
fn is_news(facts: &Facts, plan: &Plan) -> bool {
    let is_change = |change: &NodeClaim| {
        let stored = facts.ledger.claims.get(&change.name);
        change.is_deleting() || stored.is_none_or(|stored| stored.empty_since != change.empty_since)
    };
    let is_any_command = !(plan.started.is_empty() && plan.ended.is_empty());
    is_any_command || !plan.new_claims.is_empty() || plan.changes.iter().any(is_change)
}

//! Nodes that are no longer wanted → claims given up.
//!
//! Each pass carries commands on that wait for replacements: the ledger alone tells how far these are. When
//! a look is due, it observes the cluster once for all methods. What emptiness and consolidation find waits
//! 15 seconds in the ledger and is begun only if it still holds. Where the pods fit onto other nodes, claims
//! are given up at once; where they need a new one, that is promised first.

mod observe;

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, NodeClaim, Plan,
    disruption::{Command, Progress},
    facts::Facts,
    ledger::{Basis, Counters, Snapshot},
    pulse::{PassEnd, PulseNote, Signal},
    recorded::Question,
};
use planner::{
    NextStep,
    disruption::{self, Options},
    events,
};
use ports::{Adapters, Invocation, Ledger as _, NodeClaims as _};

use crate::{
    Error, KnownOffers, Recorder, Report, Settings,
    commit::{ATTEMPTS_MAX, Committed, Decided, both, commit_and_record, commit_or_note},
    observe::{Sources, ledger_only},
    pass::{is_time_up, sooner},
    pulse::{Beating, Pass, Start, wake},
};

/// Between two looks while nothing is under way.
const IDLE: SignedDuration = SignedDuration::from_mins(1);
/// Until the next look when something was found: more may follow.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `pollingPeriod`.
const BUSY: SignedDuration = SignedDuration::from_secs(10);
/// Commands that one look begins at most: drift replaces one node by each.
const COMMANDS_PER_LOOK: u32 = 10;
/// Between two looks at the ledger while replacements are on their way.
const WAITING: SignedDuration = SignedDuration::from_secs(3);

/// Everything that `disrupt` may touch.
#[derive(Debug)]
pub struct DisruptPorts<'a, A: Adapters> {
    /// Pods, nodes, NodePools, EC2NodeClasses and what else decides where pods may go.
    pub cluster: &'a A::Cluster,
    /// Which NodeClaims somebody deletes.
    pub node_claims: &'a A::NodeClaims,
    /// What can be bought.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and which capacity reservations are about to end.
    pub discovery: &'a A::Discovery,
    /// Where claims are given up and promised, and where commands are kept.
    pub ledger: &'a A::Ledger,
    /// The next beat, `launch`, `drain` and `provision`.
    pub mailbox: &'a A::Mailbox,
    /// What people are told of it.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a KnownOffers,
    /// How to decide.
    pub settings: &'a Settings,
}

/// Finds nodes to give up, and carries out what was found.
pub async fn disrupt<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let DisruptPorts { ledger, mailbox, clock, .. } = *ports;
    let beating = Beating::<A> { function: Function::Disrupt, ledger, mailbox, clock };
    let report = beating.call(signal, at, async |start| pass(ports, start, at).await).await;
    ports.recorder.publish(ports.clock, at).await;
    report
}

async fn pass<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    // The note is when the next look is due.
    let (read, last) = (start.head.counters, start.pulse.note);
    let end = |next_at, note| PassEnd { read: Some(read), next_at, note };
    let (carried, snapshot) = carry_on(ports, at).await?;
    let Some(snapshot) = snapshot else {
        let end = end(Some(at.after(WAITING)), last);
        return Ok(Pass { report: Report { plan: carried, malformed: Vec::new() }, end });
    };
    let is_under_way = |command: &Command| command.is_under_way();
    let mut waits = snapshot.commands.values().any(is_under_way);
    let (mut report, mut note) = (Report { plan: carried, malformed: Vec::new() }, last);
    if last.and_then(PulseNote::time).is_none_or(|due_at| due_at <= at.now) {
        let looked = Box::pin(look(ports, snapshot, at)).await?;
        waits |= looked.report.plan.iter().any(|plan| plan.started.values().any(is_under_way));
        // Whole seconds, never early.
        let due_at = looked.next_at.checked_add(SignedDuration::from_secs(1));
        report.plan = both(report.plan, looked.report.plan);
        report.malformed = looked.report.malformed;
        note = Some(PulseNote::of_time(due_at.unwrap_or(Timestamp::MAX), at.now));
    }
    let waiting = waits.then(|| at.after(WAITING));
    Ok(Pass { report, end: end(sooner(waiting, note.and_then(PulseNote::time)), note) })
}

/// Carries commands on whose replacements are there, or will never be. Brings what was done, and the ledger
/// afterwards; `None` where others committed first each time.
async fn carry_on<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    at: &Invocation,
) -> Result<(Option<Plan>, Option<Snapshot>), Error> {
    let mut done = None;
    for _ in 0..ATTEMPTS_MAX {
        let snapshot = ports.ledger.snapshot(&at.cluster).await?;
        let plan = disruption::carried_on(&snapshot, at.now);
        let told = events::of_commands(&snapshot, &plan);
        if plan.is_empty() {
            ports.recorder.note(told);
            return Ok((done, Some(snapshot)));
        }
        let facts = ledger_only(snapshot, at);
        let decided =
            Decided::of(&plan, Basis::Both).recorded(ports.settings.record, || Question::CarryOn);
        if let Committed::All(counters) =
            commit_and_record(ports.ledger, &facts, &decided, at).await?
        {
            wake_for(ports, &plan, counters, at).await;
            ports.recorder.note(told);
            done = both(done, Some(plan));
        }
    }
    Ok((done, None))
}

/// What a look came to.
struct Looked {
    report: Report,
    /// When the next one is due.
    next_at: Timestamp,
}

/// Observes the cluster, and begins what there is to be begun.
async fn look<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    snapshot: Snapshot,
    at: &Invocation,
) -> Result<Looked, Error> {
    let DisruptPorts { cluster, node_claims, catalog, discovery, ledger, offers, .. } = *ports;
    let policies = ports.settings.policies;
    let sources = Sources::<A> { cluster, catalog, discovery, offers, policies };
    let (mut facts, mut malformed) = sources.facts(snapshot, at).await?;
    observe::deleted(node_claims.synced().await, &mut facts, &mut malformed);
    observe::ending(discovery, &mut facts, &mut malformed).await;
    let (mut done, mut overtaken, mut begun) = (None, 0, 0);
    while overtaken < ATTEMPTS_MAX {
        let (question, NextStep { plan, basis, staying, .. }) = decide(&facts, offers);
        let decided = Decided::of(&plan, basis)
            .counting(ports.recorder.told)
            .recorded(ports.settings.record, || question);
        let committed = commit_or_note(ledger, &facts, &decided, at).await?;
        if let Committed::All(counters) = committed {
            wake_for(ports, &plan, counters, at).await;
            let mut told = events::of_commands(&facts.ledger, &plan);
            told.extend(staying);
            ports.recorder.note(told);
            let is_begun = plan.started.values().any(Command::is_under_way);
            begun += u32::from(is_begun);
            done = both(done, Some(plan));
            if !is_begun || COMMANDS_PER_LOOK <= begun || is_time_up(ports.clock, at) {
                let next_at = done.as_ref().map(|plan| next_at(&facts, plan));
                let next_at = next_at.unwrap_or_else(|| at.after(BUSY));
                return Ok(Looked { report: Report { plan: done, malformed }, next_at });
            }
        } else {
            overtaken += 1;
        }
        // What happened is in the ledger. What others saw of the cluster was seen here, too.
        facts.ledger = ledger.snapshot(&at.cluster).await?;
    }
    Ok(Looked { report: Report { plan: done, malformed }, next_at: at.after(BUSY) })
}

/// Wakes those who have something to do after `plan`.
async fn wake_for<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    plan: &Plan,
    counters: Counters,
    at: &Invocation,
) {
    let mut functions = Vec::new();
    if !plan.promises.is_empty() {
        functions.push(Function::Launch);
    }
    let is_any_given_up = plan.changes.iter().any(NodeClaim::is_deleting);
    if is_any_given_up {
        functions.push(Function::Provision);
    }
    let is_found = |command: &Command| command.progress == Progress::Found;
    if is_any_given_up || !plan.started.values().all(is_found) {
        functions.push(Function::Drain);
    }
    if !functions.is_empty() {
        wake(ports.mailbox, &functions, counters, at).await;
    }
}

/// What is to be done first, and what was asked for it; what the next look goes on from is kept.
fn decide(facts: &Facts, offers: &KnownOffers) -> (Question, NextStep) {
    let (unseen, from) = (offers.unseen.borrow().clone(), offers.searched.borrow().clone());
    let question = Question::Disrupt { unseen: unseen.clone(), from: from.clone() };
    let options = Options { types: offers.types.clone(), unseen, from, ..Options::deployed() };
    let step = planner::next_step(facts, &options);
    if let Some((unseen, left)) = &step.left {
        offers.unseen.borrow_mut().clone_from(unseen);
        offers.searched.borrow_mut().clone_from(left);
    }
    (question, step)
}

/// When to look again after `plan`.
fn next_at(facts: &Facts, plan: &Plan) -> Timestamp {
    let waiting = facts
        .ledger
        .commands
        .iter()
        .filter(|(id, _)| !plan.ended.contains(*id) && !plan.started.contains_key(*id));
    let commands = waiting.chain(&plan.started).map(|(_, command)| command);
    let unchecked = commands.filter(|command| command.progress == Progress::Found);
    let due = unchecked.map(planner::validated_at).min();
    // What claims show to people is no reason to look again soon.
    let is_news = |change: &NodeClaim| {
        let stored = facts.ledger.claims.get(&change.name);
        change.is_deleting() || stored.is_none_or(|stored| stored.empty_since != change.empty_since)
    };
    let is_busy = !(plan.promises.is_empty() && plan.started.is_empty() && plan.ended.is_empty())
        || plan.changes.iter().any(is_news);
    let delay = if is_busy { BUSY } else { IDLE };
    let again = facts.now.checked_add(delay).unwrap_or(Timestamp::MAX);
    due.map_or(again, |due| due.min(again))
}

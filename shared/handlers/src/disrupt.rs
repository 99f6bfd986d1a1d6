//! Nodes to disrupt → claims that are deleted.
//!
//! Each pass first carries on the commands that wait for replacements, for which the ledger is enough. When a look
//! is due, it observes the cluster once for all methods. What emptiness and consolidation find waits 15 seconds in
//! the ledger and begins only if it still holds. If the pods fit onto other nodes, claims are deleted at once; if they
//! need a new node, that is launched first.

mod deletion_costs;
mod observe;

use model::{
    Function, Plan,
    disruption::Command,
    ledger::Snapshot,
    pulse::{PulseNote, Signal},
    recorded::Question,
};
use planner::pace;
use ports::{Adapters, Invocation, Ledger as _, NodeClaims as _};

use crate::{
    Report,
    commit::both,
    decide::{ATTEMPTS_MAX, Decider},
    error::Error,
    memory::ProcessMemory,
    metrics::Metrics,
    observe::{Seen, Sources, ledger_only},
    pass::is_time_up,
    pulse::{Beating, Pass, Start},
    recorder::Recorder,
    settings::Settings,
};

/// Everything that `disrupt` may touch.
#[derive(Debug)]
pub struct DisruptPorts<'a, A: Adapters> {
    /// Pods, nodes, NodePools, EC2NodeClasses and what else decides where pods may go.
    pub cluster: &'a A::Cluster,
    /// The NodeClaim objects: which ones are being deleted.
    pub node_claims: &'a A::NodeClaims,
    /// The pods, whose deletion costs it writes.
    pub nodes: &'a A::Nodes,
    /// Instance types and their offerings.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and which capacity reservations are about to end.
    pub discovery: &'a A::Discovery,
    /// The claims, the commands, and the pulse.
    pub ledger: &'a A::Ledger,
    /// The next beat, `launch`, `settle`, `drain` and `provision`.
    pub mailbox: &'a A::Mailbox,
    /// Events of nodes and claims.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process saw.
    pub memory: &'a ProcessMemory,
    /// How to decide.
    pub settings: &'a Settings,
    /// What becomes of deletion costs.
    pub metrics: &'a Metrics,
}

/// Finds nodes to disrupt, and carries out what was found.
pub async fn disrupt<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let DisruptPorts { ledger, mailbox, clock, ref recorder, .. } = *ports;
    let beating = Beating { function: Function::Disrupt, ledger, mailbox, clock, recorder };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

async fn pass<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let DisruptPorts { ledger, mailbox, memory, settings, .. } = *ports;
    let decider = &Decider::<A> { ledger, mailbox, memory, record: settings.record };
    let (read, mut note) = (start.head.counters, start.pulse.note);
    let (carried, snapshot) = carry_on(decider, at).await?;
    let mut report = Report { plan: carried, malformed: Vec::new() };
    let Some(snapshot) = snapshot else {
        return Ok(Pass { report, end: pace::disruption_end(read, note, true, at.now) });
    };
    let mut is_replacing = snapshot.commands.values().any(Command::is_under_way);
    if pace::is_disruption_due(note, at.now) {
        let (looked, due) = Box::pin(look(ports, decider, (snapshot, start.is_called), at)).await?;
        let mut started = looked.plan.iter().flat_map(|plan| plan.started.values());
        is_replacing |= started.any(Command::is_under_way);
        report.plan = both(report.plan, looked.plan);
        report.malformed = looked.malformed;
        note = Some(due);
    }
    Ok(Pass { report, end: pace::disruption_end(read, note, is_replacing, at.now) })
}

/// Carries on the commands whose replacements are ready, or will never be. Returns what was committed, and the ledger
/// afterwards; `None` if other functions committed first each time.
async fn carry_on<A: Adapters>(
    decider: &Decider<'_, A>,
    at: &Invocation,
) -> Result<(Option<Plan>, Option<Snapshot>), Error> {
    let mut carried = None;
    for _ in 0..ATTEMPTS_MAX {
        let facts = ledger_only(decider.ledger.snapshot(&at.cluster).await?, at);
        let Some((answer, _)) = decider.decide(&facts, &Question::CarryOn, at).await? else {
            continue;
        };
        if !answer.asks_again {
            return Ok((carried, Some(facts.ledger)));
        }
        carried = both(carried, Some(answer.plan));
    }
    Ok((carried, None))
}

/// Observes the cluster, and begins what there is to begin. Returns when the next look is due.
async fn look<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    decider: &Decider<'_, A>,
    (snapshot, is_called): (Snapshot, bool),
    at: &Invocation,
) -> Result<(Report, PulseNote), Error> {
    let DisruptPorts { cluster, node_claims, catalog, discovery, clock, memory, .. } = *ports;
    let settings = ports.settings;
    let sources = Sources::<A> { cluster, catalog, discovery, offers: &memory.offers, settings };
    let Seen { mut facts, mut malformed, .. } = sources.look(snapshot, at).await?;
    observe::deleted(node_claims.synced().await, &mut facts, &mut malformed);
    observe::ending(discovery, &mut facts, &mut malformed).await;
    let question = || memory.next_search.borrow().question();
    let goes_on = |begun| begun < pace::COMMANDS_PER_LOOK && !is_time_up(clock, at);
    let outcome = decider.decide_all(&mut facts, question, goes_on, at).await?;
    let committed = outcome.plan.as_ref().filter(|_| outcome.last.is_some());
    let due = pace::next_disruption(&facts, committed, is_called);
    deletion_costs::write(ports, &facts, at).await;
    Ok((Report { plan: outcome.plan, malformed }, due))
}

//! Pending pods → new claims.
//!
//! The pulse of `provision` never rests. Each beat lists the pending pods; [`planner::pace`] says when the whole
//! cluster is looked at.

mod calls;

use std::rc::Rc;

use futures_util::future::try_join;
use model::{
    Function, Plan, Pod,
    buffer::{BufferStatus, ObservedBuffer},
    limits::BUFFER_STATUSES_PER_LOOK_MAX,
    pulse::{Pulse, Signal},
    recorded::Question,
};
use planner::pace::{self, Calls, Looked, Pace, Past, Seen};
use ports::{
    Adapters, AlphaStatuses as _, Clock as _, Cluster as _, Invocation, Ledger as _, PodSelection,
};

use crate::{
    Report,
    decide::Decider,
    error::Error,
    job::Tally,
    memory::ProcessMemory,
    observe::{Seen as Observed, Sources},
    pass::each,
    pulse::{Beating, Pass, Start},
    recorder::Recorder,
    settings::Settings,
};
use calls::Pools;

/// Statuses of CapacityBuffers that are written at the same time.
const AT_ONCE: usize = 10;

/// Everything that `provision` may touch.
#[derive(Debug)]
pub struct ProvisionPorts<'a, A: Adapters> {
    /// Pods, nodes, NodePools, EC2NodeClasses and what else decides where pods may go.
    pub cluster: &'a A::Cluster,
    /// Instance types and their offerings.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and what nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// The claims, and the pulse.
    pub ledger: &'a A::Ledger,
    /// The next beat, `launch` and `settle`.
    pub mailbox: &'a A::Mailbox,
    /// Events of pods.
    pub recorder: Recorder<'a, A>,
    /// NodePools and their condition `WakeHealthy`.
    pub node_pools: &'a A::NodePools,
    /// The status of CapacityBuffers.
    pub statuses: &'a A::AlphaStatuses,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process saw.
    pub memory: &'a ProcessMemory,
    /// How to decide, and how often to look.
    pub settings: &'a Settings,
}

/// Looks for pods that need a node and creates claims for them.
pub async fn provision<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let ProvisionPorts { ledger, mailbox, clock, ref recorder, .. } = *ports;
    let beating = Beating { function: Function::Provision, ledger, mailbox, clock, recorder };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

async fn pass<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let ProvisionPorts { clock, memory, settings, .. } = *ports;
    let (mut pending, Pools { static_pools, observed }) = if settings.has_wake {
        try_join(pending_pods(ports), calls::pools(ports)).await?
    } else {
        (pending_pods(ports).await?, calls::static_pools(ports).await?)
    };
    let mut now = at.now;
    let calls = Calls { is_called: start.is_called, is_anew: start.is_anew, rest: None };
    let calls = calls.with_rest(&observed, settings.wake_rest);
    let mut not_pushed = None;
    loop {
        let seen = Seen {
            pending: &pending,
            node_pools: &static_pools,
            counters: start.head.counters,
            began_at: at.now,
            keeps_buffers: settings.policies.capacity_buffer,
            poll_interval: settings.poll_interval,
            calls,
            window: settings.batch,
        };
        if now == at.now {
            not_pushed = pace::not_pushed(&seen, &past(start, memory)).map(|pod| pod.key.clone());
        }
        match pace::next(&seen, &past(start, memory), now) {
            Pace::Rest(end) => return Ok(Pass { report: Report::default(), end }),
            Pace::Wait(until) => {
                clock.wait_until(until).await;
                (pending, now) = (pending_pods(ports).await?, clock.now());
            }
            Pace::Look => {
                let at = &Invocation { now, ..at.clone() };
                let (report, looked) = look(ports, at).await?;
                let (end, look) = pace::after(&seen, &past(start, memory), looked.as_ref(), now);
                if let Some(look) = look {
                    memory.last_look.replace(Some(Rc::new(look)));
                }
                if let Some(pod) = not_pushed {
                    calls::note_not_pushed(ports, start, (observed, pod), at).await;
                }
                return Ok(Pass { report, end });
            }
        }
    }
}

fn past(start: &Start, memory: &ProcessMemory) -> Past {
    let last_look = memory.last_look.borrow().clone().filter(|_| !start.is_anew);
    let Pulse { served, note, failures, .. } = start.pulse;
    Past { served, note, has_failed: failures > 0, last_look }
}

/// Looks at the whole cluster and creates the claims that it lacks.
async fn look<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    at: &Invocation,
) -> Result<(Report, Option<Looked>), Error> {
    let ProvisionPorts { cluster, catalog, discovery, ledger, mailbox, memory, settings, .. } =
        *ports;
    let sources = Sources::<A> { cluster, catalog, discovery, offers: &memory.offers, settings };
    let snapshot = ledger.snapshot(&at.cluster).await?;
    let disrupted = pace::disrupted_lately(&snapshot, at.now);
    let Observed { mut facts, buffers, malformed } = sources.look(snapshot, at).await?;
    let decider = Decider::<A> { ledger, mailbox, memory, record: settings.record };
    let mut outcome = decider.decide_all(&mut facts, || Question::Provision, |_| true, at).await?;
    if outcome.last.is_some() {
        let nothing = Plan::default();
        let plan = outcome.plan.as_ref().unwrap_or(&nothing);
        update_buffers(ports, planner::buffer_statuses(&facts, plan, &buffers), at).await;
        if let Some(plan) = &mut outcome.plan {
            let due = memory.published.news_of_pods(at.now);
            let remedies = memory.planner.remedies(&facts, plan, &due);
            memory.published.name_remedies(&remedies);
            planner::name_remedies(&mut plan.unplaced, &remedies);
        }
    }
    let looked = outcome.last.map(|(answer, counters)| {
        for reason in &answer.missing_replicas {
            tracing::info!(%reason, "a static NodePool does not get its replicas");
        }
        Looked {
            counters,
            has_all_replicas: answer.missing_replicas.is_empty(),
            waits_for_class: pace::waits_for_class(&answer.plan),
            disrupted,
            creates_claims: outcome.plan.as_ref().is_some_and(|plan| !plan.new_claims.is_empty()),
        }
    });
    Ok((Report { plan: outcome.plan, malformed }, looked))
}

/// Writes what the last plan means for CapacityBuffers into their status. The next look writes what cannot be written
/// now: that fails nothing else.
async fn update_buffers<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    mut statuses: Vec<(&ObservedBuffer, BufferStatus)>,
    at: &Invocation,
) {
    statuses.truncate(BUFFER_STATUSES_PER_LOOK_MAX);
    let mut tally = Tally::default();
    let (written, _) = each(statuses, AT_ONCE, ports.clock, at, async |(observed, status)| {
        (observed, ports.statuses.update_buffer_status(observed, &status, at.now).await)
    })
    .await;
    for (observed, result) in written {
        tally.note_update(format_args!("status of CapacityBuffer {}", observed.key), result);
    }
}

/// The pending pods that a new node may help.
async fn pending_pods<A: Adapters>(ports: &ProvisionPorts<'_, A>) -> Result<Vec<Pod>, Error> {
    let pods = ports.cluster.pods(&PodSelection::Waiting).await?;
    Ok(pods.items.into_iter().filter(Pod::is_provisionable).collect())
}

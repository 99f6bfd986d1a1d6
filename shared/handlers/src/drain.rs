//! Deleted claims → pods elsewhere, instances ended, nodes and claims gone.
//!
//! A pass marks nodes that are replaced, and visits every claim that is deleted or rebooted: what EC2, the nodes
//! and the pods say is asked once for all, then each claim is visited by itself, then the volumes of nodes
//! without pods are looked at, once for all, then instances are terminated together. A claim, a node or a pod that
//! fails keeps no other from going. What cannot be read is never taken for absent: its node is not empty, its
//! instance is not terminated, and the claim says why.

mod mark;
mod observe;
mod reboot;
mod volumes;

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use model::{
    Function, InstanceId, NodeClaim, NodePoolName,
    claim::{ClaimConditions, VolumesDetached},
    event::ObjectEvent,
    ledger::{Snapshot, WriteOutcome},
    node::{Eviction, EvictionRequest},
    pulse::{PassEnd, PulseNote, Signal},
};
use planner::{InstanceView, VolumeLook, events};
use ports::{Adapters, Fault, Fleet as _, Invocation, Ledger as _, Nodes, PortError};

use self::{mark::Marks, observe::Observed};
use crate::{
    Report,
    error::{Error, story},
    pass::{each, postpone, sooner},
    pulse::{Beating, Pass, Start},
    recorder::Recorder,
    settings::Settings,
    settle::ignore_missing,
    sync::{keep, remove, sync},
};

/// Claims that are visited at the same time.
const AT_ONCE: usize = 16;
/// When it is looked again whether a zone is in use again: instances there are not terminated meanwhile.
///
/// Karpenter: `pkg/providers/instance/instance.go`, `Delete`, of the AWS provider.
const SHIFTED_AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// Between two passes over many claims: whatever is drained meanwhile is terminated by one request.
const MANY_APART: SignedDuration = SignedDuration::from_secs(5);
/// Between two requests to terminate instances: what is drained meanwhile shares one.
///
/// Karpenter waits for up to a second for others (`pkg/batcher/terminateinstances.go`), of requests that come
/// whenever a node is drained; here they come pass by pass.
const TERMINATED_APART: SignedDuration = SignedDuration::from_secs(2);
/// Until nodes are marked again that could not be.
const MARKED_AGAIN: SignedDuration = SignedDuration::from_secs(2);
/// Evictions of one node that are under way at the same time.
const EVICTIONS_MAX: usize = 10;

/// Everything that `drain` may touch.
#[derive(Debug)]
pub struct DrainPorts<'a, A: Adapters> {
    /// The claims.
    pub ledger: &'a A::Ledger,
    /// Where nodes and pods are listed, when they are many.
    pub cluster: &'a A::Cluster,
    /// Their nodes, and the pods to evict.
    pub nodes: &'a A::Nodes,
    /// The claims' objects.
    pub node_claims: &'a A::NodeClaims,
    /// The instances to terminate.
    pub fleet: &'a A::Fleet,
    /// The next beat.
    pub mailbox: &'a A::Mailbox,
    /// What people are told of it.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// How to work.
    pub settings: &'a Settings,
}

/// Drains the nodes of deleted claims, terminates their instances, removes both.
pub async fn drain<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let DrainPorts { ledger, mailbox, clock, ref recorder, .. } = *ports;
    let beating = Beating { function: Function::Drain, ledger, mailbox, clock, recorder };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

/// What a visit came to.
#[derive(Default)]
struct Visited {
    /// When the next one is due, if ever.
    again: Option<Timestamp>,
    /// Its instance is to be terminated.
    terminate: Option<Ending>,
    /// What people are told.
    events: Vec<ObjectEvent>,
    /// The NodePool whose instance ended before its node joined, and why.
    ended_early: Option<(NodePoolName, String)>,
}

/// A claim whose instance is to be terminated.
struct Ending {
    instance: InstanceId,
    claim: NodeClaim,
    drained_since: Option<Timestamp>,
    /// What to look at of its volumes before that.
    look: Option<VolumeLook>,
    /// How far its volumes are.
    volumes: Option<VolumesDetached>,
}

impl Ending {
    /// The next version of the claim once EC2 took the request.
    fn told(&self, at: &Invocation) -> NodeClaim {
        let conditions = ClaimConditions {
            drained_since: self.drained_since,
            volumes: self.volumes,
            instance_terminating_since: Some(at.now),
            ..self.claim.conditions.clone()
        };
        NodeClaim { conditions, retry: None, message: None, ..self.claim.following() }
    }
}

async fn pass<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let read = start.head.counters;
    let snapshot = ports.ledger.snapshot(&at.cluster).await?;
    let last = start.pulse.note;
    let marks = Marks::of(&snapshot);
    let is_said = mark::say(ports, &snapshot, at).await;
    let is_marked = last.is_some_and(|note| note.digest == marks.digest())
        || marks.is_empty()
        || marks.set(ports, at).await;
    let is_marked = is_marked && is_said;
    let digest = if is_marked { marks.digest() } else { 0 };
    let marks_at = (!is_marked).then(|| at.after(MARKED_AGAIN));
    let deleting: Vec<&NodeClaim> =
        snapshot.claims.values().filter(|claim| claim.is_deleting()).collect();
    let rebooting = reboot::due(&snapshot, at);
    if deleting.is_empty() && rebooting.is_empty() {
        // Objects are shown anew where something is deleted.
        let note = (digest != 0).then(|| PulseNote::new(digest, Timestamp::UNIX_EPOCH));
        let end = PassEnd { read: Some(read), next_at: marks_at, note };
        return Ok(Pass { report: Report::default(), end });
    }
    let retries = deleting.iter().filter_map(|claim| Some(claim.retry?.not_before));
    let waiting = retries.filter(|not_before| at.now < *not_before).min();
    let due: Vec<&NodeClaim> = deleting.into_iter().filter(|claim| claim.is_due(at.now)).collect();
    let looked_at: Vec<&NodeClaim> =
        due.iter().copied().chain(rebooting.iter().map(|(claim, _)| *claim)).collect();
    let mut observed = Observed::look(ports, &looked_at, snapshot.claims.len(), at).await?;
    observed.note_shifted(due.iter().filter(|claim| snapshot.head.is_shifted(claim, at.now)));
    let (visited, rest_at) = each(due, AT_ONCE, ports.clock, at, async |claim| {
        visit(ports, claim, &observed, last, at).await
    })
    .await;
    let reboots_at = reboot::all(ports, rebooting, &observed, at).await;
    let mut next_at = sooner(sooner(sooner(waiting, rest_at), marks_at), reboots_at);
    let mut endings = Vec::new();
    let (mut noted, mut early) = (Vec::new(), Vec::new());
    for Visited { again, terminate, events, ended_early } in visited {
        next_at = sooner(next_at, again);
        endings.extend(terminate);
        noted.extend(events);
        early.extend(ended_early);
    }
    hold_back(ports.ledger, &snapshot, &early, at).await;
    let rests_until = rests_until(&snapshot, at).filter(|_| !endings.is_empty());
    let ended_at = if let Some(until) = rests_until {
        Some(until)
    } else {
        let volumes::Settled { endings, again, events, malformed } =
            volumes::settle(ports, endings, at).await;
        noted.extend(events);
        observed.malformed.extend(malformed);
        sooner(again, terminate(ports, &endings, at).await)
    };
    next_at = sooner(next_at, ended_at);
    if observed.are_many {
        next_at = next_at.map(|next_at| next_at.max(at.after(MANY_APART)));
    }
    ports.recorder.note(noted);
    let end = PassEnd { read: Some(read), next_at, note: Some(PulseNote::new(digest, at.now)) };
    Ok(Pass { report: Report { plan: None, malformed: observed.malformed }, end })
}

/// Until when others are waited for that are terminated by the same request.
fn rests_until(snapshot: &Snapshot, at: &Invocation) -> Option<Timestamp> {
    let told_at =
        snapshot.claims.values().filter_map(|claim| claim.conditions.instance_terminating_since);
    let until = told_at.max()?.checked_add(TERMINATED_APART).ok()?;
    (at.now < until).then_some(until)
}

async fn visit<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    claim: &NodeClaim,
    observed: &Observed,
    last: Option<PulseNote>,
    at: &Invocation,
) -> Visited {
    match step(ports, claim, observed, last, at).await {
        Ok(visited) => visited,
        Err(error) => {
            let again = Some(postpone::<A>(ports.ledger, ports.clock, claim, &error, at).await);
            Visited { again, ..Visited::default() }
        }
    }
}

async fn step<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    claim: &NodeClaim,
    observed: &Observed,
    last: Option<PulseNote>,
    at: &Invocation,
) -> Result<Visited, PortError> {
    let DrainPorts { nodes, node_claims, .. } = *ports;
    let Some(instance) = &claim.instance else {
        // Nothing was launched: only `launch` moves an unlaunched claim, and it removes such ones.
        return gone(ports, claim, observed, at).await;
    };
    let mut noted = Vec::new();
    if last.is_none_or(|note| note.at <= claim.phase_since) {
        sync(node_claims, claim).await;
        noted = events::of_deleted(claim);
    }
    let view = observed.view(claim, at);
    if view == InstanceView::Gone && observed.is_absent(&instance.id) {
        // That EC2 does not list it is no proof: what may still run is terminated.
        ports.fleet.terminate(std::slice::from_ref(&instance.id)).await?;
    }
    let node = observed.node_of(claim)?;
    let pods = match (&node, view) {
        (Some(node), InstanceView::Present | InstanceView::Unknown) => {
            observed.pods_on(nodes, &node.name).await?
        }
        _ => Vec::new(),
    };
    let drainage = planner::drain(claim, node, &pods, view, at.now);
    if let (Some(node), Some(patch)) = (node, &drainage.patch) {
        ignore_missing(nodes.patch(&node.name, patch).await)?;
    }
    noted.extend(evict(nodes, claim, &drainage.evict).await);
    if let Some(node) = node {
        noted.extend(events::of_pods_left(&node.name, drainage.pods_left));
    }
    if let (Some(node), true) = (node, drainage.delete_node) {
        nodes.delete(node).await?;
    }
    if drainage.remove_claim {
        return gone(ports, claim, observed, at).await;
    }
    let mut again = drainage
        .revisit_after_seconds
        .map(|seconds| at.after(SignedDuration::from_secs(i64::from(seconds))));
    // That EC2 refused to terminate it counts until it does not any more.
    if claim.retry.is_some() && !drainage.terminate {
        let next = NodeClaim { retry: None, message: None, ..claim.following() };
        if ports.ledger.write_claim(&at.cluster, &next).await? == WriteOutcome::Conflict {
            again = Some(at.now);
        }
    }
    let is_shifted = observed.is_shifted(&instance.id);
    if drainage.terminate && is_shifted {
        again = Some(at.after(SHIFTED_AGAIN));
    }
    let terminate = (drainage.terminate && !is_shifted).then(|| Ending {
        instance: instance.id.clone(),
        claim: claim.clone(),
        drained_since: drainage.drained_since,
        look: drainage.volumes,
        volumes: claim.conditions.volumes,
    });
    Ok(Visited { again, terminate, events: noted, ended_early: None })
}

/// Takes away what is left of `claim`, whose instance is gone.
async fn gone<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    claim: &NodeClaim,
    observed: &Observed,
    at: &Invocation,
) -> Result<Visited, PortError> {
    Ok(match ports.ledger.remove_claim(&at.cluster, claim).await? {
        WriteOutcome::Written => {
            remove(ports.node_claims, &claim.name).await;
            let ended_early =
                planner::ended_early(claim).map(|pool| (pool.clone(), observed.end_reason(claim)));
            Visited { ended_early, ..Visited::default() }
        }
        WriteOutcome::Conflict => Visited { again: Some(at.now), ..Visited::default() },
    })
}

/// Lets NodePools wait whose instances end before their nodes join. What cannot be kept is kept with the next one.
async fn hold_back(
    ledger: &impl ports::Ledger,
    snapshot: &Snapshot,
    ended: &[(NodePoolName, String)],
    at: &Invocation,
) {
    for (pool, refusals) in planner::waiting(snapshot, ended, at.now) {
        tracing::warn!(%pool, why = refusals.reason, until = %refusals.until, "instances end early");
        if let Err(error) = ledger.put_refusals(&at.cluster, &pool, Some(&refusals)).await {
            tracing::warn!(%pool, story = story(&error), "not kept");
        }
    }
}

/// Terminates the instances of `endings` together. Where EC2 refuses that, each is asked for by itself, so
/// that a protected one keeps no other. Each claim keeps that EC2 was told. Brings when the first that failed is
/// due again.
async fn terminate<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    endings: &[Ending],
    at: &Invocation,
) -> Option<Timestamp> {
    let ids: Vec<InstanceId> = endings.iter().map(|ending| ending.instance.clone()).collect();
    if ids.is_empty() {
        return None;
    }
    let refused = ports.fleet.terminate(&ids).await.err();
    if let Some(error) = &refused {
        tracing::warn!(story = story(error), instances = ids.len(), "instances not terminated");
        if error.fault != Fault::Permanent {
            // Throttled or lost: together again, with the next beat.
            return Some(at.after(SignedDuration::from_secs(2)));
        }
    }
    let (retries, rest_at) =
        each(endings.iter().collect(), AT_ONCE, ports.clock, at, async |ending: &Ending| {
            let instance = std::slice::from_ref(&ending.instance);
            if refused.is_some()
                && let Err(error) = ports.fleet.terminate(instance).await
            {
                return Some(
                    postpone::<A>(ports.ledger, ports.clock, &ending.claim, &error, at).await,
                );
            }
            // If that cannot be stored, EC2 gets the call again.
            keep::<A>(ports.ledger, ports.node_claims, &ending.told(at), at).await;
            None
        })
        .await;
    sooner(retries.into_iter().flatten().min(), rest_at)
}

/// Asks for every eviction, and returns their events. One that a budget blocks, or that fails, is asked
/// for again by the next visit.
async fn evict(
    nodes: &impl Nodes,
    claim: &NodeClaim,
    evictions: &[EvictionRequest],
) -> Vec<ObjectEvent> {
    let mut answers = stream::iter(evictions)
        .map(|eviction| async move { (eviction, nodes.evict(eviction).await) })
        .buffer_unordered(EVICTIONS_MAX);
    let (mut noted, mut blocked) = (Vec::new(), 0);
    while let Some((eviction, answer)) = answers.next().await {
        let EvictionRequest { pod, uid, grace_seconds } = eviction;
        match answer {
            Ok(answer) => {
                match answer {
                    Eviction::Accepted => tracing::info!(%pod, "pod evicted"),
                    Eviction::Gone => tracing::info!(%pod, "pod is gone"),
                    // An event says so, once: each visit asks again for as long as the budget blocks it.
                    Eviction::Blocked => {}
                }
                blocked += usize::from(answer == Eviction::Blocked);
                noted.extend(events::of_eviction(
                    claim,
                    (pod, uid),
                    grace_seconds.is_some(),
                    answer,
                ));
            }
            Err(error) => tracing::warn!(%pod, story = story(&error), "eviction failed"),
        }
    }
    if blocked > 0 {
        tracing::info!(claim = %claim.name, blocked, "evictions blocked by disruption budgets");
    }
    noted
}

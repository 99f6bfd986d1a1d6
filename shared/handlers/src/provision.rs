//! Pending pods → promised claims.
//!
//! The poll chain: every link re-arms the next before it looks, under a sequence number in the
//! ledger, so that duplicated messages cannot fork it and a crash loses at most the time until the
//! schedule, the safety net, starts it again.

use jiff::{SignedDuration, Timestamp};
use launch_template::Offers;
use model::{NodeClaim, Pod, ledger::WriteOutcome, message::Message};
use ports::{Adapters, Cluster as _, Invocation, Ledger, PodSelection};

use crate::{
    Error, Report,
    commit::{ATTEMPTS_MAX, Committed, commit},
    mail::{ask_to_provision, send},
    observe::Sources,
};

/// Seconds between two looks unless configured.
pub const POLL_INTERVAL_SECONDS_DEFAULT: u32 = 5;

/// The chain's name in the ledger.
const CHAIN: &str = "provision";
/// A chain that made no link for so long was broken by a crash.
const CHAIN_BROKEN_AFTER: SignedDuration = SignedDuration::from_secs(90);
/// Karpenter: `BATCH_IDLE_DURATION`.
const BATCH_IDLE: SignedDuration = SignedDuration::from_secs(1);
/// Karpenter: `BATCH_MAX_DURATION`.
const BATCH_MAX: SignedDuration = SignedDuration::from_secs(10);
/// Why pending pods are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvisionTrigger {
    /// What asked.
    pub source: ProvisionSource,
    /// Seconds between two links of the poll chain, 1 to 60.
    pub poll_interval_seconds: u32,
}

/// What asked for a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvisionSource {
    /// The schedule: look at everything, and mend the chain.
    Schedule,
    /// A link of the poll chain: look only whether a pod waits.
    Tick(u64),
    /// Somebody knows that there is something to do.
    Request,
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
    /// Where claims are promised, and where the poll chain has its number.
    pub ledger: &'a A::Ledger,
    /// The poll chain's next link, and later looks.
    pub mailbox: &'a A::Mailbox,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a Offers,
}

/// Looks for pods that need a node and promises claims for them.
pub async fn provision<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    trigger: ProvisionTrigger,
    at: &Invocation,
) -> Result<Report, Error> {
    let ProvisionPorts { cluster, catalog, discovery, ledger, mailbox, offers } = *ports;
    let sources = Sources::<A> { cluster, catalog, discovery, offers };
    if let Some(tick) = next_tick(ledger, trigger, at).await? {
        let message = Message::Provision { tick: Some(tick) };
        send(mailbox, at, message, trigger.poll_interval_seconds).await?;
    }
    let waiting = cluster.pods(&PodSelection::Waiting).await?;
    let waiting: Vec<Pod> = waiting.items.into_iter().filter(Pod::is_provisionable).collect();
    let is_tick = matches!(trigger.source, ProvisionSource::Tick(_));
    if waiting.is_empty() && is_tick {
        return Ok(Report::default());
    }
    // Pods of a node that is given up need another one before they wait for it, and they are not
    // kept waiting by others that have just come.
    let mut snapshot = ledger.snapshot(&at.cluster).await?;
    let is_any_deleting = snapshot.claims.values().any(NodeClaim::is_deleting);
    if waiting.is_empty() && !is_any_deleting {
        return Ok(Report::default());
    }
    if is_window_open(&waiting, at.now) && !is_any_deleting {
        ask_to_provision(mailbox, at, 1).await?;
        return Ok(Report::default());
    }
    for _ in 0..ATTEMPTS_MAX {
        let (facts, malformed) = sources.facts(snapshot, at).await?;
        let plan = planner::provision(&facts);
        if commit(ledger, &facts, &plan, at).await? == Committed::All {
            return Ok(Report { plan: Some(plan), malformed });
        }
        snapshot = ledger.snapshot(&at.cluster).await?;
    }
    ask_to_provision(mailbox, at, 1).await?;
    Ok(Report::default())
}

/// The link that this call has to send, if it is the one that continues the chain.
async fn next_tick(
    ledger: &impl Ledger,
    trigger: ProvisionTrigger,
    at: &Invocation,
) -> Result<Option<u64>, Error> {
    let from = match trigger.source {
        ProvisionSource::Request => return Ok(None),
        ProvisionSource::Tick(tick) => Some(tick),
        ProvisionSource::Schedule => match ledger.tick(&at.cluster, CHAIN).await? {
            Some((_, made_at)) if at.now.duration_since(made_at) < CHAIN_BROKEN_AFTER => {
                return Ok(None);
            }
            Some((tick, _)) => Some(tick),
            None => None,
        },
    };
    let next = from.map_or(0, |tick| tick.saturating_add(1));
    Ok(match ledger.advance_tick(&at.cluster, CHAIN, from, at.now).await? {
        WriteOutcome::Written => Some(next),
        WriteOutcome::Conflict => None,
    })
}

/// Whether more pods may be about to come: the newest is younger than a second and the oldest
/// younger than ten.
fn is_window_open(waiting: &[Pod], now: Timestamp) -> bool {
    let ages = || waiting.iter().filter_map(|pod| Some(now.duration_since(pod.unschedulable_at?)));
    let newest = ages().min();
    let oldest = ages().max();
    newest.is_some_and(|age| age < BATCH_IDLE) && oldest.is_some_and(|age| age < BATCH_MAX)
}

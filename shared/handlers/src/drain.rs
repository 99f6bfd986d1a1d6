//! Claims that are given up → pods elsewhere, instance ended, node and claim gone.
//!
//! Each visit does what can be done now and comes back when the next thing is due.

use futures_util::{StreamExt as _, stream};
use model::{
    NodeClaim, NodeClaimName,
    launch::InstanceState,
    ledger::WriteOutcome,
    message::Message,
    node::{Eviction, EvictionRequest},
};
use planner::InstanceView;
use ports::{Adapters, Fleet, Invocation, Ledger as _, Nodes, PortError};

use crate::{
    Error,
    mail::send,
    settle::{LISTING_LAG_MAX, ignore_missing},
    sync::{remove, sync},
};

/// Evictions that are under way at the same time.
const EVICTIONS_MAX: usize = 10;
/// Seconds until a write that somebody else overtook is tried again.
const CONFLICT_SECONDS: u32 = 1;

/// Everything that `drain` may touch.
#[derive(Debug)]
pub struct DrainPorts<'a, A: Adapters> {
    /// The claim.
    pub ledger: &'a A::Ledger,
    /// Its node, and the pods to evict.
    pub nodes: &'a A::Nodes,
    /// The claim's object.
    pub node_claims: &'a A::NodeClaims,
    /// The instance to terminate.
    pub fleet: &'a A::Fleet,
    /// The next visit.
    pub mailbox: &'a A::Mailbox,
}

/// Empties the node of a claim that is given up, ends its instance, removes both.
pub async fn drain<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    claim: &NodeClaimName,
    at: &Invocation,
) -> Result<(), Error> {
    let DrainPorts { ledger, nodes, node_claims, fleet, mailbox } = *ports;
    let Some(claim) = ledger.claim(&at.cluster, claim).await? else { return Ok(()) };
    if !claim.is_deleting() {
        return Ok(());
    }
    let Some(instance) = &claim.instance else {
        // Nothing was launched: only `launch` moves a promised claim, and it removes such ones.
        if ledger.remove_claim(&at.cluster, &claim).await? == WriteOutcome::Written {
            remove(node_claims, &claim.name).await;
        }
        return Ok(());
    };
    sync(node_claims, &claim).await;
    let view = view(fleet, &claim, at).await?;
    let node = nodes.node_of_instance(&instance.id).await?;
    let pods = match &node {
        Some(node) => nodes.pods_on(&node.name).await?.items,
        None => Vec::new(),
    };
    let drainage = planner::drain(&claim, node.as_ref(), &pods, view, at.now);
    if let (Some(node), Some(patch)) = (&node, &drainage.patch) {
        ignore_missing(nodes.patch(&node.name, patch).await)?;
    }
    evict(nodes, &drainage.evict).await?;
    if drainage.terminate {
        fleet.terminate(std::slice::from_ref(&instance.id)).await?;
    }
    if let (Some(node), true) = (&node, drainage.delete_node) {
        nodes.delete(&node.name).await?;
    }
    let mut revisit = drainage.revisit_after_seconds;
    if drainage.remove_claim {
        match ledger.remove_claim(&at.cluster, &claim).await? {
            WriteOutcome::Written => remove(node_claims, &claim.name).await,
            WriteOutcome::Conflict => revisit = Some(CONFLICT_SECONDS),
        }
    }
    match revisit {
        Some(delay) => Ok(send(mailbox, at, Message::Drain { claim: claim.name }, delay).await?),
        None => Ok(()),
    }
}

/// What EC2 says about the instance. Right after the launch, absence says nothing.
async fn view(
    fleet: &impl Fleet,
    claim: &NodeClaim,
    at: &Invocation,
) -> Result<InstanceView, PortError> {
    let Some(instance) = &claim.instance else { return Ok(InstanceView::Gone) };
    let described = fleet.describe(std::slice::from_ref(&instance.id)).await?;
    let age = at.now.duration_since(instance.launched_at);
    Ok(match described.first().map(|described| described.state) {
        Some(InstanceState::Pending | InstanceState::Running | InstanceState::Stopped) => {
            InstanceView::Present
        }
        Some(InstanceState::ShuttingDown) => InstanceView::Ending,
        Some(InstanceState::Terminated) => InstanceView::Gone,
        None if age >= LISTING_LAG_MAX => InstanceView::Gone,
        None => InstanceView::Unknown,
    })
}

/// Asks for every eviction. One that a budget blocks is asked for again by the next visit.
async fn evict(nodes: &impl Nodes, evictions: &[EvictionRequest]) -> Result<(), PortError> {
    let mut answers = stream::iter(evictions)
        .map(|eviction| async move { (&eviction.pod, nodes.evict(eviction).await) })
        .buffer_unordered(EVICTIONS_MAX);
    while let Some((pod, answer)) = answers.next().await {
        match answer? {
            Eviction::Accepted => tracing::info!(%pod, "pod evicted"),
            Eviction::Blocked => tracing::info!(%pod, "eviction blocked by a disruption budget"),
            Eviction::Gone => {}
        }
    }
    Ok(())
}

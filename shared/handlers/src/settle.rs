//! Launched claims → nodes in service.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Bytes, ClaimPhase, NodeClaim, NodeClaimName,
    claim::LaunchedInstance,
    labels,
    launch::InstanceState,
    ledger::{MeasuredKey, WriteOutcome},
    message::Message,
    node::Node,
};
use ports::{Adapters, Fault, Fleet, Invocation, Ledger, Nodes as _, PortError};

use crate::{
    Error,
    mail::{ask_to_provision, send},
    sync::sync,
};

/// Listings of EC2 may lag a launch by less than this.
pub(crate) const LISTING_LAG_MAX: SignedDuration = SignedDuration::from_mins(5);

/// How long measured memory is kept after it was seen last.
///
/// Karpenter: `pkg/cache/cache.go` of the AWS provider, `DiscoveredCapacityCacheTTL`.
const MEASURED_KEPT: SignedDuration = SignedDuration::from_hours(60 * 24);

/// Everything that `settle` may touch.
#[derive(Debug)]
pub struct SettlePorts<'a, A: Adapters> {
    /// The claim, and the memory that its node has.
    pub ledger: &'a A::Ledger,
    /// The node that joined.
    pub nodes: &'a A::Nodes,
    /// The claim's object.
    pub node_claims: &'a A::NodeClaims,
    /// The instance and its tags.
    pub fleet: &'a A::Fleet,
    /// The next visit, and `provision` for the pods of a claim that is given up.
    pub mailbox: &'a A::Mailbox,
}

/// Moves a claim with an instance on: registered, initialized, or given up when it takes too long.
pub async fn settle<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    claim: &NodeClaimName,
    at: &Invocation,
) -> Result<(), Error> {
    let SettlePorts { ledger, nodes, node_claims, fleet, mailbox } = *ports;
    let Some(claim) = ledger.claim(&at.cluster, claim).await? else { return Ok(()) };
    if matches!(claim.phase, ClaimPhase::Promised | ClaimPhase::Deleting) {
        return Ok(());
    }
    let Some(instance) = claim.instance.clone() else { return Ok(()) };
    let node = nodes.node_of_instance(&instance.id).await?;
    let is_gone = is_instance_gone(fleet, &instance, node.as_ref(), at).await?;
    let settlement = planner::settle(&claim, node.as_ref(), is_gone, at.now);
    if settlement.tag_instance {
        fleet.tag(&instance.id, &tags(&claim, node.as_ref())).await?;
    }
    if let (Some(node), Some(patch)) = (&node, &settlement.patch) {
        ignore_missing(nodes.patch(&node.name, patch).await)?;
    }
    if let (Some(claim), Some(node)) = (&settlement.claim, &node) {
        measure(ledger, claim, node, at).await?;
    }
    let mut revisit = settlement.revisit_after_seconds;
    match &settlement.claim {
        Some(claim) => match ledger.write_claim(&at.cluster, claim).await? {
            WriteOutcome::Written => sync(node_claims, claim).await,
            WriteOutcome::Conflict => revisit = Some(1),
        },
        // Whether an earlier visit came so far, or who launched it, nobody knows.
        None => sync(node_claims, &claim).await,
    }
    if settlement.claim.as_ref().is_some_and(NodeClaim::is_deleting) {
        ask_to_provision(mailbox, at, 0).await?;
    }
    match revisit {
        Some(delay_seconds) => {
            Ok(send(mailbox, at, Message::Settle { claim: claim.name }, delay_seconds).await?)
        }
        None => Ok(()),
    }
}

/// Keeps how much memory a node has that joined: the next node of its type and image will not have
/// more. One that does not report any yet will when it is initialized.
async fn measure(
    ledger: &impl Ledger,
    claim: &NodeClaim,
    node: &Node,
    at: &Invocation,
) -> Result<(), PortError> {
    let joined = matches!(claim.phase, ClaimPhase::Registered | ClaimPhase::Initialized);
    let Some(instance) = claim.instance.as_ref().filter(|_| joined) else { return Ok(()) };
    let (Some(image), true) = (&instance.image, node.capacity.memory > Bytes(0)) else {
        return Ok(());
    };
    let instance_type = instance.instance_type.clone();
    let key = MeasuredKey { instance_type, image: image.clone() };
    let until = at.now.saturating_add(MEASURED_KEPT).unwrap_or(Timestamp::MAX);
    ledger.measure(&at.cluster, &key, node.capacity.memory, until).await
}

/// Whether EC2 says that the instance ended. A ready node says that it did not.
async fn is_instance_gone(
    fleet: &impl Fleet,
    instance: &LaunchedInstance,
    node: Option<&Node>,
    at: &Invocation,
) -> Result<bool, PortError> {
    if node.is_some_and(|node| node.is_ready) {
        return Ok(false);
    }
    let described = fleet.describe(std::slice::from_ref(&instance.id)).await?;
    Ok(match described.first() {
        Some(described) => described.state >= InstanceState::Stopped,
        None => at.now.duration_since(instance.launched_at) >= LISTING_LAG_MAX,
    })
}

/// Karpenter: `pkg/controllers/nodeclaim/tagging/controller.go` of the AWS provider.
fn tags(claim: &NodeClaim, node: Option<&Node>) -> BTreeMap<String, String> {
    let claim_tag = (labels::NODE_CLAIM_TAG.to_owned(), claim.name.to_string());
    let name = node.map(|node| ("Name".to_owned(), node.name.to_string()));
    std::iter::once(claim_tag).chain(name).collect()
}

/// A node that went away meanwhile is looked at again by the next visit.
pub(crate) fn ignore_missing(result: Result<(), PortError>) -> Result<(), PortError> {
    match result {
        Err(error) if error.fault == Fault::NotFound => Ok(()),
        other => other,
    }
}

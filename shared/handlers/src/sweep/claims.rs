//! Claims of the ledger that must say something else than they do.

use std::collections::BTreeMap;

use model::{
    InstanceId, NodeClaim, NodeClassName, NodePoolName,
    ledger::{Snapshot, WriteOutcome},
    message::Message,
    node_class::{ClusterSettings, ListedNodeClass},
    node_pool::NodePool,
    static_hash::NODE_POOL,
};
use ports::{Adapters, Fleet as _, Invocation, Ledger as _, PortError};

use super::SweepPorts;
use crate::{job::Tally, mail::send, observe::class_hashes};

/// Seconds until `settle` looks at a claim that is being written.
const TOLD_AFTER_SECONDS: u32 = 5;

/// The drift hashes of this version.
pub(super) struct Hashes {
    pools: BTreeMap<NodePoolName, String>,
    classes: BTreeMap<NodeClassName, String>,
}

impl Hashes {
    pub(super) fn of(
        settings: &ClusterSettings,
        pools: &[NodePool],
        classes: &[ListedNodeClass],
    ) -> Self {
        let hash = |pool: &NodePool| {
            Some((pool.name.clone(), pool.annotations.get(NODE_POOL.key)?.clone()))
        };
        Self {
            pools: pools.iter().filter_map(hash).collect(),
            classes: class_hashes(settings, classes.iter().map(|listed| &listed.class)),
        }
    }
}

/// Claims with drift hashes of another version get those of this one. Whoever writes a claim in
/// between does not know the hashes; the next sweep finds it again.
pub(super) async fn renew_hashes<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    snapshot: &Snapshot,
    hashes: &Hashes,
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for claim in planner::renewed_hashes(snapshot, &hashes.pools, &hashes.classes) {
        if write(ports, &mut tally, &claim, at).await {
            tracing::info!(claim = %claim.name, "drift hash of another version written anew");
        }
    }
    tally.done()
}

/// Claims whose capacity reservation is over, and whose instances are not, are on demand from now on.
/// `settle` is asked to tell their nodes, first: a claim that could not be written is found again.
pub(super) async fn demote<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), PortError> {
    let reserved = planner::reserved(snapshot).filter_map(|claim| claim.instance.as_ref());
    let reserved: Vec<InstanceId> = reserved.map(|instance| instance.id.clone()).collect();
    if reserved.is_empty() {
        return Ok(());
    }
    let described = ports.fleet.describe(&reserved).await?;
    let mut tally = Tally::default();
    for claim in planner::demoted(snapshot, &described) {
        let message = Message::Settle { claim: claim.name.clone() };
        let sent = send(ports.mailbox, at, message, TOLD_AFTER_SECONDS).await;
        let is_sent = tally.note(format_args!("NodeClaim {}", claim.name), sent);
        if is_sent && write(ports, &mut tally, &claim, at).await {
            tracing::info!(claim = %claim.name, "its capacity reservation is over: on-demand");
        }
    }
    tally.done()
}

/// Writes `claim`, and says whether it stands so. A claim that somebody else moved on meanwhile is left
/// to the next sweep.
async fn write<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    tally: &mut Tally,
    claim: &NodeClaim,
    at: &Invocation,
) -> bool {
    match ports.ledger.write_claim(&at.cluster, claim).await {
        Ok(WriteOutcome::Written) => true,
        Ok(WriteOutcome::Conflict) => false,
        Err(error) => tally.note(format_args!("NodeClaim {}", claim.name), Err(error)),
    }
}

//! Claims of the ledger that must say something else than they do.

use std::collections::BTreeMap;

use model::{
    InstanceId, NodeClaim, NodeClassName, NodePoolName,
    launch::Instance,
    ledger::{Snapshot, WriteOutcome},
    node_class::{ClusterSettings, ListedNodeClass},
    node_pool::NodePool,
    static_hash::NODE_POOL,
};
use ports::{Adapters, Fleet as _, Invocation, Ledger as _, Nodes as _, PortError};

use super::SweepPorts;
use crate::{job::Tally, observe::class_hashes, settle::ignore_missing};

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

/// How often a claim that is in its phase for too long is reported again.
const TOLD_EVERY_MINUTES: i64 = 10;

/// Reports claims that are in their phase for too long, and unreadable items.
pub(super) fn tell_overdue(snapshot: &Snapshot, at: &Invocation) {
    if !super::is_minute_of(TOLD_EVERY_MINUTES, at) {
        return;
    }
    for claim in snapshot.claims.values() {
        if let Some(age) = planner::overdue(claim, at.now) {
            // A field `message` would stand beside the line's own.
            let why = claim.message.as_ref().map(ToString::to_string).unwrap_or_default();
            tracing::warn!(claim = %claim.name, phase = %claim.phase, minutes = age.as_mins(),
                why, "claim too old in its phase");
        }
    }
    for item in &snapshot.unreadable {
        tracing::error!(item = item.item, problem = item.problem, "item cannot be read");
    }
}

/// Claims with drift hashes of another version get those of this one. A function that writes a claim in
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
/// Their nodes are updated first: a claim that could not be written is found again.
pub(super) async fn demote<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), PortError> {
    let reserved: Vec<InstanceId> = planner::reserved(snapshot)
        .filter_map(|claim| claim.instance.as_ref())
        .map(|instance| instance.id.clone())
        .collect();
    if reserved.is_empty() {
        return Ok(());
    }
    let described = ports.fleet.describe(&reserved).await?;
    let mut tally = Tally::default();
    for claim in planner::demoted(snapshot, &described) {
        let updated = update_node(ports, &claim, at).await;
        let is_updated = tally.note(format_args!("NodeClaim {}", claim.name), updated);
        if is_updated && write(ports, &mut tally, &claim, at).await {
            tracing::info!(claim = %claim.name, "its capacity reservation is over: on-demand");
        }
    }
    tally.done()
}

/// Claims whose instances drifted from what their class selects, or did and do not any more, say so.
pub(super) async fn tell_drift<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    (snapshot, instances, classes): (&Snapshot, &[Instance], &[ListedNodeClass]),
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for claim in planner::drifted_in_account(snapshot, instances, classes, at.now) {
        if write(ports, &mut tally, &claim, at).await {
            let drift = claim.conditions.drifted.as_deref().unwrap_or("none any more");
            tracing::info!(claim = %claim.name, drift, "drift of its instance");
        }
    }
    tally.done()
}

/// Makes the node of `claim` say what it says, if it is there.
async fn update_node<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    claim: &NodeClaim,
    at: &Invocation,
) -> Result<(), PortError> {
    let Some(name) = &claim.node else { return Ok(()) };
    let Some(node) = ports.nodes.node(name).await? else { return Ok(()) };
    let slices = planner::SeenSlices::default();
    match planner::settle(claim, Some(&node), slices, false, at.now).patch {
        Some(patch) => ignore_missing(ports.nodes.patch(name, &patch).await),
        None => Ok(()),
    }
}

/// Writes `claim`, and says whether it stands so. A claim that another function changed meanwhile is left
/// to the next sweep.
async fn write<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    tally: &mut Tally,
    claim: &NodeClaim,
    at: &Invocation,
) -> bool {
    ports.memory.ledger.forget();
    match ports.ledger.write_claim(&at.cluster, claim).await {
        Ok(WriteOutcome::Written) => true,
        Ok(WriteOutcome::Conflict) => false,
        Err(error) => tally.note(format_args!("NodeClaim {}", claim.name), Err(error)),
    }
}

//! NodeClaim objects are made to say what the ledger says.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, stream};
use model::{NodeClaim, NodeClaimName, claim::SyncedNodeClaim, ledger::Snapshot, limits};
use ports::{Adapters, Fault, Invocation, Listing, NodeClaims as _};

use super::{SweepPorts, in_turn, standalone};
use crate::{Error, job::Tally};

/// Objects that are written at the same time.
const WRITES_MAX: usize = 10;

/// Syncs every claim whose object says something else or is not there, and takes the objects away
/// whose claims are gone.
///
/// Objects were listed before the ledger was read. No object is made before its claim is in the ledger,
/// and no name comes twice: one that was listed and has no claim afterwards has lost it.
pub(super) async fn equalize<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    listing: &Listing<SyncedNodeClaim>,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), Error> {
    let claims = &snapshot.claims;
    let synced: BTreeMap<&NodeClaimName, &SyncedNodeClaim> =
        listing.items.iter().map(|synced| (&synced.name, synced)).collect();
    let unreadable: BTreeSet<&NodeClaimName> =
        snapshot.unreadable.iter().filter_map(|item| item.claim.as_ref()).collect();
    let is_known = |name: &NodeClaimName| claims.contains_key(name) || unreadable.contains(name);
    let lost: Vec<&NodeClaimName> = listing
        .items
        .iter()
        .filter(|synced| !is_known(&synced.name))
        .map(|synced| &synced.name)
        .collect();
    let late: Vec<&NodeClaim> =
        claims.values().filter(|claim| is_late(claim, synced.get(&claim.name).copied())).collect();
    let different = lost.len().saturating_add(late.len());
    if different > limits::NODE_CLAIMS_PER_SWEEP_MAX {
        let most = limits::NODE_CLAIMS_PER_SWEEP_MAX;
        tracing::warn!(different, most, "more NodeClaims to sync than one sweep does");
    }
    let lost = in_turn(lost, limits::NODE_CLAIMS_PER_SWEEP_MAX, at);
    let late = in_turn(late, limits::NODE_CLAIMS_PER_SWEEP_MAX, at);
    let mut tally = Tally::default();
    let mut removed = stream::iter(lost)
        .map(|name| async move { (name, ports.node_claims.remove(name).await) })
        .buffer_unordered(WRITES_MAX);
    while let Some((name, result)) = removed.next().await {
        tally.note(format_args!("NodeClaim {name}"), result);
    }
    let mut written = stream::iter(late)
        .map(|claim| async move { (claim, ports.node_claims.sync(claim).await) })
        .buffer_unordered(WRITES_MAX);
    // Users' objects that are not there any more.
    let mut gone = BTreeSet::new();
    while let Some((claim, result)) = written.next().await {
        match result {
            Err(error) if claim.is_standalone() && error.fault == Fault::NotFound => {
                gone.insert(claim.name.clone());
            }
            result => drop(tally.note(format_args!("NodeClaim {}", claim.name), result)),
        }
    }
    standalone::delete(ports, &gone, snapshot, at).await?;
    Ok(tally.done()?)
}

/// Whether the object of `claim` does not say what it says. A claim that is being deleted needs none.
fn is_late(claim: &NodeClaim, synced: Option<&SyncedNodeClaim>) -> bool {
    match synced {
        Some(synced) => {
            synced.version < claim.version || claim.is_deleting() && !synced.is_deleting
        }
        None => !claim.is_deleting(),
    }
}

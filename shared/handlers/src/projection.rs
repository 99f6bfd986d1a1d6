//! Claims of the ledger → NodeClaim objects, for people and tools.
//!
//! The ledger is the truth: an object that cannot be written, or not be taken away, holds nothing up.
//! It is reported, and made right by the next sweep, which compares all of them.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use model::{NodeClaim, NodeClaimName, claim::ShownNodeClaim, limits};
use ports::{Invocation, Ledger, NodeClaims, PortError};

use crate::error::story;

/// Objects that are written at the same time.
const WRITES_MAX: usize = 10;

/// Makes the object of `claim` say what it says.
pub(crate) async fn show(node_claims: &impl NodeClaims, claim: &NodeClaim) {
    if let Err(error) = node_claims.project(claim).await {
        let (claim, story) = (&claim.name, story(&error));
        tracing::warn!(%claim, story, "NodeClaim not shown");
    }
}

/// Takes the object of a claim away that is gone.
pub(crate) async fn hide(node_claims: &impl NodeClaims, claim: &NodeClaimName) {
    if let Err(error) = node_claims.remove(claim).await {
        tracing::warn!(%claim, story = story(&error), "NodeClaim not removed");
    }
}

/// Shows every claim whose object says something else or is not there, and takes the objects away
/// whose claims are gone.
///
/// Objects are listed before the ledger is read. No object is made before its claim is in the ledger,
/// and no name comes twice: one that is listed and has no claim afterwards has lost it.
pub(crate) async fn sweep(
    node_claims: &impl NodeClaims,
    ledger: &impl Ledger,
    at: &Invocation,
) -> Result<(), PortError> {
    let listing = node_claims.shown().await?;
    for malformed in &listing.malformed {
        tracing::warn!(object = malformed.object, problem = malformed.problem, "not readable");
    }
    let claims = ledger.snapshot(&at.cluster).await?.claims;
    let shown: BTreeMap<&NodeClaimName, &ShownNodeClaim> =
        listing.items.iter().map(|shown| (&shown.name, shown)).collect();
    let lost = listing.items.iter().filter(|shown| !claims.contains_key(&shown.name));
    let lost: Vec<&NodeClaimName> = lost.map(|shown| &shown.name).collect();
    let late: Vec<&NodeClaim> =
        claims.values().filter(|claim| is_late(claim, shown.get(&claim.name).copied())).collect();
    let found = lost.len().saturating_add(late.len());
    if found > limits::NODE_CLAIMS_PER_SWEEP_MAX {
        let most = limits::NODE_CLAIMS_PER_SWEEP_MAX;
        tracing::warn!(found, most, "more NodeClaims to show than one sweep does");
    }
    let lost = lost.into_iter().take(limits::NODE_CLAIMS_PER_SWEEP_MAX);
    let late = late.into_iter().take(limits::NODE_CLAIMS_PER_SWEEP_MAX);
    stream::iter(lost).for_each_concurrent(WRITES_MAX, |name| hide(node_claims, name)).await;
    stream::iter(late).for_each_concurrent(WRITES_MAX, |claim| show(node_claims, claim)).await;
    Ok(())
}

/// Whether the object of `claim` does not say what it says. One that is given up needs none.
fn is_late(claim: &NodeClaim, shown: Option<&ShownNodeClaim>) -> bool {
    match shown {
        Some(shown) => shown.version < claim.version || claim.is_deleting() && !shown.is_deleting,
        None => !claim.is_deleting(),
    }
}

//! Claims of the ledger → NodeClaim objects, for people and tools.
//!
//! The ledger is the truth: an object that cannot be written, or not be taken away, holds nothing up.
//! It is reported, and made right by the next `sweep`, which compares all of them.

use model::{NodeClaim, NodeClaimName, ledger::WriteOutcome};
use ports::{Adapters, Invocation, Ledger as _, NodeClaims};

use crate::error::story;

/// Makes the object of `claim` say what it says.
pub(crate) async fn sync(node_claims: &impl NodeClaims, claim: &NodeClaim) {
    if let Err(error) = node_claims.sync(claim).await {
        let (claim, story) = (&claim.name, story(&error));
        tracing::warn!(%claim, story, "NodeClaim not shown");
    }
}

/// Keeps `claim`, which is its next version, and shows it; whether it stands so. One that another function changed
/// meanwhile stays as it is, and so does one that cannot be written: its next visit finds the same again.
pub(crate) async fn keep<A: Adapters>(
    ledger: &A::Ledger,
    node_claims: &A::NodeClaims,
    claim: &NodeClaim,
    at: &Invocation,
) -> bool {
    match ledger.write_claim(&at.cluster, claim).await {
        Ok(WriteOutcome::Written) => {
            sync(node_claims, claim).await;
            true
        }
        Ok(WriteOutcome::Conflict) => false,
        Err(error) => {
            tracing::warn!(claim = %claim.name, story = story(&error), "NodeClaim not kept");
            false
        }
    }
}

/// Takes the object of a claim away that is gone.
pub(crate) async fn remove(node_claims: &impl NodeClaims, claim: &NodeClaimName) {
    if let Err(error) = node_claims.remove(claim).await {
        tracing::warn!(%claim, story = story(&error), "NodeClaim not removed");
    }
}

//! Claims of the ledger → NodeClaim objects, for people and tools.
//!
//! The ledger is the truth: an object that cannot be written, or not be taken away, holds nothing up.
//! It is reported, and made right by the next `sweep`, which compares all of them.

use model::{NodeClaim, NodeClaimName};
use ports::NodeClaims;

use crate::error::story;

/// Makes the object of `claim` say what it says.
pub(crate) async fn sync(node_claims: &impl NodeClaims, claim: &NodeClaim) {
    if let Err(error) = node_claims.sync(claim).await {
        let (claim, story) = (&claim.name, story(&error));
        tracing::warn!(%claim, story, "NodeClaim not shown");
    }
}

/// Takes the object of a claim away that is gone.
pub(crate) async fn remove(node_claims: &impl NodeClaims, claim: &NodeClaimName) {
    if let Err(error) = node_claims.remove(claim).await {
        tracing::warn!(%claim, story = story(&error), "NodeClaim not removed");
    }
}

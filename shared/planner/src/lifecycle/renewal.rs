//! Claims whose drift hashes were made in another way: they get those that are made now, and do not
//! drift. So a cluster that is taken over, or that lives through an update, keeps its nodes.
//!
//! Karpenter: `pkg/controllers/nodepool/hash/controller.go` and the AWS provider's
//! `pkg/controllers/nodeclass/hash/controller.go`.

use std::collections::BTreeMap;

use model::{
    ClaimPhase, NodeClaim, NodeClassName, NodePoolName,
    ledger::Snapshot,
    static_hash::{NODE_CLASS, NODE_POOL},
};

/// The claims of `snapshot` that have to be written, each one version on. `pools` and `classes` have
/// the present hashes.
pub fn renewed_hashes(
    snapshot: &Snapshot,
    pools: &BTreeMap<NodePoolName, String>,
    classes: &BTreeMap<NodeClassName, String>,
) -> Vec<NodeClaim> {
    let renewed = |claim: &NodeClaim| {
        // A claim that is created now has the hashes of now, and a claim that is being deleted needs none.
        if matches!(claim.phase, ClaimPhase::Created | ClaimPhase::Deleting) {
            return None;
        }
        let mut annotations = claim.annotations.clone();
        let has_drifted = claim.conditions.drifted.is_some();
        let of_pool = pools.get(&claim.node_pool);
        let of_class = classes.get(&claim.node_class);
        let of_pool =
            of_pool.is_some_and(|hash| NODE_POOL.renew(&mut annotations, hash, has_drifted));
        let of_class =
            of_class.is_some_and(|hash| NODE_CLASS.renew(&mut annotations, hash, has_drifted));
        (of_pool || of_class).then(|| NodeClaim {
            annotations,
            version: claim.version + 1,
            ..claim.clone()
        })
    };
    snapshot.claims.values().filter_map(renewed).collect()
}

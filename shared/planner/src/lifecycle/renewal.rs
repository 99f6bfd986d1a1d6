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
        // What is promised now has the hashes of now, and what goes needs none.
        if matches!(claim.phase, ClaimPhase::Promised | ClaimPhase::Deleting) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// The hashes of a claim of phase `phase` after a look, in the order `pool`, its version, `class`,
    /// its version; empty when nothing is to be written.
    #[track_caller]
    fn check(phase: ClaimPhase, texts: [&str; 4], expected: &[&str]) {
        let keys = [NODE_POOL.key, NODE_POOL.version_key, NODE_CLASS.key, NODE_CLASS.version_key];
        let mut claim = testing::add_managed(&mut testing::facts(Vec::new()), "a");
        claim.phase = phase;
        let given = keys.iter().zip(texts).filter(|(_, value)| !value.is_empty());
        claim.annotations =
            given.map(|(key, value)| ((*key).to_owned(), value.to_owned())).collect();
        let version = claim.version;
        let snapshot =
            Snapshot { claims: [(claim.name.clone(), claim)].into(), ..Snapshot::default() };
        let pools = [("general".parse().unwrap(), "1".to_owned())].into();
        let classes = [("default".parse().unwrap(), "2".to_owned())].into();
        let claims = renewed_hashes(&snapshot, &pools, &classes);
        assert!(claims.iter().all(|claim| claim.version == version + 1));
        let hashes: Vec<&str> = claims
            .iter()
            .flat_map(|claim| keys.map(|key| claim.annotations[key].as_str()))
            .collect();
        assert_eq!(hashes, expected);
    }

    #[test]
    fn only_what_another_version_made_is_made_anew() {
        let initialized = ClaimPhase::Initialized;
        check(initialized, ["1", "v3", "2", "v6"], &[]);
        check(initialized, ["8", "v3", "9", "v6"], &[]);
        check(initialized, ["8", "v3", "9", "v5"], &["8", "v3", "2", "v6"]);
        check(initialized, ["8", "v2", "9", "v6"], &["1", "v3", "9", "v6"]);
        check(initialized, ["8", "v2", "9", "v5"], &["1", "v3", "2", "v6"]);
        check(initialized, ["", "", "", ""], &["1", "v3", "2", "v6"]);
        check(ClaimPhase::Launched, ["", "", "", ""], &["1", "v3", "2", "v6"]);
        check(ClaimPhase::Promised, ["", "", "", ""], &[]);
        check(ClaimPhase::Deleting, ["8", "v2", "9", "v5"], &[]);
    }
}

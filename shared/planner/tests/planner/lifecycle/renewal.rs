//! Claims whose drift hashes were made in another way: they get those that are made now, and do not

use model::{
    ClaimPhase,
    ledger::Snapshot,
    static_hash::{NODE_CLASS, NODE_POOL},
};
use planner::lifecycle::renewal::*;

use crate::planner::support as testing;

/// The hashes of a claim of phase `phase` after a look, in the order `pool`, its version, `class`,
/// its version; empty when nothing is to be written.
#[track_caller]
fn check(phase: ClaimPhase, texts: [&str; 4], expected: &[&str]) {
    let keys = [NODE_POOL.key, NODE_POOL.version_key, NODE_CLASS.key, NODE_CLASS.version_key];
    let mut claim = testing::add_managed(&mut testing::facts(Vec::new()), "a");
    claim.phase = phase;
    let given = keys.iter().zip(texts).filter(|(_, value)| !value.is_empty());
    claim.annotations = given.map(|(key, value)| ((*key).to_owned(), value.to_owned())).collect();
    let version = claim.version;
    let snapshot = Snapshot { claims: [(claim.name.clone(), claim)].into(), ..Snapshot::default() };
    let pools = [("general".parse().unwrap(), "1".to_owned())].into();
    let classes = [("default".parse().unwrap(), "2".to_owned())].into();
    let claims = renewed_hashes(&snapshot, &pools, &classes);
    assert!(claims.iter().all(|claim| claim.version == version + 1));
    let hashes: Vec<&str> =
        claims.iter().flat_map(|claim| keys.map(|key| claim.annotations[key].as_str())).collect();
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
    check(ClaimPhase::Created, ["", "", "", ""], &[]);
    check(ClaimPhase::Deleting, ["8", "v2", "9", "v5"], &[]);
}

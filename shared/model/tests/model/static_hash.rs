//! Static drift hashes: what a NodePool or an EC2NodeClass says of its nodes, as one number that

use std::collections::BTreeMap;

use model::static_hash::*;

fn claim(hash: &str, version: &str) -> BTreeMap<String, String> {
    let entries = [(NODE_CLASS.key, hash), (NODE_CLASS.version_key, version)];
    let given = entries.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[track_caller]
fn check(hash: &str, version: &str, differs: bool) {
    assert_eq!(NODE_CLASS.differs(&claim(hash, version), "7"), differs);
}

#[test]
fn only_hashes_of_the_present_version_are_compared() {
    check("7", "v6", false);
    check("8", "v6", true);
    check("8", "v5", false);
    check("8", "", false);
    check("", "v6", false);
    check("", "", false);
}

/// The annotations after a look at a claim with `hash` of `version`.
#[track_caller]
fn renews(hash: &str, version: &str, has_drifted: bool, expected: Option<&str>) {
    let mut annotations = claim(hash, version);
    let before = annotations.clone();
    let is_new = NODE_CLASS.renew(&mut annotations, "7", has_drifted);
    let expected = expected.map_or(before, |expected| claim(expected, "v6"));
    assert_eq!((is_new, &annotations), (expected != claim(hash, version), &expected));
}

#[test]
fn a_hash_of_another_version_is_written_anew() {
    renews("8", "v6", false, None);
    renews("8", "v5", false, Some("7"));
    renews("8", "", false, Some("7"));
    renews("", "", false, Some("7"));
    renews("8", "v5", true, Some("8"));
    renews("", "", true, Some("7"));
}

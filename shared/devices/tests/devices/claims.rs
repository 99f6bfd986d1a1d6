//! Which claims a pod has, and what those ask that have devices already.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::sync::Arc;

use devices::Devices;
use expect_test::expect;
use jiff::Timestamp;
use model::{Namespace, ObjectName, Pod, PodKey, PodSpec, PodUid, dynamic_resources::PodClaims};

use super::support::{Words, check, facts};

fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

/// References as `name` or `name=claim`, statuses as `name=claim` or `name=`.
fn claims_of(world: &str, references: &str, statuses: &str) -> String {
    let pairs = |text: &str| -> Vec<(String, Option<ObjectName>)> {
        let pair = |word: &str| match word.split_once('=') {
            Some((own, claim)) => {
                (own.to_owned(), Some(claim).filter(|claim| !claim.is_empty()).map(name))
            }
            None => (word.to_owned(), None),
        };
        text.split_whitespace().map(pair).collect()
    };
    let claims = PodClaims { references: pairs(references), is_asked_by_container: true };
    let spec = Arc::new(PodSpec { claims, ..PodSpec::default() });
    let key = PodKey { namespace: Namespace::new("default").unwrap(), name: name("web") };
    let uid = PodUid::new("uid-web").unwrap();
    let mut pod = Pod::waiting(key, uid, spec, Timestamp::UNIX_EPOCH);
    pod.made_claims = pairs(statuses).into_iter().collect();
    let facts = facts(world);
    match Devices::new(&facts, &Words).claims_of(&pod) {
        Ok(keys) => keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn a_claim_is_named_by_the_spec_or_by_the_status() {
    let world = "claim a:
        claim web-b:";
    assert_eq!(claims_of(world, "x=a y", "y=web-b"), "default/a default/web-b");
}

#[test]
fn a_name_for_which_no_claim_was_made_is_left_out() {
    assert_eq!(claims_of("claim a:", "x y z=a", "x="), "default/a");
}

#[test]
fn a_pod_waits_for_a_claim_that_does_not_exist() {
    let missing = claims_of("claim a:", "x=a y=b", "");
    assert_eq!(missing, "ResourceClaim default/b does not exist");
}

#[test]
fn a_claim_that_a_pod_names_twice_is_one() {
    assert_eq!(claims_of("claim a:", "x=a y=a", ""), "default/a");
}

#[test]
fn an_allocated_claim_takes_its_pods_where_its_devices_are() {
    check(
        "claim zonal has net/p/a on zone=a for web
        claim free has net/p/b for web",
        "try new-0 p m.x zone=a,b: zonal
        try new-0 p m.x: zonal
        try new-0 p m.x zone=b: zonal
        try new-0 p m.x,m.y zone=b: free",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [a]
            new-0: m.x if topology.kubernetes.io/zone In [a]
            new-0: ResourceClaim default/zonal has devices that this node does not reach
            new-0: m.x m.y
        "#]],
    );
}

#[test]
fn a_claim_on_one_node_takes_its_pods_there_only() {
    check(
        "claim local has gpu/p/a on name=node-a for web",
        "try new-0 p m.x: local
        try node-b p m.x: local
        try node-a p m.x: local",
        &expect![[r#"
            new-0: ResourceClaim default/local has devices that this node does not reach
            node-b: ResourceClaim default/local has devices that this node does not reach
            node-a: m.x
        "#]],
    );
}

#[test]
fn allocated_claims_tighten_one_another() {
    check(
        "claim a has net/p/a on zone=a,b for web
        claim b has net/p/b on zone=b,c for web
        claim c has net/p/c on zone=c for web",
        "try new-0 p m.x: a b
        try new-0 p m.x: a b c",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [b]
            new-0: ResourceClaim default/c has devices that this node does not reach
        "#]],
    );
}

#[test]
fn what_an_allocated_claim_asks_is_asked_beside_a_search_too() {
    check(
        "class nic
        slice a net/a zone=a: nic-0
        slice b net/b zone=b: nic-0
        claim old has net/p/x on zone=b for web
        claim new: r 1 nic",
        "try new-0 p m.x zone=a,b: new old
        try new-0 p m.x zone=a,b: new",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [b]
              new: r=net/b/nic-0
            new-0: m.x if topology.kubernetes.io/zone In [a]
              new: r=net/a/nic-0
        "#]],
    );
}

#[test]
fn all_terms_of_a_selector_hold_at_once() {
    check(
        "claim a has net/p/a on zone=a,b|zone=b,c for web",
        "try new-0 p m.x: a",
        &expect![[r#"
        new-0: m.x if topology.kubernetes.io/zone In [b]
    "#]],
    );
}

#[test]
fn a_claim_with_devices_of_a_template_stays_on_its_node() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-0
        claim a: r 1 gpu",
        "new-0 p m.x: a
        new-1 p m.x: a
        new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=~gpu/gpus/gpu-0
            new-1: ResourceClaim default/a has devices of another node
            new-0: m.x
        "#]],
    );
}

#[test]
fn a_claim_with_published_devices_takes_its_pods_where_they_are_in_reach() {
    check(
        "class nic
        slice a net/a zone=a: nic-0
        slice b net/b zone=a: nic-1
        claim a: r 1 nic",
        "new-0 p m.x zone=a,b: a
        new-1 p m.x zone=b: a
        new-2 p m.x: a",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [a]
              a: r=net/a/nic-0
            new-1: ResourceClaim default/a has devices that this node does not reach
            new-2: m.x if topology.kubernetes.io/zone In [a]
        "#]],
    );
}

#[test]
fn a_claim_with_devices_of_a_node_stays_on_it() {
    check(
        "class gpu
        initialized node-a
        slice a gpu/a node=node-a owner=node-a: gpu-0
        claim a: r 1 gpu",
        "node-a p m.x: a
        new-0 p m.x: a
        node-a p m.x: a",
        &expect![[r#"
            node-a: m.x
              a: r=gpu/a/gpu-0
            new-0: ResourceClaim default/a has devices that this node does not reach
            node-a: m.x
        "#]],
    );
}

#[test]
fn every_type_stays_where_all_claims_have_devices() {
    check(
        "claim a has gpu/p/a for web",
        "new-0 p m.x,m.y,c.x: a",
        &expect![[r#"
        new-0: m.x m.y c.x
    "#]],
    );
}

//! Rows BP, IT, CC, WK, CV, SL, RX of the specification: what pods ask for.

use super::*;

const ALL: &str = "general [t.small t.gpu t.medium t.large]";

#[test]
fn every_type_that_fits_is_listed_cheapest_first() {
    let amd64 = spec("cpu=1 select:arch=amd64");
    check(&facts(vec![pending("a", amd64)]), &[&format!("{ALL}: a")]);
    let any = "general [t.small t.gpu t.medium t.arm t.large]: a";
    check(&facts(pods("a cpu=1")), &[any]);
}

#[test]
fn five_small_pods_share_a_node_and_the_sixth_needs_a_larger_type() {
    let amd64 = spec("memory=10M select:arch=amd64");
    check(&facts(replicas("a", 5, &amd64)), &[&format!("{ALL}: a-0 a-1 a-2 a-3 a-4")]);
    check(&facts(replicas("a", 6, &amd64)), &["general [t.large]: a-0 a-1 a-2 a-3 a-4 a-5"]);
}

#[test]
fn a_pod_above_every_type_is_reported_with_the_largest() {
    for (requests, reason) in [
        ("memory=10Ti", "needs 10Ti memory, largest instance type t.arm has 31.9Gi"),
        (
            "cpu=1 example.com/unknown=1",
            "needs 1 example.com/unknown, and no instance type has any",
        ),
        (
            "cpu=12 example.com/gpu=1",
            "needs cpu 12, pods 1, example.com/gpu 1, and no instance type has all of it together",
        ),
    ] {
        let expected = format!("a not placed: general: {reason}");
        check(&facts(vec![pod(&format!("a {requests}"))]), &[&expected]);
    }
}

#[test]
fn a_zero_request_for_an_unknown_resource_is_harmless() {
    let zero = spec("cpu=1 example.com/unknown=0 select:arch=amd64");
    check(&facts(vec![pending("a", zero)]), &[&format!("{ALL}: a")]);
}

#[test]
fn what_is_not_supported_yet_is_never_placed() {
    let pod_spec = PodSpec {
        problems: vec![model::Problem::unsupported("ports", "host port 80")],
        ..spec("cpu=1")
    };
    check(&facts(vec![pending("a", pod_spec)]), &["a not placed: not supported yet: host port 80"]);
}

#[test]
fn pods_that_need_different_types_get_different_nodes() {
    let arm = spec("cpu=1 select:arch=arm64");
    let gpu = spec("cpu=1 example.com/gpu=1");
    let expected = ["general [t.arm]: arm", "general [t.gpu]: gpu"];
    check(&facts(vec![pending("arm", arm), pending("gpu", gpu)]), &expected);
}

#[test]
fn two_resources_of_different_types_cannot_be_had_at_once() {
    let both = spec("cpu=1 example.com/gpu=1 select:arch=arm64");
    let reason = "a not placed: general: needs 1 example.com/gpu, and no instance type has any";
    check(&facts(vec![pending("a", both)]), &[reason]);
}

#[test]
fn well_known_numbers_narrow_the_types() {
    for (selector, types) in [
        ("karpenter.k8s.aws/instance-cpu>4", "t.arm t.large"),
        ("karpenter.k8s.aws/instance-cpu<4", "t.small"),
        ("karpenter.k8s.aws/instance-cpu=4", "t.gpu t.medium"),
        ("karpenter.k8s.aws/instance-cpu!=4", "t.small t.arm t.large"),
    ] {
        let pod_spec = spec(&format!("cpu=1 require:{selector}"));
        check(&facts(vec![pending("a", pod_spec)]), &[&format!("general [{types}]: a")]);
    }
}

#[test]
fn a_zone_that_nothing_is_sold_in_is_reported() {
    let mars = spec("cpu=1 select:zone=mars");
    let reason =
        "nodes of EC2NodeClass default can only be in zone-1 or zone-2 or zone-3, not in mars";
    check(&facts(vec![pending("a", mars)]), &[&format!("a not placed: general: {reason}")]);
    let mut types = default_types();
    for instance_type in &mut types {
        instance_type.offerings.retain(|offering| offering.zone.as_str() != "zone-2");
    }
    let two = spec("cpu=1 select:zone=zone-2");
    let mut facts = facts(vec![pending("a", two)]);
    offer(&mut facts, types);
    let reason = "no instance type with topology.kubernetes.io/zone In [zone-2] can be bought now";
    check(&facts, &[&format!("a not placed: general: {reason}")]);
}

#[test]
fn restricted_labels_cannot_be_asked_for() {
    for key in ["kubernetes.io/hostname", "karpenter.sh/custom", "sub.karpenter.sh/x"] {
        let pod_spec = spec(&format!("cpu=1 select:{key}=a"));
        let reason = format!("it may not ask for the label {key}, which is restricted");
        check(&facts(vec![pending("a", pod_spec)]), &[&format!("a not placed: {reason}")]);
    }
    let pod_spec = spec("cpu=1 select:!pool");
    let reason = "it asks for a node without the label karpenter.sh/nodepool";
    check(&facts(vec![pending("a", pod_spec)]), &[&format!("a not placed: {reason}")]);
}

#[test]
fn an_undefined_label_may_only_be_refused() {
    for selector in ["team!=a", "!team"] {
        let plan = provision(&facts(vec![pod(&format!("a cpu=1 require:{selector}"))]));
        assert!(plan.unplaced.is_empty(), "{selector}");
        assert!(!plan.new_claims[0].claim.labels.contains_key("team"), "{selector}");
    }
    for selector in ["team=a", "team"] {
        let plan = provision(&facts(vec![pod(&format!("a cpu=1 require:{selector}"))]));
        let reason = plan.unplaced[0].reasons[0].to_string();
        assert_eq!(reason, "general: label \"team\" does not have known values", "{selector}");
    }
}

#[test]
fn a_label_of_the_pool_may_be_asked_for() {
    for (selector, fits) in [
        ("team=a", true),
        ("team", true),
        ("team!=b", true),
        ("team!=a", false),
        ("!team", false),
        ("team=b", false),
    ] {
        let mut facts = facts(vec![pod(&format!("a cpu=1 require:{selector}"))]);
        facts.node_pools[0].template.labels.insert("team".to_owned(), "a".to_owned());
        let plan = provision(&facts);
        assert_eq!(plan.unplaced.is_empty(), fits, "{selector}");
    }
}

#[test]
fn values_of_one_label_part_the_pods_and_become_labels() {
    let of = |team: &str| pod(&format!("{team} cpu=1 select:team={team}"));
    let mut facts = facts(vec![of("a"), of("b")]);
    facts.node_pools[0].template.requirements = requirements("team=a,b");
    let plan = provision(&facts);
    let teams: Vec<_> = plan.new_claims.iter().map(|p| p.claim.labels["team"].as_str()).collect();
    assert_eq!(teams, ["a", "b"]);
}

#[test]
fn a_label_that_must_only_be_there_gets_a_value() {
    let mut facts = facts(pods("a cpu=1 require:shard>3"));
    facts.node_pools[0].template.requirements = requirements("shard");
    assert_eq!(provision(&facts).new_claims[0].claim.labels["shard"], "4");
}

#[test]
fn required_terms_are_alternatives_tried_in_order() {
    let mars: &[&str] = &["topology.kubernetes.io/zone=mars"];
    let second = with_terms("cpu=1", &[mars, &["kubernetes.io/arch=arm64"]]);
    check(&facts(vec![pending("a", second)]), &["general [t.arm]: a"]);
    let none = with_terms("cpu=1", &[&["team=a"], mars]);
    let plan = provision(&facts(vec![pending("a", none)]));
    assert_eq!(
        plan.unplaced[0].reasons[0].to_string(),
        "general: label \"team\" does not have known values; or: \
         nodes of EC2NodeClass default can only be in zone-1 or zone-2 or zone-3, not in mars"
    );
}

#[test]
fn large_pods_are_placed_first() {
    let small = spec("cpu=300m select:arch=amd64");
    let large = spec("cpu=15 select:arch=amd64");
    let pods = vec![pending("small", small), pending("large", large)];
    check(&facts(pods), &["general [t.large]: large small"]);
}

#[test]
fn forty_pods_of_medium_size_and_twenty_small_ones_fill_twenty_nodes() {
    let mut types = default_types();
    types.retain(|instance_type| instance_type.name.as_str() == "t.medium");
    let pods = pods("big x40 cpu=10m memory=3800M; small x20 cpu=10m memory=400M");
    let mut facts = facts(pods);
    offer(&mut facts, types);
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (20, 0));
}

#[test]
fn pods_that_are_not_for_us_are_left_alone() {
    let mut bound = pod("bound cpu=1");
    bound.node = Some("node-1".parse().unwrap());
    let mut nominated = pod("nominated cpu=1");
    nominated.nominated_node = Some("node-1".parse().unwrap());
    let mut daemon = pod("daemon cpu=1");
    daemon.owner = owner("DaemonSet");
    let mut mirror = pod("mirror cpu=1");
    mirror.owner = owner("v1/Node");
    let mut unseen = pod("unseen cpu=1");
    unseen.unschedulable_at = None;
    check(&facts(vec![bound, nominated, daemon, mirror, unseen]), &[]);
}

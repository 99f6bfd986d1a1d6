//! Rows SP of the specification: topology spread.

use model::{
    labels::{CAPACITY_TYPE, HOSTNAME, ZONE},
    plan::Target,
    selector::{LabelSelector, SelectorExpression, SelectorOperator},
    topology::{NodeInclusionPolicy, SpreadConstraint},
};

use super::*;

/// A hard spread of the pods with `app=a`.
fn spread(key: &str, max_skew: u32) -> SpreadConstraint {
    spec(&format!("spread:{key}:app=a:skew={max_skew}")).spread.remove(0)
}

/// A pod with `app=a` and these constraints.
fn app(spread: &[SpreadConstraint]) -> PodSpec {
    PodSpec { spread: spread.to_vec(), ..spec("app=a cpu=100m") }
}

fn chooses(selector: &[&str], spec: PodSpec) -> PodSpec {
    PodSpec { node_selector: requirements(&selector.join(" ")), ..spec }
}

fn only(pool: usize, wanted: &str, mut facts: Facts) -> Facts {
    facts.node_pools[pool].template.requirements = requirements(wanted);
    facts
}

/// A full node in `zone` with `count` running pods that carry `app=a`.
fn add_full(facts: &mut Facts, name: &str, zone: &str, count: usize) {
    add_node(
        facts,
        node(&format!("{name} cpu=0 memory=0 pods=0 zone={zone} host={name} paid=spot")),
    );
    for index in 0..count {
        facts.pods.push(pod(&format!("{name}-{index} on:{name} app=a cpu=100m")));
    }
}

/// How many pods with `app=a` each value of the label has after the plan, fewest first, and how many
/// have no place.
fn balance(facts: &Facts, key: &str) -> String {
    let plan = provision(facts);
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    let of_node = |name: &str| -> String {
        let text = facts.nodes[name].labels.get(key);
        if key == HOSTNAME { name.to_owned() } else { text.cloned().unwrap_or_default() }
    };
    for new in &plan.new_claims {
        let own =
            new.claim.requirements.get(key).and_then(|requirement| requirement.single_value());
        let host = new.claim.name.to_string();
        let value = if key == HOSTNAME {
            host
        } else {
            own.map_or_else(|| "?".into(), ToString::to_string)
        };
        *counts.entry(value).or_default() += new.claim.pods.len();
    }
    for placement in &plan.placements {
        let Target::Node(name) = &placement.target else { panic!("no claims here") };
        *counts.entry(of_node(name.as_str())).or_default() += placement.pods.len();
    }
    for pod in facts.pods.iter().filter(|pod| pod.spec.labels.contains_key("app")) {
        if let Some(name) = &pod.node {
            *counts.entry(of_node(name.as_str())).or_default() += 1;
        }
    }
    let mut sorted: Vec<usize> = counts.into_values().collect();
    sorted.sort_unstable();
    let sorted: Vec<String> = sorted.iter().map(ToString::to_string).collect();
    match plan.unplaced.len() {
        0 => sorted.join("/"),
        left => format!("{}, {left} left", sorted.join("/")),
    }
}

#[track_caller]
fn check(facts: &Facts, key: &str, expected: &str) {
    assert_eq!(balance(facts, key), expected);
}

fn world(count: usize, spec: &PodSpec) -> Facts {
    facts(replicas("a", count, spec))
}

#[test]
fn an_unknown_label_keeps_only_its_own_pods_waiting() {
    let mut facts = world(2, &spec("app=a cpu=100m spread:rack:app=a"));
    facts.pods.push(pod("other cpu=1"));
    let plan = provision(&facts);
    assert_eq!((plan.unplaced.len(), plan.new_claims.len()), (2, 1));
}

#[test]
fn a_selector_that_selects_nothing_never_blocks_and_still_chooses_a_domain() {
    let invalid = LabelSelector { is_invalid: true, ..LabelSelector::default() };
    for selector in [None, Some(invalid), Some(LabelSelector::of_labels([("app", "b")]))] {
        let facts = world(5, &app(&[SpreadConstraint { selector, ..spread(ZONE, 1) }]));
        check(&facts, ZONE, "5");
        assert_eq!(provision(&facts).new_claims.len(), 1);
    }
}

#[test]
fn four_pods_go_to_three_zones() {
    check(&world(4, &spec("app=a cpu=100m spread:zone:app=a")), ZONE, "1/1/2");
    let values = ["a".to_owned()].into();
    let expression =
        SelectorExpression { key: "app".to_owned(), operator: SelectorOperator::In, values };
    let selector = LabelSelector { expressions: [expression].into(), is_invalid: false };
    let by_expression = SpreadConstraint { selector: Some(selector), ..spread(ZONE, 1) };
    check(&world(4, &app(&[by_expression])), ZONE, "1/1/2");
}

#[test]
fn zones_that_no_pool_has_are_no_domains() {
    let spec = spec("app=a cpu=100m spread:zone:app=a");
    let two = only(0, "zone=zone-1,zone-2", world(4, &spec));
    check(&two, ZONE, "2/2");
    let mut by_label = world(4, &spec);
    by_label.node_pools[0].template.labels.insert(ZONE.to_owned(), "zone-1".to_owned());
    check(&by_label, ZONE, "4");
    let mut pools = only(0, "zone=zone-1", world(4, &spec));
    pools.node_pools.push(node_pool("other"));
    check(&only(1, "zone=zone-2", pools), ZONE, "2/2");
}

#[test]
fn zones_in_which_the_node_filter_excludes_every_node_are_no_domains() {
    let spread = spec("app=a cpu=100m spread:zone:app=a");
    let mine = "karpenter.sh/nodepool=general";
    let pools = |spec: &PodSpec| {
        let mut pools = only(0, "zone=zone-1", world(4, spec));
        pools.node_pools.push(node_pool("other"));
        only(1, "zone=zone-2", pools)
    };
    let chosen = chooses(&[mine], spread.clone());
    check(&pools(&chosen), ZONE, "4");
    // Nodes of the other pool count neither, nor do those of a pool that has no such instance type.
    let mut existing = pools(&chosen);
    add_full(&mut existing, "old", "zone-2", 0);
    check(&existing, ZONE, "4");
    // Who ignores node affinity sees both zones, and can only use one.
    let mut open = chosen;
    open.spread[0].node_affinity_policy = NodeInclusionPolicy::Ignore;
    check(&pools(&open), ZONE, "1, 3 left");
}

#[test]
fn a_pod_in_a_zone_that_is_closed_now_still_counts() {
    let two = "zone=zone-1,zone-2";
    let mut facts = only(0, two, world(6, &spec("app=a cpu=100m spread:zone:app=a")));
    add_full(&mut facts, "old", "zone-3", 1);
    check(&facts, ZONE, "1/2/2, 2 left");
    let mut facts =
        only(0, "zone=zone-2,zone-3", world(10, &spec("app=a cpu=100m spread:zone:app=a")));
    add_full(&mut facts, "old", "zone-1", 1);
    check(&facts, ZONE, "1/2/2, 6 left");
}

#[test]
fn a_wide_skew_lets_one_zone_run_ahead() {
    let third = "zone=zone-3";
    let mut facts = only(0, third, world(7, &spec("app=a cpu=100m spread:zone:app=a:skew=5")));
    add_full(&mut facts, "one", "zone-1", 1);
    add_full(&mut facts, "two", "zone-2", 1);
    check(&facts, ZONE, "1/1/6, 1 left");
}

#[test]
fn what_is_behind_catches_up() {
    let mut facts = world(3, &spec("app=a cpu=100m spread:zone:app=a"));
    add_full(&mut facts, "one", "zone-1", 3);
    check(&facts, ZONE, "1/2/3");
}

#[test]
fn only_pods_that_run_and_match_count() {
    let mut facts = world(2, &spec("app=a cpu=100m spread:zone:app=a"));
    add_full(&mut facts, "one", "zone-1", 1);
    add_full(&mut facts, "two", "zone-2", 1);
    add_full(&mut facts, "three", "zone-3", 5);
    let strangers = facts.pods.iter_mut().filter(|pod| pod.key.name.as_str().starts_with("three"));
    for (index, pod) in strangers.enumerate() {
        match index {
            0 => pod.phase = model::pod::PodPhase::Failed,
            1 => pod.deleted_at = Some(now()),
            2 => pod.key.namespace = "other".parse().unwrap(),
            3 => pod.spec = std::sync::Arc::new(spec("cpu=1")),
            _ => {}
        }
    }
    // Zone 3 has one that counts, as the others: the two new pods go anywhere, one to each.
    let plan = provision(&facts);
    let zones: std::collections::BTreeSet<_> = plan
        .new_claims
        .iter()
        .map(|new| new.claim.requirements.get(ZONE).unwrap().single_value().cloned())
        .collect();
    assert_eq!((zones.len(), plan.unplaced.len()), (2, 0));
}

#[test]
fn with_too_few_zones_the_least_counts_as_none() {
    let min = |domains| SpreadConstraint { min_domains: Some(domains), ..spread(ZONE, 1) };
    let two = "zone=zone-1,zone-2";
    check(&only(0, two, world(3, &app(&[min(3)]))), ZONE, "1/1, 1 left");
    check(&world(11, &app(&[min(3)])), ZONE, "3/4/4");
    check(&world(11, &app(&[min(2)])), ZONE, "3/4/4");
}

#[test]
fn hosts_take_max_skew_pods_each() {
    check(&world(4, &spec("app=a cpu=100m spread:host:app=a")), HOSTNAME, "1/1/1/1");
    check(&world(4, &spec("app=a cpu=100m spread:host:app=a:skew=4")), HOSTNAME, "4");
}

#[test]
fn two_workloads_spread_over_the_same_hosts() {
    let of = |name: &str, selector: &[&str]| {
        let selects = Some(LabelSelector::of_labels([("app", name)]));
        let mut pod_spec = app(&[SpreadConstraint { selector: selects, ..spread(HOSTNAME, 1) }]);
        pod_spec.labels.insert("app".to_owned(), name.to_owned());
        replicas(name, 2, &chooses(selector, pod_spec))
    };
    let nodes = |a: &[&str], b: &[&str]| {
        provision(&facts([of("a", a), of("b", b)].concat())).new_claims.len()
    };
    assert_eq!(nodes(&[], &[]), 2);
    assert_eq!(nodes(&["kubernetes.io/arch=amd64"], &["kubernetes.io/arch=arm64"]), 4);
}

#[test]
fn ways_to_pay_are_domains() {
    let hard = spec("app=a cpu=100m spread:paid:app=a");
    check(&world(4, &hard), CAPACITY_TYPE, "2/2");
    let on_demand = "paid=on-demand";
    let with_spot = |spec: &PodSpec| {
        let mut facts = only(0, on_demand, world(5, spec));
        add_full(&mut facts, "spot", "zone-1", 1);
        facts
    };
    check(&with_spot(&hard), CAPACITY_TYPE, "1/2, 3 left");
    check(&with_spot(&spec("app=a cpu=100m spread:paid:app=a:soft")), CAPACITY_TYPE, "1/5");
}

#[test]
fn processors_are_domains() {
    let mut facts =
        only(0, "arch=arm64", world(5, &spec("app=a cpu=100m spread:kubernetes.io/arch:app=a")));
    add_full(&mut facts, "old", "zone-1", 1);
    let old = facts.nodes.get_mut("old").unwrap();
    old.labels.insert("kubernetes.io/arch".to_owned(), "amd64".to_owned());
    check(&facts, "kubernetes.io/arch", "1/2, 3 left");
}

#[test]
fn zones_and_hosts_hold_together() {
    let both = spec("app=a cpu=100m spread:zone:app=a spread:host:app=a:skew=3");
    for (count, zones) in [(2, "1/1"), (5, "1/2/2"), (10, "3/3/4"), (21, "7/7/7")] {
        let facts = world(count, &both);
        check(&facts, ZONE, zones);
        assert!(provision(&facts).new_claims.iter().all(|new| new.claim.pods.len() <= 3));
    }
}

#[test]
fn hosts_and_ways_to_pay_hold_together() {
    let both = spec("app=a cpu=100m spread:host:app=a spread:paid:app=a");
    for (count, kinds) in [(2, "1/1"), (5, "2/3"), (10, "5/5")] {
        check(&world(count, &both), CAPACITY_TYPE, kinds);
    }
}

#[test]
fn three_constraints_hold_together() {
    let pod_spec =
        spec("app=a cpu=100m spread:zone:app=a spread:paid:app=a spread:host:app=a:skew=3");
    for count in 1..15 {
        let facts = world(count, &pod_spec);
        for (key, skew) in [(ZONE, 1), (CAPACITY_TYPE, 1)] {
            let shown = balance(&facts, key);
            let counts: Vec<usize> = shown.split('/').map(|n| n.parse().unwrap()).collect();
            assert!(counts.last().unwrap() - counts.first().unwrap() <= skew, "{count}: {shown}");
        }
        assert!(provision(&facts).new_claims.iter().all(|new| new.claim.pods.len() <= 3));
    }
}

#[test]
fn a_zone_of_a_pool_at_its_limit_is_still_a_domain() {
    let both = spec("app=a cpu=100m spread:zone:app=a spread:host:app=a:soft");
    let mut facts = only(0, "zone=zone-1,zone-2", world(10, &both));
    facts.node_pools.push(node_pool("full"));
    facts.node_pools[1].limits = limits("cpu=0");
    let facts = only(1, "zone=zone-3", facts);
    check(&facts, ZONE, "1/1, 8 left");
    assert_eq!(provision(&facts).new_claims.len(), 2);
}

/// A tainted, full node in zone 3 without pods, and five pods for zones 1 and 2 or less.
fn tainted(policy: NodeInclusionPolicy, zones: &str) -> Facts {
    let spec = app(&[SpreadConstraint { node_taints_policy: policy, ..spread(ZONE, 1) }]);
    let mut facts = only(0, &format!("zone={zones}"), world(5, &spec));
    add_full(&mut facts, "tainted", "zone-3", 0);
    let node = facts.nodes.get_mut("tainted").unwrap();
    node.taints = vec![taint("dedicated=x:NoSchedule")];
    facts
}

#[test]
fn tainted_nodes_count_unless_taints_are_honored() {
    check(&tainted(NodeInclusionPolicy::Ignore, "zone-1"), ZONE, "1, 4 left");
    check(&tainted(NodeInclusionPolicy::Honor, "zone-1"), ZONE, "5");
}

#[test]
fn k6_honored_are_the_taints_that_a_starting_node_has_now() {
    let policy = NodeInclusionPolicy::Honor;
    let spec = app(&[SpreadConstraint { node_taints_policy: policy, ..spread(ZONE, 1) }]);
    let mut facts = world(1, &spec);
    facts.node_pools[0].template.taints = vec![taint("dedicated=x:NoSchedule")];
    let claim = add_managed(&mut facts, "young");
    let young = facts.nodes.get_mut("young").unwrap();
    young.labels.remove(model::labels::INITIALIZED);
    young.taints = vec![taint("node.cloudprovider.kubernetes.io/uninitialized:NoSchedule")];
    // It would take the pod, and the zone is known from no other.
    assert_eq!(provision(&facts).placements.len(), 0);
    facts.nodes.get_mut("young").unwrap().taints.clear();
    assert_eq!(provision(&facts).placements.len(), 1, "{}", claim.name);
}

#[test]
fn zones_of_a_tainted_pool_count_unless_taints_are_honored() {
    for (policy, expected) in
        [(NodeInclusionPolicy::Ignore, "1, 1 left"), (NodeInclusionPolicy::Honor, "2")]
    {
        let spec = app(&[SpreadConstraint { node_taints_policy: policy, ..spread(ZONE, 1) }]);
        let mut facts = only(0, "zone=zone-1", world(2, &spec));
        facts.node_pools.push(node_pool("tainted"));
        facts.node_pools[1].template.taints = vec![taint("dedicated=x:NoSchedule")];
        let facts = only(1, "zone=zone-2", facts);
        check(&facts, ZONE, expected);
    }
}

#[test]
fn nodes_that_the_pod_does_not_want_count_unless_affinity_is_honored() {
    for (policy, expected) in
        [(NodeInclusionPolicy::Ignore, "1, 4 left"), (NodeInclusionPolicy::Honor, "5")]
    {
        let spread_constraint =
            SpreadConstraint { node_affinity_policy: policy, ..spread("team", 1) };
        let mut facts = world(5, &chooses(&["kubernetes.io/os=linux"], app(&[spread_constraint])));
        facts.node_pools[0].template.labels.insert("team".to_owned(), "a".to_owned());
        add_full(&mut facts, "windows", "zone-1", 0);
        let node = facts.nodes.get_mut("windows").unwrap();
        node.labels.insert("kubernetes.io/os".to_owned(), "windows".to_owned());
        node.labels.insert("team".to_owned(), "b".to_owned());
        check(&facts, "team", expected);
    }
}

#[test]
fn a_selector_limits_the_domains_of_its_pods() {
    let of = |name: &str, count, zone: &str| {
        let selector = format!("topology.kubernetes.io/zone={zone}");
        pods(&format!("{name} x{count} app=a cpu=100m spread:zone:app=a select:{selector}"))
    };
    check(&facts([of("one", 5, "zone-1"), of("two", 10, "zone-2")].concat()), ZONE, "5/10");
    check(&facts(of("both", 10, "zone-1,zone-2")), ZONE, "5/5");
    let terms = spec("cpu=100m require:zone=zone-1,zone-2");
    let spec = PodSpec { required_terms: terms.required_terms, ..app(&[spread(ZONE, 1)]) };
    check(&world(6, &spec), ZONE, "3/3");
}

/// kube-scheduler looks for the fewest pods also in zones where the pod may not go, if nodes are there.
#[test]
fn zones_that_the_pod_excludes_hold_it_back_if_affinity_is_ignored_and_nodes_are_there() {
    let in_two = |policy| {
        let zonal = SpreadConstraint { node_affinity_policy: policy, ..spread("zone", 1) };
        PodSpec {
            required_terms: vec![requirements("zone=zone-1,zone-2").iter().cloned().collect()],
            ..app(&[zonal])
        }
    };
    let ignoring = in_two(NodeInclusionPolicy::Ignore);
    check(&world(4, &ignoring), ZONE, "2/2");
    let mut third = world(4, &ignoring);
    add_full(&mut third, "third", "zone-3", 0);
    check(&third, ZONE, "1/1, 2 left");
    let mut honoring = world(4, &in_two(NodeInclusionPolicy::Honor));
    add_full(&mut honoring, "third", "zone-3", 0);
    check(&honoring, ZONE, "2/2");
    let mut ahead = world(4, &ignoring);
    add_full(&mut ahead, "third", "zone-3", 1);
    check(&ahead, ZONE, "1/2/2");
}

#[test]
fn a_preferred_zone_limits_no_domains() {
    let zones = requirement("zone=zone-1,zone-2");
    let preference = model::topology::Weighted { weight: 1, term: vec![zones] };
    let spec = PodSpec { preferred_terms: vec![preference], ..app(&[spread(ZONE, 1)]) };
    check(&world(6, &spec), ZONE, "2/2/2");
}

#[test]
fn a_volume_decides_among_equal_zones() {
    let min = SpreadConstraint { min_domains: Some(3), ..spread(ZONE, 1) };
    let mut facts = world(1, &app(&[min]));
    for (name, zone) in [("one", "zone-1"), ("two", "zone-2"), ("three", "zone-3")] {
        add_full(&mut facts, name, zone, 1);
    }
    let storage = &mut facts.surroundings.storage;
    volumes::add_bound(storage, "data", &["topology.kubernetes.io/zone=zone-2"]);
    facts.pods[0].volumes = volumes::mounted(&["data"]);
    check(&facts, ZONE, "1/1/2");
    let zone = provision(&facts).new_claims[0].claim.requirements.get(ZONE).unwrap().clone();
    assert_eq!(zone.single_value().map(|value| &**value), Some("zone-2"));
}

#[test]
fn k2_pods_that_come_to_tolerate_a_soft_taint_are_spread_like_all() {
    let mut facts = world(6, &spec("app=a cpu=100m spread:zone:app=a"));
    facts.node_pools[0].template.taints = vec![taint("slow:PreferNoSchedule")];
    check(&facts, ZONE, "2/2/2");
}

#[test]
fn a_zone_in_which_no_pool_can_launch_is_no_domain() {
    let mut facts =
        only(0, "zone=zone-1,zone-2", world(6, &spec("app=a cpu=100m spread:zone:app=a")));
    facts.node_pools.push(node_pool("ghost"));
    // No type is sold there.
    let nowhere = only(1, "zone=zone-9", facts.clone());
    check(&nowhere, ZONE, "3/3");
    // No type that the NodePool takes is.
    let none = only(1, "zone=zone-3 type=t.other", facts.clone());
    check(&none, ZONE, "3/3");
    let contradictory = only(1, "zone=zone-3 arch=arm64 type=t.small", facts);
    check(&contradictory, ZONE, "3/3");
}

//! Places that depend on other pods, and preferences that are given up.

use std::collections::BTreeSet;

use model::{
    CapacityType, LabelKey, Requirement, Reservation,
    pod::HostPort,
    policies::{MinValuesPolicy, PreferencePolicy},
    selector::LabelSelector,
    topology::{
        NodeInclusionPolicy, PodAffinityTerm, SpreadConstraint, Weighted, WhenUnsatisfiable,
    },
};

use super::*;

const ZONE: &str = model::labels::ZONE;
const HOSTNAME: &str = model::labels::HOSTNAME;

fn app(name: &str, requests: &str) -> PodSpec {
    PodSpec { labels: [("app".to_owned(), name.to_owned())].into(), ..spec(requests) }
}

fn spread(key: &str, app: &str, when_unsatisfiable: WhenUnsatisfiable) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: LabelKey::new(key).unwrap(),
        max_skew: 1,
        min_domains: None,
        when_unsatisfiable,
        selector: Some(LabelSelector::of_labels([("app", app)])),
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

fn near(key: &str, app: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: LabelKey::new(key).unwrap(),
        selector: Some(LabelSelector::of_labels([("app", app)])),
        namespaces: BTreeSet::new(),
        namespace_selector: None,
    }
}

/// How many pods each new claim gets, by the one zone that it can be in, or `any`.
fn zones(plan: &Plan) -> Vec<String> {
    let zone = |promise: &model::plan::Promise| {
        let zone =
            promise.claim.requirements.get(ZONE).and_then(|requirement| requirement.single_value());
        format!("{} {}", zone.map_or("any", |zone| &**zone), promise.claim.pods.len())
    };
    let mut texts: Vec<String> = plan.promises.iter().map(zone).collect();
    texts.sort();
    texts
}

#[track_caller]
fn check(facts: &Facts, expected: &[&str], unplaced: usize) {
    let plan = provision(facts);
    assert_eq!(zones(&plan), expected, "{}", shown(&plan));
    assert_eq!(plan.unplaced.len(), unplaced, "{}", shown(&plan));
}

#[test]
fn four_pods_spread_over_three_zones() {
    let mut web = app("web", "cpu=1");
    web.spread = vec![spread(ZONE, "web", WhenUnsatisfiable::DoNotSchedule)];
    check(&facts(replicas("web", 4, &web)), &["zone-1 2", "zone-2 1", "zone-3 1"], 0);
}

#[test]
fn what_runs_counts_and_a_domain_nobody_can_use_holds_the_others_back() {
    let mut web = app("web", "cpu=1");
    web.spread = vec![spread(ZONE, "web", WhenUnsatisfiable::DoNotSchedule)];
    let mut facts = facts(replicas("web", 6, &web));
    facts.node_pools[0].template.requirements = requirements(&[&format!("{ZONE}=zone-1,zone-2")]);
    let mut old = node("old", "cpu=1 memory=1Gi pods=1");
    old.labels.insert(ZONE.to_owned(), "zone-3".to_owned());
    add_node(&mut facts, old);
    facts.pods.push(running("there", "old", app("web", "cpu=1")));
    check(&facts, &["zone-1 2", "zone-2 2"], 2);
}

#[test]
fn a_hostname_spread_and_anti_affinity_part_pods_by_node() {
    let mut web = app("web", "cpu=100m");
    web.spread = vec![spread(HOSTNAME, "web", WhenUnsatisfiable::DoNotSchedule)];
    check(&facts(replicas("web", 3, &web)), &["any 1", "any 1", "any 1"], 0);
    let mut web = app("web", "cpu=100m");
    web.pod_anti_affinity.required = vec![near(HOSTNAME, "web")];
    check(&facts(replicas("web", 3, &web)), &["any 1", "any 1", "any 1"], 0);
}

#[test]
fn anti_affinity_keeps_those_away_that_it_means() {
    let mut guard = app("guard", "cpu=2");
    guard.pod_anti_affinity.required = vec![near(ZONE, "web")];
    guard.node_selector = requirements(&[&format!("{ZONE}=zone-1")]);
    let mut web = app("web", "cpu=1");
    web.node_selector = requirements(&[&format!("{ZONE}=zone-1,zone-2")]);
    let pods = vec![pending("guard", guard), pending("web", web)];
    check(&facts(pods), &["zone-1 1", "zone-2 1"], 0);
}

#[test]
fn a_chain_of_affinities_resolves_whatever_the_order() {
    let follower = |name: &str, whom: &str, cpu: &str| {
        let mut spec = app(name, &format!("cpu={cpu}m"));
        spec.pod_affinity.required = vec![near(HOSTNAME, whom)];
        pending(name, spec)
    };
    let pods = vec![
        follower("ui", "cache", "400"),
        follower("cache", "web", "300"),
        follower("web", "db", "200"),
        pending("db", app("db", "cpu=100m")),
    ];
    check(&facts(pods.clone()), &["any 4"], 0);
    check(&facts(pods[..3].to_vec()), &[], 3);
}

#[test]
fn the_first_of_a_group_that_stays_together_pins_the_zone() {
    let mut web = app("web", "cpu=3");
    web.pod_affinity.required = vec![near(ZONE, "web")];
    let plan = provision(&facts(replicas("web", 8, &web)));
    assert!(zones(&plan).iter().all(|text| text.starts_with("zone-1 ")), "{}", shown(&plan));
    assert_eq!(plan.unplaced.len(), 0);
}

#[test]
fn preferences_hold_until_nothing_can_be_launched_with_them() {
    let mut web = app("web", "cpu=1");
    let term = |zone: &str| vec![requirement(&format!("{ZONE}={zone}"))];
    web.preferred_terms = vec![
        Weighted { weight: 1, term: term("zone-2") },
        Weighted { weight: 100, term: term("zone-9") },
    ];
    let mut facts = facts(vec![pending("web", web)]);
    check(&facts, &["zone-2 1"], 0);
    facts.policies.preferences = PreferencePolicy::Ignore;
    check(&facts, &["any 1"], 0);
}

#[test]
fn a_soft_spread_is_given_up_and_an_ignored_one_is_not_looked_at() {
    let mut web = app("web", "cpu=100m");
    web.spread = vec![spread("rack", "web", WhenUnsatisfiable::ScheduleAnyway)];
    check(&facts(replicas("web", 2, &web)), &["any 2"], 0);
    web.spread = vec![spread("rack", "web", WhenUnsatisfiable::DoNotSchedule)];
    check(&facts(replicas("web", 2, &web)), &[], 2);
}

#[test]
fn pods_with_one_host_port_go_to_different_nodes() {
    let mut web = app("web", "cpu=100m");
    let ip = "0.0.0.0".parse().unwrap();
    web.host_ports = vec![HostPort { ip, port: 80, protocol: "TCP".to_owned() }];
    let mut facts = facts(replicas("web", 3, &web));
    add_node(&mut facts, node("own", "cpu=4 memory=8Gi pods=10"));
    let plan = provision(&facts);
    assert_eq!((plan.promises.len(), plan.placements.len()), (2, 1), "{}", shown(&plan));
}

#[test]
fn min_values_are_lowered_where_the_policy_says_so() {
    let mut facts = facts(vec![pending("web", spec("cpu=10"))]);
    let family = Requirement::new(model::labels::INSTANCE_TYPE, model::Operator::Exists, [])
        .unwrap()
        .with_min_values(Some(3));
    facts.node_pools[0].template.requirements = [family].into_iter().collect();
    check(&facts, &[], 1);
    facts.policies.min_values = MinValuesPolicy::BestEffort;
    let plan = provision(&facts);
    let claim = &plan.promises[0].claim;
    let requirement = claim.requirements.get(model::labels::INSTANCE_TYPE).unwrap();
    assert_eq!(requirement.min_values(), Some(2));
    assert_eq!(claim.annotations[model::labels::MIN_VALUES_RELAXED], "true");
}

/// `t.small` in zone-1 with `count` reserved instances.
fn with_reservation(facts: &mut Facts, count: u32) {
    let mut types = default_types();
    let small =
        types.iter_mut().find(|instance_type| instance_type.name.as_str() == "t.small").unwrap();
    let kinds = format!("{}=reserved,spot,on-demand", model::labels::CAPACITY_TYPE);
    small.requirements.replace(requirement(&kinds));
    let id = "cr-1".to_owned();
    let reservation = Reservation {
        id: id.parse().unwrap(),
        kind: "default".to_owned(),
        interruptible: false,
        count,
    };
    let first = small.offerings[0].clone();
    small.offerings.push(model::Offering {
        capacity_type: CapacityType::Reserved,
        price: model::HourlyPrice::from_nanos(1),
        reservation: Some(reservation),
        ..first
    });
    offer(facts, types);
}

#[test]
fn reserved_capacity_is_used_first_and_waited_for() {
    let mut web = app("web", "cpu=1500m");
    web.node_selector = requirements(&["node.kubernetes.io/instance-type=t.small"]);
    let mut facts = facts(replicas("web", 2, &web));
    with_reservation(&mut facts, 1);
    let plan = provision(&facts);
    assert_eq!((plan.promises.len(), plan.unplaced.len()), (1, 1), "{}", shown(&plan));
    assert_eq!(plan.promises[0].cheapest.capacity_type, CapacityType::Reserved);
    let id = plan.promises[0].claim.requirements.get(model::labels::RESERVATION_ID).unwrap();
    assert_eq!(id.single_value().map(|id| &**id), Some("cr-1"));
    facts.policies.reserved_capacity = false;
    check(&facts, &["any 1", "any 1"], 0);
}

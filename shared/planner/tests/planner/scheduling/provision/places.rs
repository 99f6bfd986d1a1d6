//! Places that depend on other pods, and preferences that are relaxed.

use model::{
    CapacityType, Reservation,
    policies::{MinValuesPolicy, PreferencePolicy},
};

use super::*;

const ZONE: &str = model::labels::ZONE;

/// How many pods each new claim gets, by the one zone that it can be in, or `any`.
fn zones(plan: &Plan) -> Vec<String> {
    let zone = |new: &model::plan::NewClaim| {
        let zone =
            new.claim.requirements.get(ZONE).and_then(|requirement| requirement.single_value());
        format!("{} {}", zone.map_or("any", |zone| &**zone), new.claim.pods.len())
    };
    let mut texts: Vec<String> = plan.new_claims.iter().map(zone).collect();
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
    let web = pods("web x4 app=web cpu=1 spread:zone:app=web");
    check(&facts(web), &["zone-1 2", "zone-2 1", "zone-3 1"], 0);
}

#[test]
fn what_runs_counts_and_a_domain_no_pod_can_use_holds_the_others_back() {
    let mut facts = facts(pods(
        "web x6 app=web cpu=1 spread:zone:app=web
         there on:old app=web cpu=1",
    ));
    facts.node_pools = vec![node_pool("general require:zone=zone-1,zone-2")];
    add_node(&mut facts, node("old cpu=1 memory=1Gi pods=1 zone=zone-3"));
    check(&facts, &["zone-1 2", "zone-2 2"], 2);
}

#[test]
fn a_hostname_spread_and_anti_affinity_part_pods_by_node() {
    for word in ["spread:host:app=web", "away:host:app=web"] {
        let web = pods(&format!("web x3 app=web cpu=100m {word}"));
        check(&facts(web), &["any 1", "any 1", "any 1"], 0);
    }
}

#[test]
fn anti_affinity_keeps_those_away_that_it_means() {
    let pods = pods(
        "guard app=guard cpu=2 away:zone:app=web select:zone=zone-1
         web app=web cpu=1 select:zone=zone-1,zone-2",
    );
    check(&facts(pods), &["zone-1 1", "zone-2 1"], 0);
}

#[test]
fn a_way_that_leaves_fewer_pods_pending_is_taken_although_it_costs_more() {
    let pods = pods(
        "lead app=lead cpu=3 spread:zone:app=lead
         late app=late cpu=1 select:zone=zone-1 away:zone:app=lead",
    );
    check(&facts(pods), &["zone-1 1", "zone-2 1"], 0);
}

#[test]
fn a_chain_of_affinities_resolves_whatever_the_order() {
    let pods = pods(
        "ui app=ui cpu=400m near:host:app=cache
         cache app=cache cpu=300m near:host:app=web
         web app=web cpu=200m near:host:app=db
         db app=db cpu=100m",
    );
    check(&facts(pods.clone()), &["any 4"], 0);
    check(&facts(pods[..3].to_vec()), &[], 3);
}

#[test]
fn the_first_of_a_group_that_stays_together_pins_the_zone() {
    let plan = provision(&facts(pods("web x8 app=web cpu=3 near:zone:app=web")));
    assert!(zones(&plan).iter().all(|text| text.starts_with("zone-1 ")), "{}", shown(&plan));
    assert_eq!(plan.unplaced.len(), 0);
}

#[test]
fn preferences_hold_until_nothing_can_be_launched_with_them() {
    let web = "web cpu=1 prefer:zone=zone-2:weight=1 prefer:zone=zone-9:weight=100";
    let mut facts = facts(pods(web));
    check(&facts, &["zone-2 1"], 0);
    facts.policies.preferences = PreferencePolicy::Ignore;
    check(&facts, &["any 1"], 0);
}

#[test]
fn a_soft_spread_is_relaxed_and_an_ignored_one_is_not_looked_at() {
    check(&facts(pods("web x2 app=web cpu=100m spread:rack:app=web:soft")), &["any 2"], 0);
    check(&facts(pods("web x2 app=web cpu=100m spread:rack:app=web")), &[], 2);
}

#[test]
fn pods_with_one_host_port_go_to_different_nodes() {
    let mut facts = facts(pods("web x3 app=web cpu=100m port:80"));
    add_node(&mut facts, node("own cpu=4 memory=8Gi pods=10"));
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.placements.len()), (2, 1), "{}", shown(&plan));
}

#[test]
fn min_values_are_lowered_where_the_policy_says_so() {
    let mut facts = facts(pods("web cpu=10"));
    facts.node_pools = vec![node_pool("general require:type@3")];
    check(&facts, &[], 1);
    facts.policies.min_values = MinValuesPolicy::BestEffort;
    let plan = provision(&facts);
    let claim = &plan.new_claims[0].claim;
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
    let mut facts = facts(pods("web x2 cpu=1500m select:type=t.small"));
    with_reservation(&mut facts, 1);
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (1, 1), "{}", shown(&plan));
    assert_eq!(plan.new_claims[0].cheapest.capacity_type, CapacityType::Reserved);
    let id = plan.new_claims[0].claim.requirements.get(model::labels::RESERVATION_ID).unwrap();
    assert_eq!(id.single_value().map(|id| &**id), Some("cr-1"));
    facts.policies.reserved_capacity = false;
    check(&facts, &["any 1", "any 1"], 0);
}

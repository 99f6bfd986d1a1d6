//! What is sold how: reservations, `minValues`, and which of equal domains is taken.

use model::{
    CapacityType, HourlyPrice, LabelKey, Offering, Requirement, Reservation,
    labels::{CAPACITY_TYPE, INSTANCE_TYPE, ZONE},
    policies::MinValuesPolicy,
    requirement::Value,
};

use super::*;

/// Gives each type a reservation in zone 1, of which this number of instances is left.
fn reserve(facts: &mut Facts, counts: &[(&str, &str, u32)]) {
    let mut types = default_types();
    for (name, id, count) in counts {
        let kind = types.iter_mut().find(|kind| kind.name.as_str() == *name).unwrap();
        kind.offerings.push(Offering {
            zone: "zone-1".parse().unwrap(),
            zone_id: None,
            capacity_type: CapacityType::Reserved,
            price: HourlyPrice::from_nanos(1),
            is_available: true,
            reservation: Some(Reservation {
                id: id.parse().unwrap(),
                kind: "default".to_owned(),
                interruptible: false,
                count: *count,
            }),
        });
        let kinds = requirement(&format!("{CAPACITY_TYPE}=spot,on-demand,reserved"));
        kind.requirements.replace(kinds);
        let id = requirement(&format!("{}={id}", model::labels::RESERVATION_ID));
        kind.requirements.replace(id);
    }
    offer(facts, types);
}

/// Asks in the pool `general` for a number of values of `key`, if it is one of `values`.
fn wants(facts: &mut Facts, key: &str, values: &[&str], min_values: u32) {
    let values = values.iter().map(|value| Value::from(*value)).collect();
    let wanted = Requirement::listed(LabelKey::new(key).unwrap(), values);
    let requirements = &mut facts.node_pools[0].template.requirements;
    requirements.add(wanted.with_min_values(Some(min_values)));
}

fn zoned(zone: &str) -> PodSpec {
    spec(&format!("cpu=1 select:zone={zone}"))
}

fn spread_over(key: &str) -> PodSpec {
    spec(&format!("app=a cpu=1 spread:{key}:app=a"))
}

#[test]
fn a_claim_that_holds_a_reservation_keeps_types_without_one_for_min_values() {
    let mut facts = facts(pods("a cpu=1"));
    reserve(&mut facts, &[("t.small", "cr-1", 1)]);
    wants(&mut facts, INSTANCE_TYPE, &["t.small", "t.medium", "t.large"], 3);
    let plan = provision(&facts);
    assert_eq!(shown(&plan), "general [t.small t.large t.medium]: a");
    assert_eq!(plan.new_claims[0].cheapest.capacity_type, CapacityType::Reserved);
    assert!(plan.new_claims[0].claim.is_held_to_reservations());
    let violations = plan_check::violations(&facts, &plan);
    assert!(violations.is_empty(), "{violations:?}");
}

#[test]
fn min_values_count_what_the_requirements_of_the_claim_leave() {
    let zones = ["zone-1", "zone-2", "zone-3"];
    let mut facts = facts(vec![pod("free cpu=1"), pending("zoned", zoned("zone-1"))]);
    wants(&mut facts, ZONE, &zones, 2);
    let plan = provision(&facts);
    assert_eq!(plan.unplaced.len(), 1, "{}", shown(&plan));
    assert_eq!(plan.unplaced[0].pod.name.as_str(), "zoned");
    // Lowered where that is allowed, but never for a claim that is there: both would fit onto one.
    facts.policies.min_values = MinValuesPolicy::BestEffort;
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (2, 0), "{}", shown(&plan));
    let wanted = |place: usize| {
        plan.new_claims[place].claim.requirements.get(ZONE).and_then(Requirement::min_values)
    };
    assert_eq!((wanted(0), wanted(1)), (Some(2), Some(1)));
    let violations = plan_check::violations(&facts, &plan);
    assert!(violations.is_empty(), "{violations:?}");
}

#[test]
fn a_spread_that_pins_the_zone_leaves_one_value() {
    let mut facts = facts(vec![pending("a", spread_over(ZONE))]);
    wants(&mut facts, ZONE, &["zone-1", "zone-2", "zone-3"], 2);
    assert_eq!(provision(&facts).unplaced.len(), 1);
}

#[test]
fn a_full_reservation_is_no_reason_to_wait() {
    let mut facts = facts(pods("a cpu=1"));
    reserve(&mut facts, &[("t.small", "cr-1", 0)]);
    let plan = provision(&facts);
    assert_eq!(plan.new_claims[0].cheapest.capacity_type, CapacityType::Spot, "{}", shown(&plan));
    // In a pool of reserved capacity alone there is nothing to launch, and the next pool is tried.
    let mut second = node_pool("a-last");
    second.weight = 0;
    facts.node_pools[0].weight = 5;
    facts.node_pools[0]
        .template
        .requirements
        .add(requirement(&format!("{CAPACITY_TYPE}=reserved")));
    let plan = provision(&facts);
    assert!(shown(&plan).contains("every capacity reservation that it could use is full"));
    facts.node_pools.insert(0, second);
    assert_eq!(provision(&facts).new_claims[0].claim.node_pool.as_str(), "a-last");
}

#[test]
fn the_zones_of_capacity_reservations_are_named_where_others_are_required() {
    let mut facts = facts(pods("a cpu=1"));
    reserve(&mut facts, &[("t.small", "cr-1", 1)]);
    let requirements = &mut facts.node_pools[0].template.requirements;
    requirements.add(requirement(&format!("{CAPACITY_TYPE}=reserved")));
    requirements.add(requirement(&format!("{ZONE}=zone-2")));
    let said = shown(&provision(&facts));
    let why = "the capacity reservations of EC2NodeClass default are in zone-1, and topology.kubernetes.io/zone In \
               [zone-2] is required";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_type_whose_reservation_is_full_stays_beside_one_that_is_held() {
    let mut facts = facts(pods("a cpu=1"));
    reserve(&mut facts, &[("t.small", "cr-1", 0), ("t.medium", "cr-2", 1)]);
    facts.node_pools[0]
        .template
        .requirements
        .add(requirement(&format!("{CAPACITY_TYPE}=reserved")));
    let plan = provision(&facts);
    assert_eq!(shown(&plan), "general [t.medium t.small]: a");
    assert_eq!(plan.new_claims[0].cheapest.instance_type.as_str(), "t.medium");
}

#[test]
fn of_equal_domains_the_cheapest_is_taken() {
    let pods = |count| replicas("a", count, &spread_over(CAPACITY_TYPE));
    let kinds = |facts: &Facts| -> Vec<CapacityType> {
        provision(facts).new_claims.iter().map(|new| new.cheapest.capacity_type).collect()
    };
    let only_two = requirement(&format!("{CAPACITY_TYPE}=spot,on-demand"));
    for (count, expected) in
        [(1, vec![CapacityType::Spot]), (2, vec![CapacityType::Spot, CapacityType::OnDemand])]
    {
        let mut facts = facts(pods(count));
        facts.node_pools[0].template.requirements.add(only_two.clone());
        assert_eq!(kinds(&facts), expected, "{count} pods");
    }
    // Zone 2 is the cheapest, but only while it is as empty as the others.
    let mut facts = facts(replicas("a", 2, &spread_over(ZONE)));
    let mut types = default_types();
    let in_second = types.iter_mut().flat_map(|kind| kind.offerings.iter_mut());
    for offering in in_second.filter(|offering| offering.zone.as_str() == "zone-2") {
        offering.price = HourlyPrice::from_nanos(7);
    }
    offer(&mut facts, types);
    let zones: Vec<String> =
        provision(&facts).new_claims.iter().map(|new| new.cheapest.zone.to_string()).collect();
    assert_eq!(zones, ["zone-2", "zone-1"]);
    // What is joined is pinned as well as what is opened: the cheapest that is left of it.
    let mut first = spec("cpu=1100m");
    first.labels = [("app".to_owned(), "b".to_owned())].into();
    facts.pods = vec![pending("first", first), pending("second", spread_over(ZONE))];
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.new_claims[0].cheapest.zone.as_str()), (1, "zone-2"));
}

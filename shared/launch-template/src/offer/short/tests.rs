//! What is short for some launches is short for these only.

use model::{
    CapacityType, OfferingKey,
    node_class::{ImageFamily, PlacementGroup, PlacementStrategy},
};
use testkit::build;

use super::*;
use crate::{
    offer,
    testing::{class, described, now, subnet},
};

const T3: &str = "t3.large amd64 2 7577Mi 35 0.0832 0.03";

/// The on-demand offerings of t3.large for launches from `class` that are short of `shortage`.
fn on_demand(class: &ResolvedNodeClass, shortage: Shortage) -> String {
    let later: Timestamp = "2026-08-01T12:00:01Z".parse().unwrap();
    let shortages = BTreeMap::from([(shortage, later)]);
    let zones = |at: Timestamp| {
        let mut types = offer(&described(&[T3]), class, &BTreeMap::new(), now());
        leave_short(&mut types, class, &shortages, at);
        let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
        let open = offerings.filter(|offering| offering.is_available);
        let on_demand = open.filter(|offering| offering.capacity_type == CapacityType::OnDemand);
        on_demand.map(|offering| offering.zone.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(zones(later), "us-west-2a us-west-2b", "it is over");
    zones(now())
}

#[test]
fn what_some_launches_are_short_of_others_have() {
    let key = OfferingKey {
        capacity_type: CapacityType::OnDemand,
        instance_type: build::id("t3.large"),
        zone: build::id("us-west-2a"),
    };
    let class = class(ImageFamily::Al2023);
    let (both, b) = ("us-west-2a us-west-2b", "us-west-2b");
    let unsupported =
        |name: &str| Shortage::Unsupported { class: build::id(name), offering: key.clone() };
    assert_eq!(on_demand(&class, unsupported(class.class.name.as_str())), b);
    assert_eq!(on_demand(&class, unsupported("another")), both);
    let addresses = || Shortage::Addresses { subnet: build::id("subnet-0a") };
    assert_eq!(on_demand(&class, addresses()), b);
    let mut wider = class.clone();
    wider.subnets.push(subnet("subnet-0c", "us-west-2a", "usw2-az1", 9));
    assert_eq!(on_demand(&wider, addresses()), both, "another subnet of the zone has room");
    let until: Timestamp = "2026-08-01T12:00:01Z".parse().unwrap();
    choose_last(&mut wider, &BTreeMap::from([(addresses(), until)]), now());
    let free = |subnet: &Subnet| subnet.available_ip_address_count;
    assert_eq!(wider.subnets.iter().map(free).collect::<Vec<_>>(), [0, 3_000, 9]);
}

#[test]
fn without_the_role_for_spot_on_demand_is_left() {
    let class = class(ImageFamily::Al2023);
    assert_eq!(on_demand(&class, Shortage::Spot), "us-west-2a us-west-2b");
    let mut types = offer(&described(&[T3]), &class, &BTreeMap::new(), now());
    let is_spot = |types: &[Arc<InstanceType>]| {
        let mut offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
        offerings.any(|o| o.is_available && o.capacity_type == CapacityType::Spot)
    };
    assert!(is_spot(&types), "spot is sold");
    let until: Timestamp = "2026-08-01T12:00:01Z".parse().unwrap();
    leave_short(&mut types, &class, &BTreeMap::from([(Shortage::Spot, until)]), now());
    assert!(!is_spot(&types));
}

#[test]
fn a_placement_group_that_is_full_is_full_for_itself() {
    let group = |id: &str| build::id::<PlacementGroupId>(id);
    let (zone, both) = (build::id::<Zone>("us-west-2a"), "us-west-2a us-west-2b");
    let instance_type = build::id("t3.large");
    let offering =
        OfferingKey { capacity_type: CapacityType::OnDemand, instance_type, zone: zone.clone() };
    let mut class = class(ImageFamily::Al2023);
    let spread = |id: &str| Shortage::Spread { group: group(id), zone: zone.clone() };
    let capacity = |id: &str| Shortage::Group { group: group(id), offering: offering.clone() };
    assert_eq!(on_demand(&class, spread("pg-0a")), both, "it has none");
    let strategy = PlacementStrategy::Cluster;
    let placed = PlacementGroup { id: group("pg-0a"), name: "group".to_owned(), strategy };
    class.placement_group = Some(placed);
    let open = "us-west-2b";
    assert_eq!(on_demand(&class, spread("pg-0a")), open);
    assert_eq!(on_demand(&class, capacity("pg-0a")), open);
    assert_eq!(on_demand(&class, spread("pg-0b")), both);
    assert_eq!(on_demand(&class, capacity("pg-0b")), both);
}

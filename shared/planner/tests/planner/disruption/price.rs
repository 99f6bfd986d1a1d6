//! What launches cost at least and at most.

use model::{CapacityType, HourlyPrice, Offering, Reservation, labels};
use planner::{
    disruption::{nodes::State, price::*},
    index::id::Id,
};

use crate::planner::support::cluster::*;

#[test]
fn the_worst_launch_is_the_dearest_of_what_ec2_takes_first() {
    let mut base = instance_type("t.large", "cpu=16 memory=32Gi pods=50", &[]);
    base.offerings[2].price = HourlyPrice::from_nanos(900_000_000);
    let worst = |text: &[&str]| {
        worst(&base, &requirements(&text.join(" "))).map(|exact| exact.rounded().nanos())
    };
    assert_eq!(worst(&[]), Some(900_000_000));
    assert_eq!(worst(&["topology.kubernetes.io/zone=zone-1"]), Some(480_000_000));
    assert_eq!(worst(&["karpenter.sh/capacity-type=on-demand"]), Some(1_600_000_000));
    assert_eq!(worst(&["topology.kubernetes.io/zone=zone-9"]), None);
    base.offerings[2].is_available = false;
    let worst = planner::disruption::price::worst(&base, &requirements(""));
    assert_eq!(worst.map(|exact| exact.rounded().nanos()), Some(480_000_000));
}

#[test]
fn reserved_prices_that_nano_dollars_cannot_tell_apart_are_told_apart() {
    let reserved = |on_demand: u64| {
        let mut base = instance_type("t.x", "cpu=1 memory=1Gi pods=5", &[]);
        base.offerings[1].price = HourlyPrice::from_nanos(on_demand);
        let reservation = Reservation {
            id: "cr-1".parse().unwrap(),
            kind: "default".to_owned(),
            interruptible: false,
            count: 1,
        };
        base.offerings[0] = Offering {
            capacity_type: CapacityType::Reserved,
            price: HourlyPrice::from_nanos(on_demand).divided_by(10_000_000),
            reservation: Some(reservation),
            ..base.offerings[0].clone()
        };
        exact(&base.offerings[0])
    };
    assert!(reserved(89_250_000) > reserved(85_500_000));
    let nanos = |on_demand| reserved(on_demand).rounded().nanos();
    assert_eq!(nanos(89_250_000), nanos(85_500_000));
}

#[test]
fn a_node_costs_what_its_offering_costs_to_be_had_or_not() {
    let mut facts = cluster(&[("a", "t.large")]);
    let price = |facts: &model::facts::Facts| {
        let state = State::of(facts, facts.now, &planner::disruption::Options::default());
        of_node(&state, &state.nodes[Id::nth(0)]).rounded().nanos()
    };
    assert_eq!(price(&facts), 1_600_000_000);
    let mut types = default_types();
    types
        .iter_mut()
        .flat_map(|instance_type| &mut instance_type.offerings)
        .for_each(|offering| offering.is_available = false);
    offer(&mut facts, types);
    assert_eq!(price(&facts), 1_600_000_000);
    node(&mut facts, "a").labels.remove(labels::ZONE);
    assert_eq!(price(&facts), 0);
}

//! Capacity reservations: who runs in them, and what their end brings.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    CapacityType, Function, HourlyPrice, LaunchTemplateName,
    launch::{FleetAnswer, InstanceState, LaunchTemplate, ReservationMarket, ReservationTarget},
    node_class::MatchCriteria,
};
use ports::{Fleet as _, Templates as _};
use simulator::{
    Action, NewTemplate, ReservationPreference, ReservationRecord, Sim, WorldSettings,
};

use crate::simulator::toy;

const OPEN: &str = "template-of-ones-own";

/// One `m5.large` in the first zone.
fn reservation(sim: &Sim, match_criteria: MatchCriteria) -> ReservationRecord {
    let offering = toy::offering(CapacityType::Reserved, "m5.large", "us-west-2a");
    ReservationRecord {
        id: "cr-1".parse().unwrap(),
        instance_type: offering.instance_type,
        zone: offering.zone,
        owner: "123456789012".to_owned(),
        match_criteria,
        is_capacity_block: false,
        is_interruptible: false,
        tags: BTreeMap::new(),
        starts_at: sim.now(),
        ends_at: None,
        total_count: 1,
    }
}

fn reserved(sim: &Sim, change: impl FnOnce(&mut ReservationRecord)) {
    let mut record = reservation(sim, MatchCriteria::Targeted);
    change(&mut record);
    sim.act(Action::AddReservation(record));
}

fn minutes(sim: &Sim, minutes: i64) -> Option<jiff::Timestamp> {
    sim.now().checked_add(SignedDuration::from_mins(minutes)).ok()
}

/// Launches from a template that names `cr-1`.
fn launch(sim: &Sim, token: &str, market: ReservationMarket) -> FleetAnswer {
    let name =
        format!("karpenter.k8s.aws/{}", 7 + u32::from(market != ReservationMarket::OnDemand));
    let template = LaunchTemplateName::new(&name).unwrap();
    let mut data = testkit::build::template_data();
    data.reservation = Some(ReservationTarget { id: "cr-1".parse().unwrap(), market });
    let made = LaunchTemplate { name: template.clone(), data, tags: BTreeMap::new() };
    sim.block_on(sim.ensure(&made)).unwrap().unwrap();
    let mut request = toy::request(sim, token, 1, CapacityType::Reserved);
    request.market = market;
    only(&mut request, &template);
    sim.block_on(sim.launch(&request)).unwrap().unwrap()
}

/// The one override that the reservation is for.
fn only(request: &mut model::launch::FleetRequest, name: &LaunchTemplateName) {
    let template = &mut request.templates[0];
    template.template = name.clone();
    template.overrides.retain(|fleet_override| {
        fleet_override.instance_type.as_str() == "m5.large"
            && fleet_override.zone.as_str() == "us-west-2a"
    });
}

fn codes(answer: &FleetAnswer) -> Vec<&str> {
    answer.errors.iter().map(|error| error.code.as_str()).collect()
}

fn left(sim: &Sim) -> u32 {
    toy::pass(sim, 1);
    let known = sim.block_on(sim.describe_capacity_reservations()).unwrap().unwrap();
    known[0].available_count
}

#[test]
fn who_says_nothing_falls_into_an_open_reservation_and_stays_on_demand() {
    let sim = toy::sim(WorldSettings::default());
    reserved(&sim, |record| record.match_criteria = MatchCriteria::Open);
    let name = LaunchTemplateName::new(OPEN).unwrap();
    let new = NewTemplate {
        name: name.clone(),
        image: None,
        instance_profile: None,
        security_groups: std::collections::BTreeSet::new(),
        sets: std::collections::BTreeSet::new(),
        preference: ReservationPreference::Open,
        tags: BTreeMap::new(),
        token: None,
    };
    sim.block_on(sim.create_launch_template(new)).unwrap().unwrap();
    let mut request = toy::request(&sim, "batch-1", 2, CapacityType::OnDemand);
    only(&mut request, &name);
    let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    assert_eq!((answer.instances.len(), left(&sim)), (2, 0));
    let known = sim.block_on(sim.describe_instances()).unwrap().unwrap();
    let in_it = known.iter().filter(|known| known.reservation.is_some()).count();
    assert_eq!(in_it, 1, "the other one found no room");
    assert!(known.iter().all(|known| known.instance.capacity_type == CapacityType::OnDemand));
    assert!(known.iter().all(|known| known.instance.reservation.is_none()));
    // The one that is paid for anyway costs nothing more.
    assert_eq!(sim.summary().price_now, HourlyPrice::from_nanos(90_000_000));
}

#[test]
fn capacity_is_bought_as_it_is_sold_or_not_at_all() {
    for (is_block, is_interruptible, wanted) in [
        (false, false, ReservationMarket::OnDemand),
        (true, false, ReservationMarket::CapacityBlock),
        (false, true, ReservationMarket::Interruptible),
    ] {
        for market in [
            ReservationMarket::OnDemand,
            ReservationMarket::CapacityBlock,
            ReservationMarket::Interruptible,
        ] {
            let sim = toy::sim(WorldSettings::default());
            reserved(&sim, |record| {
                record.is_capacity_block = is_block;
                record.is_interruptible = is_interruptible;
            });
            let answer = launch(&sim, "batch-1", market);
            let expected: &[&str] =
                if market == wanted { &[] } else { &["InvalidFleetConfiguration"] };
            assert_eq!(codes(&answer), expected, "{wanted:?} as {market:?}");
        }
    }
}

#[test]
fn the_instances_of_a_capacity_block_are_warned_and_then_terminated() {
    let sim = toy::sim(WorldSettings::default());
    reserved(&sim, |record| {
        record.is_capacity_block = true;
        record.ends_at = minutes(&sim, 60);
    });
    let answer = launch(&sim, "batch-1", ReservationMarket::CapacityBlock);
    let ids = [answer.instances[0].id.clone()];
    let told = || -> Vec<String> {
        let deliveries = std::iter::from_fn(|| sim.next_delivery());
        let interrupts = deliveries.filter(|d| d.function == Function::Interrupt);
        interrupts.map(|delivery| delivery.payload.to_string()).collect()
    };
    toy::pass(&sim, 60 * 19);
    assert_eq!(told(), Vec::<String>::new());
    toy::pass(&sim, 60 * 2);
    assert_eq!(told(), [format!("ReservationInterruption {}", ids[0])]);
    toy::pass(&sim, 60 * 40);
    let described = sim.block_on(sim.describe(&ids)).unwrap().unwrap();
    assert_eq!(described[0].state, InstanceState::Terminated);
    assert_eq!(sim.check_safety(), Vec::<String>::new());
}

#[test]
fn what_outlives_its_reservation_costs_what_on_demand_does() {
    let sim = toy::sim(WorldSettings::default());
    reserved(&sim, |record| record.ends_at = minutes(&sim, 60));
    launch(&sim, "batch-1", ReservationMarket::OnDemand);
    assert_eq!(
        codes(&launch(&sim, "batch-2", ReservationMarket::OnDemand)),
        ["ReservationCapacityExceeded"]
    );
    toy::pass(&sim, 3_600);
    assert_eq!(sim.summary().spent_nanos, 0);
    toy::pass(&sim, 3_600);
    assert_eq!(sim.summary().spent_nanos, 90_000_000);
    // Nothing is launched into what is over.
    assert_eq!(
        codes(&launch(&sim, "batch-3", ReservationMarket::OnDemand)),
        ["ReservationCapacityExceeded"]
    );
}

#[test]
fn a_reservation_with_more_instances_than_it_is_for_is_noticed() {
    let sim = toy::sim(WorldSettings::default());
    reserved(&sim, |_| {});
    launch(&sim, "batch-1", ReservationMarket::OnDemand);
    assert_eq!(sim.check_safety(), Vec::<String>::new());
    reserved(&sim, |record| record.total_count = 0);
    toy::pass(&sim, 60);
    assert_eq!(sim.check_safety(), ["1 instances are in cr-1, which has 0"]);
}

//! The simulated account: fleets, listings, spot notices, dollars.

mod wildcard;

use model::{
    CapacityType::{OnDemand, Spot},
    HourlyPrice,
    launch::InstanceState,
};
use ports::{Fault, Fleet as _};
use simulator::{Action, Happening, Sabotage, SpotTarget, WorldSettings};

use crate::simulator::toy;

#[test]
fn a_repeated_request_brings_the_same_instances() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "batch-1", 3, Spot);
    let first = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    let again = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    assert_eq!((first.instances.len(), &first), (3, &again));
    assert!(first.instances.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 3);
}

#[test]
fn a_token_with_another_request_is_a_conflict() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let mut request = toy::request(&sim, "batch-1", 1, Spot);
    sim.block_on(sim.launch(&request)).unwrap().unwrap();
    request.count = 2;
    let error = sim.block_on(sim.launch(&request)).unwrap().unwrap_err();
    assert_eq!(error.fault, Fault::Conflict);
    let source = error.source.unwrap().to_string();
    assert!(source.starts_with("IdempotentParameterMismatch"), "{source}");
}

#[test]
fn ignoring_the_token_is_noticed() {
    let sabotage = Sabotage { ignore_client_token: true, ..Sabotage::default() };
    let sim = toy::sim(WorldSettings { sabotage, ..WorldSettings::default() });
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "batch-1", 1, Spot);
    for _ in 0..2 {
        sim.block_on(sim.launch(&request)).unwrap().unwrap();
    }
    let expected = "2 instances were launched for the 1 claims of batch-1";
    assert_eq!(sim.check_safety(), [expected]);
}

#[test]
fn a_zone_that_is_away_fails_its_hosts_and_launches_nothing() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let launched = |batch| {
        let request = toy::request(&sim, batch, 1, OnDemand);
        let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
        answer.instances[0].clone()
    };
    let before = launched("batch-1");
    assert_eq!(sim.working_instances().len(), 1);
    sim.act(Action::BeginOutage(before.zone.clone()));
    assert_eq!(sim.working_instances(), []);
    let elsewhere = launched("batch-2");
    assert_ne!(elsewhere.zone, before.zone);
    sim.act(Action::EndOutage(before.zone.clone()));
    // The hosts that failed stay as they are.
    let working = sim.working_instances();
    assert_eq!(working.iter().map(|known| &known.id).collect::<Vec<_>>(), [&elsewhere.id]);
    assert_eq!(launched("batch-3").zone, before.zone);
}

#[test]
fn the_cheapest_offering_with_capacity_is_taken() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let gone = toy::offering(OnDemand, "m5.large", "us-west-2a");
    let scarce = toy::offering(OnDemand, "m5.large", "us-west-2b");
    sim.act(Action::SetCapacity { offering: gone.clone(), instances: Some(0) });
    sim.act(Action::SetCapacity { offering: scarce.clone(), instances: Some(1) });
    let request = toy::request(&sim, "batch-1", 2, OnDemand);
    let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    let mut types: Vec<String> = answer
        .instances
        .iter()
        .map(|instance| format!("{} {}", instance.instance_type, instance.zone))
        .collect();
    types.sort();
    assert_eq!(types, ["m5.large us-west-2b", "m5.xlarge us-west-2a"]);
    let errors: Vec<_> = answer.errors.iter().map(|e| (&*e.code, e.zone.clone())).collect();
    let code = "InsufficientInstanceCapacity";
    assert_eq!(errors, [(code, Some(gone.zone.clone())), (code, Some(scarce.zone.clone()))]);
    let unavailable = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::OfferingUnavailable { offering } => Some(offering),
        _ => None,
    });
    assert_eq!(unavailable.collect::<Vec<_>>(), [gone, scarce]);
}

#[test]
fn a_launch_without_its_template_names_it() {
    let sim = toy::sim(WorldSettings::default());
    let request = toy::request(&sim, "batch-1", 1, Spot);
    let error = sim.block_on(sim.launch(&request)).unwrap().unwrap_err();
    assert_eq!(error.fault, Fault::NotFound);
    assert!(error.source.unwrap().to_string().contains(testkit::build::TEMPLATE));
}

#[test]
fn a_listing_lags_a_launch_and_an_end() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "batch-1", 1, Spot);
    let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    let ids = [answer.instances[0].id.clone()];
    let cluster = WorldSettings::default().cluster;
    let states = || {
        let described = sim.block_on(sim.describe(&ids)).unwrap().unwrap();
        let listed = sim.block_on(sim.list(&cluster)).unwrap().unwrap();
        let of_batch = sim.block_on(sim.of_batch(&cluster, &request.token)).unwrap().unwrap();
        assert_eq!(described, of_batch);
        (described.first().map(|instance| instance.state), listed.len())
    };
    assert_eq!(states(), (None, 0));
    toy::pass(&sim, 1);
    assert_eq!(states(), (Some(InstanceState::Pending), 1));
    toy::pass(&sim, 20);
    assert_eq!(states(), (Some(InstanceState::Running), 1));
    sim.block_on(sim.terminate(&ids)).unwrap().unwrap();
    assert_eq!(states(), (Some(InstanceState::Running), 1));
    toy::pass(&sim, 1);
    assert_eq!(states(), (Some(InstanceState::ShuttingDown), 1));
    toy::pass(&sim, 60);
    assert_eq!(states(), (Some(InstanceState::Terminated), 0));
    toy::pass(&sim, 3_700);
    assert_eq!(states(), (None, 0));
}

#[test]
fn a_spot_instance_ends_two_minutes_after_its_notice() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "batch-1", 1, Spot);
    sim.block_on(sim.launch(&request)).unwrap().unwrap();
    toy::pass(&sim, 60);
    let notice_at = sim.now();
    sim.act(Action::InterruptSpot(SpotTarget::Oldest));
    toy::pass(&sim, 300);
    let ending = sim
        .timeline(0)
        .into_iter()
        .find(|event| matches!(event.happening, Happening::InstanceEnding { .. }));
    assert_eq!(ending.unwrap().at.duration_since(notice_at).as_secs(), 120);
    let announced: Vec<String> = std::iter::from_fn(|| sim.next_delivery())
        .filter(|delivery| delivery.function == model::Function::Interrupt)
        .map(|delivery| delivery.payload.to_string())
        .collect();
    // What waits comes together.
    let announced = announced.join(", ");
    let kinds: Vec<&str> =
        announced.split(", ").filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(kinds, ["SpotInterruption", "InstanceEnding", "InstanceEnding"]);
}

#[test]
fn dollars_follow_prices_and_end_with_the_instance() {
    let sim = toy::sim(WorldSettings::default());
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "batch-1", 1, OnDemand);
    let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    toy::pass(&sim, 3_600);
    assert_eq!(sim.summary().spent_nanos, 90_000_000);
    let offering = toy::offering(OnDemand, "m5.large", "us-west-2a");
    sim.act(Action::SetPrice { offering, price: HourlyPrice::from_nanos(30_000_000) });
    assert_eq!(sim.summary().price_now, HourlyPrice::from_nanos(30_000_000));
    toy::pass(&sim, 3_600);
    sim.block_on(sim.terminate(&[answer.instances[0].id.clone()])).unwrap().unwrap();
    toy::pass(&sim, 3_600);
    assert_eq!(sim.summary().spent_nanos, 120_000_000);
    assert_eq!(sim.summary().price_now, HourlyPrice::from_nanos(0));
}

//! What EC2 says of instances that still run.

use jiff::SignedDuration;
use model::{
    DeletionReason, InstanceId, Zone,
    disruption::DisruptionReason,
    event::{EventObject, EventReason},
    interruption::REBALANCE_RECOMMENDATION,
};
use ports::Fault;
use simulator::{Action, Happening, Injection, Sim, SpotTarget, WorldSettings, first_calls};

use crate::{
    settings::settings,
    world::{MANIFESTS, minute, runner_with, sim_of},
};

/// Plays the usual world, where functions have the settings of these `parameters`.
fn play(parameters: &[(&str, &str)], manifests: &str, actions: &[(i64, Action)]) -> Sim {
    let sim = sim_of(WorldSettings::default(), manifests);
    for (at, action) in actions {
        sim.at(minute(*at), action.clone());
    }
    let (mut runner, _reports) = runner_with(&sim, settings(parameters));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
    sim
}

/// Why claims were deleted, in their order.
fn deleted(sim: &Sim) -> Vec<DeletionReason> {
    let reasons = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::ClaimDeleted { reason, .. } => Some(reason),
        _ => None,
    });
    reasons.collect()
}

const REPLACED: [(&str, &str); 1] = [("RebalanceRecommendations", "replace-first")];

#[test]
fn a_node_that_ec2_recommends_to_leave_is_replaced_before_it_goes() {
    let recommend = Action::RecommendRebalance(SpotTarget::Oldest);
    let sim = play(&REPLACED, MANIFESTS, &[(5, recommend)]);
    assert_eq!(deleted(&sim), [DeletionReason::Disrupted(DisruptionReason::Drifted)]);
    let timeline = sim.timeline(0);
    let recommended_at = minute(5);
    let first = |is_it: fn(&Happening) -> bool| {
        let mut after = timeline.iter().filter(|event| recommended_at < event.at);
        after.find(|event| is_it(&event.happening)).expect("it happens")
    };
    let launched = first(|happening| matches!(happening, Happening::InstanceLaunched { .. }));
    let ready = first(|happening| matches!(happening, Happening::NodeReady { .. }));
    let gone = first(|happening| matches!(happening, Happening::ClaimDeleted { .. }));
    assert!(launched.at < ready.at && ready.at < gone.at);
    // It comes from an offering that EC2 did not recommend to leave.
    let oldest = timeline.iter().find_map(|event| match &event.happening {
        Happening::InstanceLaunched { offering, .. } => Some(offering.clone()),
        _ => None,
    });
    let Happening::InstanceLaunched { offering, .. } = &launched.happening else { unreachable!() };
    assert_ne!(Some(offering), oldest.as_ref());
    let summary = sim.summary();
    assert_eq!((summary.pods_lost, summary.pods_waiting), (0, 0));
}

#[test]
fn a_recommendation_to_leave_an_instance_is_ignored_by_default() {
    let recommend = Action::RecommendRebalance(SpotTarget::Oldest);
    let sim = play(&[], MANIFESTS, &[(5, recommend)]);
    assert_eq!(deleted(&sim), []);
    let claims = sim.claims();
    assert!(claims.iter().all(|claim| claim.conditions.drifted.is_none()));
}

#[test]
fn budgets_of_drift_hold_nodes_that_ec2_recommends_to_leave() {
    let closed = MANIFESTS
        .replace("budgets: [{nodes: \"50%\"}]", "budgets: [{nodes: \"0\", reasons: [Drifted]}]");
    assert!(closed != MANIFESTS);
    let recommend = Action::RecommendRebalance(SpotTarget::Oldest);
    let take = Action::InterruptSpot(SpotTarget::Oldest);
    let sim = play(&REPLACED, &closed, &[(5, recommend.clone())]);
    assert_eq!(deleted(&sim), []);
    let reasons = sim.claims().into_iter().filter_map(|claim| claim.conditions.drifted);
    assert_eq!(reasons.collect::<Vec<_>>(), [REBALANCE_RECOMMENDATION]);
    // What EC2 takes back goes at once, whatever budgets say.
    let sim = play(&REPLACED, &closed, &[(5, recommend), (10, take)]);
    assert_eq!(deleted(&sim), [DeletionReason::SpotInterrupted]);
}

#[test]
fn an_instance_whose_check_fails_ends_by_force_and_its_pods_run_elsewhere() {
    let protected = MANIFESTS.replace(
        "metadata: {labels: {app: ",
        "metadata: {annotations: {karpenter.sh/do-not-disrupt: \"true\"}, labels: {app: ",
    );
    assert!(protected != MANIFESTS);
    for is_of_host in [false, true] {
        let fail = Action::FailCheck { target: SpotTarget::Oldest, is_of_host };
        let sim = play(&[], &protected, &[(6, fail)]);
        assert_eq!(deleted(&sim), [DeletionReason::InstanceUnhealthy]);
        let timeline = sim.timeline(0);
        let at = |is_it: fn(&Happening) -> bool| {
            let mut events = timeline.iter().filter(|event| minute(6) < event.at);
            events.find(|event| is_it(&event.happening)).map(|event| event.at).expect("it happens")
        };
        // Two minutes of failing, and a look each minute.
        let deleted = at(|happening| matches!(happening, Happening::ClaimDeleted { .. }));
        assert!(minute(8) <= deleted && deleted <= minute(9) + SignedDuration::from_secs(30));
        // Whatever protects its pods, nothing is waited for.
        let ended = at(|happening| matches!(happening, Happening::InstanceEnding { .. }));
        let taken = ended.duration_since(deleted);
        assert!(taken < SignedDuration::from_secs(60), "{taken:#}");
        assert_eq!(sim.summary().pods_waiting, 0);
    }
}

#[test]
fn an_instance_that_cannot_be_asked_about_stays() {
    let fail = Action::FailCheck { target: SpotTarget::Oldest, is_of_host: true };
    let sim = sim_of(WorldSettings::default(), MANIFESTS);
    sim.add_rule(first_calls("Fleet.impaired", 16, Injection::FailBefore(Fault::Transient)));
    sim.at(minute(6), fail);
    let (mut runner, _reports) = runner_with(&sim, settings(&[]));
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    assert_eq!(deleted(&sim), []);
    // Once EC2 answers again, it goes.
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert_eq!(deleted(&sim), [DeletionReason::InstanceUnhealthy]);
}

/// Launches in `zone` between two minutes.
fn launched_in(sim: &Sim, zone: &Zone, minutes: (i64, i64)) -> usize {
    let (from, to) = (minute(minutes.0), minute(minutes.1));
    let timeline = sim.timeline(0).into_iter();
    let events = timeline.filter(|event| from <= event.at && event.at < to);
    let is_it = |happening: Happening| match happening {
        Happening::InstanceLaunched { offering, .. } => offering.zone == *zone,
        _ => false,
    };
    events.filter(|event| is_it(event.happening.clone())).count()
}

/// A node of the usual world: its instance and the zone of that, which is the cheapest.
fn first_node() -> (InstanceId, Zone) {
    let sim = play(&[], MANIFESTS, &[]);
    let claims = sim.claims();
    let instance = claims.first().and_then(|claim| claim.instance.as_ref()).expect("an instance");
    (instance.id.clone(), instance.zone.clone())
}

const SHIFTS: [EventReason; 2] = [EventReason::ZonalShiftActive, EventReason::ZonalShiftCleared];

#[test]
fn nothing_is_launched_in_a_zone_while_traffic_is_shifted_away_from_it() {
    let (_, zone) = first_node();
    let more = |at: i64, replicas| (at, crate::world::scale("web", replicas));
    let actions =
        [(1, Action::ShiftZone(zone.clone(), minute(14))), more(4, 16), more(8, 20), more(16, 26)];
    let heeded = play(&[("EnableZonalShift", "true")], MANIFESTS, &actions);
    // What was launched there before stays.
    assert!(0 < launched_in(&heeded, &zone, (0, 2)));
    assert_eq!(launched_in(&heeded, &zone, (3, 14)), 0);
    assert!(0 < launched_in(&heeded, &zone, (16, 25)), "the zone is in use again");
    let told: Vec<_> = heeded
        .told()
        .into_iter()
        .filter_map(|(at, event)| match event.about {
            EventObject::NodePool(_) => Some((event.reason, at)),
            _ => None,
        })
        .filter(|(reason, _)| SHIFTS.contains(reason))
        .collect();
    let [(EventReason::ZonalShiftActive, began), (EventReason::ZonalShiftCleared, ended)] =
        told[..]
    else {
        panic!("{told:?}");
    };
    assert!(minute(1) <= began && began < minute(3) && minute(14) <= ended && ended < minute(16));
    // No node goes for it.
    let is_deleted = |happening: &Happening| matches!(happening, Happening::ClaimDeleted { .. });
    let timeline = heeded.timeline(0);
    let deleted = timeline.iter().filter(|event| is_deleted(&event.happening));
    assert_eq!(deleted.filter(|event| event.at < minute(4)).count(), 0);
    assert_eq!(heeded.summary().pods_waiting, 0);
    let ignored = play(&[], MANIFESTS, &actions);
    assert!(0 < launched_in(&ignored, &zone, (3, 14)));
}

#[test]
fn an_instance_in_a_zone_that_is_left_is_not_terminated_before_it_is_in_use_again() {
    let (instance, zone) = first_node();
    let take = Action::AnnounceChange(SpotTarget::Instance(instance));
    let actions = [(3, Action::ShiftZone(zone, minute(12))), (6, take)];
    let sim = play(&[("EnableZonalShift", "true")], MANIFESTS, &actions);
    let timeline = sim.timeline(0);
    let ended = timeline
        .iter()
        .find(|event| matches!(event.happening, Happening::InstanceEnding { .. }))
        .expect("it ends");
    assert!(minute(12) <= ended.at, "it ends at {}", ended.at);
    assert_eq!(deleted(&sim).first(), Some(&DeletionReason::InstanceUnhealthy));
}

#[test]
fn what_was_seen_of_zonal_shifts_stands_while_aws_does_not_answer() {
    let (_, zone) = first_node();
    let sim = sim_of(WorldSettings::default(), MANIFESTS);
    sim.at(minute(1), Action::ShiftZone(zone.clone(), minute(14)));
    let (mut runner, _reports) = runner_with(&sim, settings(&[("EnableZonalShift", "true")]));
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    let fails = Injection::FailBefore(Fault::Transient);
    sim.add_rule(first_calls("Discovery.zonal_shifts", 100, fails));
    sim.at(minute(8), crate::world::scale("web", 20));
    sim.at(minute(16), crate::world::scale("web", 26));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert_eq!(launched_in(&sim, &zone, (4, 14)), 0);
    // It ended at the announced time, although AWS did not answer.
    assert!(0 < launched_in(&sim, &zone, (16, 25)));
}

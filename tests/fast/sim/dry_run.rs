//! Trying EC2NodeClasses out: EC2 checks a launch, `resolve` tells what it said, and nothing is ever
//! launched by it.

use jiff::SignedDuration;
use model::{Condition, ConditionKind, ConditionReason, node_class::NodeClass};
use ports::{Fault, NodeClasses as _};
use simulator::{Action, ClusterObject, FaultRule, Injection, Sim, WorldSettings, first_calls};

use crate::world::{minute, runner, scale, sim};

/// The usual world without anybody who needs a node.
fn idle(settings: WorldSettings, rules: Vec<FaultRule>) -> Sim {
    let sim = sim(settings);
    for name in ["web", "store"] {
        sim.act(scale(name, 0));
    }
    for rule in rules {
        sim.add_rule(rule);
    }
    sim
}

fn validation(sim: &Sim) -> Condition {
    let status = sim.class_status(&testkit::build::id("default")).expect("it was told");
    let mut conditions = status.conditions.into_iter();
    conditions
        .find(|condition| condition.kind == ConditionKind::ValidationSucceeded)
        .expect("a condition")
}

/// How often an operation was called.
fn calls(sim: &Sim, operation: &str) -> usize {
    sim.trace().iter().filter(|line| line.contains(&format!("{operation} "))).count()
}

/// The condition at each of `minutes`: `?` while it is open.
#[track_caller]
fn check(settings: WorldSettings, rules: Vec<FaultRule>, expected: &[(i64, &str)]) -> Sim {
    let sim = idle(settings, rules);
    let (mut runner, _reports) = runner(&sim);
    for (at, reason) in expected {
        runner.run_until(minute(*at)).expect("nothing unsafe happens");
        let told = validation(&sim);
        let seen = if told.status.is_none() { "?" } else { told.reason.as_str() };
        assert_eq!(seen, *reason, "in minute {at}: {told:?}");
        assert_eq!(
            told.status == Some(true),
            told.reason == ConditionReason::Holds(told.kind),
            "{told:?}"
        );
    }
    assert!(sim.summary().launched.is_empty(), "nothing was launched");
    assert_eq!(runner.failures(), []);
    sim
}

fn forbidden(operation: &'static str, times: u32) -> FaultRule {
    first_calls(operation, times, Injection::FailBefore(Fault::Permanent))
}

#[test]
fn a_class_is_ready_once_ec2_has_checked_a_launch_and_is_checked_twice_an_hour() {
    let good = "ValidationSucceeded";
    let sim = check(WorldSettings::default(), Vec::new(), &[(3, good), (25, good), (65, good)]);
    for operation in ["Templates.dry_run", "Fleet.dry_run", "Fleet.dry_run_instance"] {
        assert_eq!(calls(&sim, operation), 3, "{operation}");
    }
    assert_eq!(calls(&sim, "Fleet.launch"), 0);
}

#[test]
fn what_is_forbidden_is_reported_and_checked_again_half_an_hour_later() {
    for (operation, reason) in [
        ("Templates.dry_run", "CreateLaunchTemplateAuthCheckFailed"),
        ("Fleet.dry_run", "CreateFleetAuthCheckFailed"),
    ] {
        let steps = [(3, reason), (25, reason), (35, "ValidationSucceeded")];
        check(WorldSettings::default(), vec![forbidden(operation, 1)], &steps);
    }
    // In none of the four subnets.
    let reason = "RunInstancesAuthCheckFailed";
    let sim = check(
        WorldSettings::default(),
        vec![forbidden("Fleet.dry_run_instance", 4)],
        &[(3, reason), (25, reason), (35, "ValidationSucceeded")],
    );
    assert_eq!(calls(&sim, "Fleet.dry_run_instance"), 5);
}

#[test]
fn a_failed_check_says_what_is_missing_and_the_class_is_not_ready() {
    let sim = idle(WorldSettings::default(), vec![forbidden("Fleet.dry_run", 1)]);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let told = validation(&sim);
    assert!(told.message.contains("ec2:CreateFleet"), "{told:?}");
    let status = sim.class_status(&testkit::build::id("default")).expect("it was told");
    let ready = status.conditions.last().expect("conditions");
    assert_eq!((ready.kind, ready.status), (ConditionKind::Ready, Some(false)));
}

#[test]
fn one_subnet_that_works_is_enough() {
    let rules = vec![forbidden("Fleet.dry_run_instance", 3)];
    let sim = check(WorldSettings::default(), rules, &[(5, "ValidationSucceeded")]);
    assert_eq!(calls(&sim, "Fleet.dry_run_instance"), 4);
}

#[test]
fn what_is_not_answered_is_asked_again_in_a_minute() {
    for fault in [Fault::Transient, Fault::Unknown] {
        let rules = vec![first_calls("Fleet.dry_run", 2, Injection::FailBefore(fault))];
        check(WorldSettings::default(), rules, &[(5, "ValidationSucceeded")]);
    }
}

#[test]
fn a_profile_that_was_just_made_is_waited_for() {
    let profile_visible_after = SignedDuration::from_mins(3);
    let settings = WorldSettings { profile_visible_after, ..WorldSettings::default() };
    check(settings, Vec::new(), &[(3, "?"), (6, "ValidationSucceeded")]);
}

#[test]
fn a_changed_class_is_checked_anew() {
    let sim = idle(WorldSettings::default(), Vec::new());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing").items;
    let class = seen.into_iter().map(|seen| seen.class).next().expect("a class");
    let class = NodeClass { detailed_monitoring: Some(true), ..class };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(class)]));
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    assert_eq!(validation(&sim).status, Some(true));
    assert_eq!(calls(&sim, "Fleet.dry_run"), 2);
}

//! Whether the API server calls `wake`: what NodePools say of it, and how often `provision` looks then.
//!
//! In these worlds a probe is answered, but nothing calls: each pod is one of which no call came.

use dispatch::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{ConditionKind, NodePoolName, wake::PODS_NOT_PUSHED_FOR};
use ports::Fault;
use simulator::{ConditionRecord, Injection, Sim, WorldSettings, first_calls};

use crate::{
    settings::settings,
    world::{minute, runner_with, scale, sim},
};

/// The functions of a stack with `wake`.
pub(crate) fn with_wake(parameters: &[(&str, &str)]) -> Settings {
    Settings { has_wake: true, ..settings(parameters) }
}

/// The usual world, where probes are answered.
pub(crate) fn answering() -> Sim {
    sim(WorldSettings { wake_answers: true, ..WorldSettings::default() })
}

fn pool() -> NodePoolName {
    testkit::build::id("general")
}

fn condition(sim: &Sim) -> Option<ConditionRecord> {
    let record = sim.node_pool_record(&pool()).expect("the NodePool is there");
    record.conditions.into_iter().find(|stored| stored.kind == ConditionKind::WakeHealthy)
}

/// `Status Reason`, or nothing.
fn says(sim: &Sim) -> String {
    condition(sim)
        .map(|stored| format!("{:?} {}", stored.status, stored.reason))
        .unwrap_or_default()
}

/// How often pods were listed so far: by each beat of `provision`, and by other functions.
fn lists(sim: &Sim) -> u64 {
    let calls = sim.calls_by_action();
    calls
        .iter()
        .filter(|(action, _)| action.name == "list pods")
        .map(|(_, count)| count.answered)
        .sum()
}

/// Until `minutes`, with the lists of pods in the last one.
fn lists_in_minute(sim: &Sim, mut run: impl FnMut(Timestamp), minutes: i64) -> u64 {
    run(minute(minutes - 1));
    let before = lists(sim);
    run(minute(minutes));
    lists(sim) - before
}

/// Pods that come while calls are relied on, and no call comes.
pub(crate) fn played() -> Sim {
    let sim = answering();
    // After ten quiet minutes, between two beats.
    sim.at(minute(25) + SignedDuration::from_secs(20), scale("web", 20));
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    runner.run_until(minute(28)).expect("nothing unsafe happens");
    sim
}

#[test]
fn beats_are_a_minute_apart_once_a_probe_is_answered_and_nothing_is_written_again() {
    let sim = answering();
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    let mut run = |until| runner.run_until(until).expect("nothing unsafe happens");
    run(minute(2));
    assert_eq!(says(&sim), "Some(true) Answered");
    let quiet = lists_in_minute(&sim, &mut run, 25);
    let writes = sim.node_pool_record(&pool()).expect("there").writes;
    run(minute(60));
    assert_eq!(sim.node_pool_record(&pool()).expect("there").writes, writes);
    // Without wake, twelve beats.
    let (mut runner, _reports) = runner_with(&sim, settings(&[]));
    let mut run = |until| runner.run_until(until).expect("nothing unsafe happens");
    let polled = lists_in_minute(&sim, &mut run, 65);
    assert!(quiet + 9 <= polled, "{quiet} and {polled} lists of pods in a minute");
    assert_eq!(says(&sim), "", "the stack has no wake any more");
}

#[test]
fn a_wake_that_is_not_called_any_more_is_noticed_within_three_minutes() {
    let sim = answering();
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[("WakeRestSeconds", "120")]));
    let mut run = |until| runner.run_until(until).expect("nothing unsafe happens");
    let quiet = lists_in_minute(&sim, &mut run, 25);
    run(minute(25) + SignedDuration::from_secs(1));
    sim.set_wake_answers(false);
    let polled = lists_in_minute(&sim, &mut run, 29);
    assert_eq!(says(&sim), "Some(false) NoAnswer");
    assert!(quiet + 9 <= polled, "{quiet} and {polled} lists of pods in a minute");
    sim.set_wake_answers(true);
    assert!(lists_in_minute(&sim, &mut run, 33) < polled);
    assert_eq!(says(&sim), "Some(true) Answered");
}

#[test]
fn a_pod_of_which_no_call_came_has_provision_poll_for_an_hour() {
    let sim = played();
    let stored = condition(&sim).expect("the condition is there");
    assert_eq!(says(&sim), "Some(false) PodsNotPushed");
    assert!(stored.message.contains("default/web-"), "{}", stored.message);
    // The pods waited for a beat at most, and have their node.
    assert!(sim.check_liveness().is_empty(), "{:?}", sim.check_liveness());
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    let hour = stored.since + PODS_NOT_PUSHED_FOR;
    runner.run_until(hour - SignedDuration::from_secs(1)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "Some(false) PodsNotPushed");
    runner.run_until(hour + SignedDuration::from_mins(2)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "Some(true) Answered");
}

#[test]
fn a_probe_that_is_refused_says_nothing_good() {
    let sim = answering();
    sim.add_rule(Box::new(|call, _| {
        let is_meant = call.operation == "NodePools.probe_wake" && minute(5) <= call.now;
        if is_meant { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "Some(true) Answered");
    runner.run_until(minute(7)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "None ProbeRefused");
    // A probe that the API server does not answer changes nothing.
    let sim = answering();
    let failing = Injection::FailBefore(Fault::Transient);
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    sim.add_rule(first_calls("NodePools.probe_wake", 3, failing));
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "Some(true) Answered");
}

#[test]
fn a_stack_without_wake_neither_probes_nor_says_anything() {
    let sim = answering();
    let (mut runner, _reports) = runner_with(&sim, settings(&[]));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    assert_eq!(says(&sim), "");
    let called = sim.called();
    let mut calls = called.values().flatten();
    let of_wake = ["NodePools.probe_wake", "NodePools.update_wake_condition"];
    assert!(calls.all(|call| !of_wake.contains(call)), "{called:?}");
}

//! The webhooks that call `wake`.

use jiff::{SignedDuration, Timestamp};
use model::Function;
use simulator::{
    Action, ClusterObject, DeliveryOutcome, FunctionCall, Payload, Sim, WakeCounts, WakeFaults,
    WorldSettings,
};
use testkit::build;

use crate::simulator::toy;

fn world(faults: WakeFaults) -> Sim {
    toy::limited(WorldSettings {
        has_schedules: false,
        wake: Some(faults),
        ..WorldSettings::default()
    })
}

fn after(sim: &Sim, millis: i64) -> Timestamp {
    sim.now() + SignedDuration::from_millis(millis)
}

fn pool(name: &str) -> Action {
    Action::Add(vec![ClusterObject::NodePool(build::node_pool(name))])
}

fn is_stored(sim: &Sim, name: &str) -> bool {
    sim.node_pool_record(&build::id(name)).is_some()
}

/// The calls of `wake` that begin within this number of milliseconds.
fn begun(sim: &Sim, millis: i64) -> Vec<FunctionCall> {
    let mut calls = Vec::new();
    for _ in 0..millis {
        sim.pass_until(after(sim, 1));
        calls.extend(std::iter::from_fn(|| sim.next_delivery()));
    }
    assert!(calls.iter().all(|call| call.function == Function::Wake), "{calls:?}");
    calls
}

fn names(calls: &[FunctionCall]) -> Vec<String> {
    calls.iter().map(|call| call.payload.to_string()).collect()
}

#[test]
fn a_request_is_stored_when_wake_answers() {
    let sim = world(WakeFaults::NONE);
    sim.at(after(&sim, 10), pool("a"));
    let calls = begun(&sim, 600);
    assert_eq!(names(&calls), ["CREATE NodePool"]);
    assert!(!is_stored(&sim, "a"), "it is stored before wake answers");
    sim.finish(&calls[0], &DeliveryOutcome::Done);
    assert!(begun(&sim, 50).is_empty());
    assert!(is_stored(&sim, "a"));
    // What changes no spec calls nothing.
    sim.at(after(&sim, 10), pool("a"));
    assert!(begun(&sim, 600).is_empty());
}

#[test]
fn a_request_without_an_answer_is_stored_after_a_second() {
    let dead = WakeFaults { dead_from: Some(Timestamp::UNIX_EPOCH), ..WakeFaults::NONE };
    let lost = WakeFaults { lost_per_mille: 1_000, ..WakeFaults::NONE };
    for faults in [dead, lost] {
        let sim = world(faults);
        sim.at(after(&sim, 10), pool("a"));
        assert!(begun(&sim, 1_000).is_empty());
        assert!(!is_stored(&sim, "a"));
        assert!(begun(&sim, 20).is_empty());
        assert!(is_stored(&sim, "a"));
    }
}

#[test]
fn no_more_calls_run_than_executions_are_reserved() {
    let sim = world(WakeFaults::NONE);
    let names: Vec<String> = (0..5).map(|number| format!("pool-{number}")).collect();
    for name in &names {
        sim.at(after(&sim, 10), pool(name));
    }
    assert_eq!(begun(&sim, 600).len(), 2);
    assert_eq!(sim.wake_counts(), WakeCounts { arrived: 5, throttled: 3 });
    // The API server does not wait for those that are refused.
    assert_eq!(names.iter().filter(|name| is_stored(&sim, name)).count(), 3);
}

#[test]
fn a_path_that_is_not_secret_runs_nothing_and_is_paid_for() {
    let start = Some(Timestamp::UNIX_EPOCH);
    let sim = world(WakeFaults { wrong_secret_from: start, ..WakeFaults::NONE });
    sim.at(after(&sim, 10), pool("a"));
    assert!(begun(&sim, 600).is_empty());
    assert!(is_stored(&sim, "a"));
    assert_eq!(sim.meter().invocations()[&Function::Wake].invocations, 1);
}

#[test]
fn kube_scheduler_repeats_an_event_about_a_pod_after_half_an_hour() {
    let sim = world(WakeFaults::NONE);
    toy::add(&sim, toy::workload("web", 1));
    let mut seen = Vec::new();
    let begin = sim.now();
    let mut try_again = |sim: &Sim| {
        // Whatever changes has kube-scheduler try again.
        sim.act(Action::StopFaults);
        for call in begun(sim, 600) {
            sim.finish(&call, &DeliveryOutcome::Done);
            seen.push((call.invocation.now.duration_since(begin).as_mins(), call.payload));
        }
    };
    for _ in 0..4 {
        try_again(&sim);
        toy::pass(&sim, 1);
    }
    toy::pass(&sim, 1_700);
    try_again(&sim);
    toy::pass(&sim, 200);
    try_again(&sim);
    let lines: Vec<String> = seen
        .iter()
        .map(|(minutes, payload): &(i64, Payload)| format!("{minutes} min: {payload}"))
        .collect();
    assert_eq!(lines, ["0 min: CREATE Event", "0 min: UPDATE Event", "31 min: UPDATE Event"]);
}

#[test]
fn a_pod_says_that_it_is_unschedulable_after_the_event_was_sent() {
    let sim = world(WakeFaults::NONE);
    let mut orders = std::collections::BTreeSet::new();
    for number in 0..20 {
        toy::add(&sim, toy::workload(&format!("web-{number}"), 1));
        let is_marked = |sim: &Sim| sim.pods().iter().all(|pod| pod.unschedulable_at.is_some());
        let (mut called, mut marked) = (None, None);
        for millis in 0..700 {
            let calls = begun(&sim, 1);
            called = called.or_else(|| (!calls.is_empty()).then_some(millis));
            let is_there = sim.pods().len() > number && is_marked(&sim);
            marked = marked.or_else(|| is_there.then_some(millis));
            for call in calls {
                sim.finish(&call, &DeliveryOutcome::Done);
            }
        }
        orders.insert(called < marked);
    }
    assert_eq!(orders.len(), 2, "the API server is always asked for one of both first");
}

//! What a cluster costs in which nothing happens, and how long a pod waits for a request to EC2.

use jiff::SignedDuration;
use model::PodKey;
use simulator::{Action, Chance, Happening, WorldSettings};

use super::fleet::fleet;

/// Asserts that a month of so many nodes costs less than so many dollars.
#[track_caller]
fn check(nodes: u32, dollars: u128) {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(nodes, nodes);
    fleet.pass(240);
    let before = fleet.sim.meter();
    fleet.pass(1_200);
    let used = fleet.used_since(&before);
    let bill = fleet.sim.bill(&used, SignedDuration::from_secs(1_200));
    assert!(bill.nanos() < dollars * 1_000_000_000, "{nodes} nodes:\n{bill}");
}

// What is wanted is less: `docs/operations.md` says how much, and what it takes.

#[test]
fn ten_idle_nodes_cost_no_more_than_they_do() {
    check(10, 10);
}

#[test]
fn a_hundred_idle_nodes_cost_no_more_than_they_do() {
    check(100, 12);
}

#[test]
fn a_pod_without_a_node_is_answered_within_seconds() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    let mut chance = Chance::new(11);
    let mut at = fleet.sim.now();
    let workload: PodKey = testkit::build::pod_key("web");
    for replicas in 1..=40 {
        let millis = i64::try_from(20_000 + chance.below(20_000)).unwrap();
        at = at.checked_add(SignedDuration::from_millis(millis)).expect("a time");
        fleet.sim.at(at, Action::Scale { workload: workload.clone(), replicas });
    }
    let from = fleet.sim.timeline(0).len();
    fleet.pass(40 * 40 + 60);
    let (mut waiting, mut lags) = (None, Vec::new());
    for event in fleet.sim.timeline(from) {
        match event.happening {
            Happening::PodUnschedulable { .. } => waiting = Some(event.at),
            Happening::InstanceLaunched { .. } => {
                lags.extend(waiting.take().map(|since| event.at.duration_since(since).as_millis()));
            }
            _ => {}
        }
    }
    lags.sort_unstable();
    assert_eq!(lags.len(), 40);
    let (half, most) = (lags[19], lags[39]);
    // Three seconds are wanted for the half.
    assert!(half <= 5_000 && most <= 8_000, "half within {half} ms, all within {most} ms");
}

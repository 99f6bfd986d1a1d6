//! The function `wake` in the simulator: healthy, and wrong in every way.

use std::collections::BTreeMap;

use dispatch::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{ConditionKind, Function, pod::PodPhase};
use simulator::{Action, Happening, Sim, WakeFaults, WorldSettings};
use testkit::build;

use crate::{
    storm::{self, play_seeds, strided},
    wake_health::with_wake,
    world::{drift, minute, play_with, runner_with, scale, sim},
};

/// Storms of a plain `cargo test`; CI plays each way to be wrong.
const SEEDS_DEFAULT: u64 = 3;
/// Neighbours in the list are alike.
const STRIDE: u64 = 2;

const SOUND: WakeFaults = WakeFaults::NONE;

/// Each way in which `wake` can be wrong, and the healthy one. What ends happens in the middle of a storm.
fn ways() -> [(&'static str, WakeFaults); 9] {
    let middle = Some(minute(6));
    let late_max = SignedDuration::from_secs(30);
    let forged = |millis| Some(SignedDuration::from_millis(millis));
    [
        ("healthy", SOUND),
        ("lost", WakeFaults { lost_per_mille: 500, ..SOUND }),
        ("late", WakeFaults { late_per_mille: 500, late_max, ..SOUND }),
        ("doubled", WakeFaults { doubled_per_mille: 700, ..SOUND }),
        ("forged", WakeFaults { forged_each: forged(500), ..SOUND }),
        ("flooded", WakeFaults { forged_each: forged(20), ..SOUND }),
        ("dead", WakeFaults { dead_from: middle, ..SOUND }),
        ("wrong secret", WakeFaults { wrong_secret_from: middle, ..SOUND }),
        ("no pods", WakeFaults { no_pods_from: middle, ..SOUND }),
    ]
}

/// What a world comes to: how many pods of each workload run, and how many wait.
fn outcome_of(sim: &Sim) -> (BTreeMap<String, usize>, u64) {
    let mut running: BTreeMap<String, usize> = BTreeMap::new();
    for pod in sim.pods() {
        if pod.phase == PodPhase::Running {
            let name = pod.key.name.as_str().split('-').next().unwrap_or_default();
            *running.entry(name.to_owned()).or_default() += 1;
        }
    }
    (running, sim.pods_waiting())
}

/// A storm in which users delete and change things, with `wake` or without it.
fn stormy(seed: u64, wake: Option<WakeFaults>) -> Result<(BTreeMap<String, usize>, u64), String> {
    let sim = sim(WorldSettings { wake, ..storm::settings(seed) });
    storm::begin(&sim, seed);
    drift(&sim, minute(9));
    let settings = if wake.is_some() { with_wake(&[]) } else { Settings::default() };
    play_with(&sim, settings, (minute(16), minute(60)))?;
    Ok(outcome_of(&sim))
}

#[test]
fn storms_end_alike_however_wrong_wake_is() {
    play_seeds(SEEDS_DEFAULT, |seed| {
        // The healthy one is first in the list and last here.
        let ((name, faults), _) = strided(&ways(), STRIDE, seed + 1);
        let without = stormy(seed, None).map_err(|why| format!("without wake: {why}"))?;
        let with = stormy(seed, Some(faults)).map_err(|why| format!("{name}: {why}"))?;
        let is_alike = with == without;
        let differs = || format!("{name}: {with:?}, without wake {without:?}");
        is_alike.then_some(()).ok_or_else(differs)
    });
}

#[test]
fn a_seed_with_wake_plays_the_same_twice() {
    let trace = |seed| {
        let wake = Some(WakeFaults { forged_each: Some(SignedDuration::from_secs(2)), ..SOUND });
        let sim = sim(WorldSettings { wake, ..storm::settings(seed) });
        storm::begin(&sim, seed);
        // A failure would be found by the storms; here only the trace counts.
        drop(play_with(&sim, with_wake(&[]), (minute(16), minute(20))));
        sim.trace()
    };
    let first = trace(7);
    assert!(first.iter().any(|line| line.contains("wake#")), "no call of wake in the trace");
    assert!(first == trace(7), "the same seed plays differently");
}

/// Seconds from `action` at five minutes to the first thing that happens for which `is_answer`.
fn answered_within(
    action: impl FnOnce(&Sim) -> Action,
    is_answer: impl Fn(&Happening) -> bool,
) -> SignedDuration {
    let sim = sim(WorldSettings { wake: Some(SOUND), ..WorldSettings::default() });
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    // Not at a beat or a schedule.
    let at: Timestamp = minute(25) + SignedDuration::from_millis(7_300);
    runner.run_until(at).expect("nothing unsafe happens");
    sim.at(at, action(&sim));
    runner.run_until(minute(28)).expect("nothing unsafe happens");
    let timeline = sim.timeline(0);
    let answer = timeline.iter().find(|event| at < event.at && is_answer(&event.happening));
    answer.expect("it is answered").at.duration_since(at)
}

#[test]
fn a_deleted_node_claim_or_node_is_drained_within_three_seconds() {
    let is_deleted = |happening: &Happening| matches!(happening, Happening::ClaimDeleted { .. });
    let claim =
        answered_within(|sim| Action::DeleteNodeClaim(sim.claims()[0].name.clone()), is_deleted);
    let node = answered_within(|sim| Action::DeleteNode(sim.nodes()[0].name.clone()), is_deleted);
    let most = SignedDuration::from_secs(3);
    assert!(claim <= most && node <= most, "NodeClaim {claim:#}, Node {node:#}");
}

/// Whether the NodePool says that the API server calls `wake`; `None` if it does not say so.
fn is_healthy(sim: &Sim) -> Option<bool> {
    let record = sim.node_pool_record(&build::id("general"))?;
    let mut conditions = record.conditions.into_iter();
    conditions.find(|condition| condition.kind == ConditionKind::WakeHealthy)?.status
}

#[test]
fn a_wake_that_is_dead_is_noticed_within_three_minutes() {
    // After ten quiet minutes: in busy times beats find pods as soon as calls do.
    let from = minute(30) + SignedDuration::from_secs(7);
    let wrong = [
        WakeFaults { dead_from: Some(from), ..SOUND },
        WakeFaults { wrong_secret_from: Some(from), ..SOUND },
        // Only a pod shows this.
        WakeFaults { no_pods_from: Some(from), ..SOUND },
    ];
    for faults in wrong {
        let sim = sim(WorldSettings { wake: Some(faults), ..WorldSettings::default() });
        sim.at(from + SignedDuration::from_secs(1), scale("web", 14));
        let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
        runner.run_until(from).expect("nothing unsafe happens");
        assert_eq!(is_healthy(&sim), Some(true), "{faults:?}");
        runner.run_until(from + SignedDuration::from_mins(3)).expect("nothing unsafe happens");
        assert_eq!(is_healthy(&sim), Some(false), "{faults:?}");
    }
}

#[test]
fn ten_thousand_pods_in_a_second_cost_a_few_passes() {
    let sim = sim(WorldSettings { wake: Some(SOUND), ..WorldSettings::default() });
    let (mut runner, _reports) = runner_with(&sim, with_wake(&[]));
    let at = minute(20);
    runner.run_until(at).expect("nothing unsafe happens");
    let (meter, calls) = (sim.meter(), sim.wake_counts());
    sim.act(scale("web", 10_000));
    runner.run_until(at + SignedDuration::from_secs(3)).expect("nothing unsafe happens");
    let used = sim.meter().since(&meter);
    let of = |count: u64, before: u64| count - before;
    let arrived = of(sim.wake_counts().arrived, calls.arrived);
    let throttled = of(sim.wake_counts().throttled, calls.throttled);
    assert!(arrived > 9_900 && throttled > 9_800, "{arrived} calls, {throttled} throttled");
    let messages = used.messages().get(&Function::Provision).copied().unwrap_or_default();
    // Each of two processes of `wake` asks for a pass at once and for one a second; beats come each second.
    assert!((2..=12).contains(&messages), "{messages} messages");
    let passes = used.invocations().get(&Function::Provision).copied().unwrap_or_default();
    assert!(passes.invocations <= 12, "{passes:?}");
}

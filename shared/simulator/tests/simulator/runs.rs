//! Whole runs: determinism, injections, storms, and what the checkers find.

use std::task::Poll;

use jiff::{SignedDuration, Timestamp};
use model::{Function, pod::PodPhase};
use ports::{Fault, Ledger as _};
use simulator::{
    Action, Disorder, Happening, Injection, Sabotage, Sim, SpotTarget, Stopped, Storm,
    WorldSettings, at_call, first_calls,
};

use crate::simulator::toy;

fn end(minutes: i64) -> Timestamp {
    WorldSettings::default().start.checked_add(SignedDuration::from_mins(minutes)).unwrap()
}

const STORM: Storm = Storm {
    fail_before_per_mille: 20,
    fail_after_per_mille: 20,
    crash_before_per_mille: 20,
    crash_after_per_mille: 20,
    delay_per_mille: 10,
};

fn stormy(seed: u64) -> WorldSettings {
    let disorder = Disorder {
        duplicated_per_mille: 100,
        held_back_per_mille: 100,
        held_back_max: SignedDuration::from_secs(30),
    };
    WorldSettings { disorder, receives_max: 50, ..WorldSettings::with_seed(seed) }
}

/// Five pods, a spot interruption, a scale-down, faults for half an hour, then quiet.
fn play(settings: WorldSettings) -> (Sim, Result<(), Stopped>) {
    let sim = toy::sim(settings);
    sim.add_rule(STORM.rule());
    let workload = toy::workload("web", 5);
    let key = workload.key();
    toy::add(&sim, workload);
    sim.at(end(10), Action::InterruptSpot(SpotTarget::Any));
    sim.at(end(20), Action::Scale { workload: key, replicas: 4 });
    sim.at(end(30), Action::StopFaults);
    let outcome = sim.run_until(end(60), toy::dispatch(&sim));
    (sim, outcome)
}

/// The calls that failed, and why, as the timeline says.
fn failed(sim: &Sim) -> Vec<(Function, String)> {
    let failed = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::CallFailed { function, error } => Some((function, error)),
        _ => None,
    });
    failed.collect()
}

#[test]
fn an_uneventful_run_places_every_pod() {
    let sim = toy::sim(WorldSettings::default());
    toy::add(&sim, toy::workload("web", 3));
    sim.run_until(end(10), toy::dispatch(&sim)).unwrap();
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    let summary = sim.summary();
    assert_eq!((summary.pods_placed, summary.pods_waiting), (3, 0));
    assert!(sim.pods().iter().all(|pod| pod.phase == PodPhase::Running));
    let half = summary.pending_percentile(50).unwrap();
    assert!(half > SignedDuration::from_secs(35) && half < SignedDuration::from_mins(4));
    assert_eq!(summary.pending_percentile(100), summary.pending_times.last().copied());
    assert_eq!(summary.assumptions, ["subnets tagged team=a in us-west-2a, us-west-2b"]);
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_one_another() {
    let (first, _) = play(stormy(3));
    let (second, _) = play(stormy(3));
    let (other, _) = play(stormy(4));
    assert!(first.trace().len() > 100);
    assert_eq!(first.trace(), second.trace());
    assert_ne!(first.trace(), other.trace());
}

#[test]
fn crashes_and_duplicates_do_no_harm() {
    let (mut has_crashed, mut errors) = (false, 0);
    for seed in 0..40 {
        let (sim, outcome) = play(stormy(seed));
        assert_eq!(outcome, Ok(()), "seed {seed}");
        assert_eq!(sim.check_liveness(), Vec::<String>::new(), "seed {seed}");
        has_crashed |= sim.trace().iter().any(|line| line.contains("is gone"));
        errors += failed(&sim).iter().filter(|(_, error)| error.contains("failed: ")).count();
    }
    assert!(has_crashed && 0 < errors, "{errors} calls failed by what they were answered");
}

#[test]
fn a_missing_client_token_is_found() {
    let is_hit = (0..40).any(|seed| {
        let sabotage = Sabotage { ignore_client_token: true, ..Sabotage::default() };
        let (_, outcome) = play(WorldSettings { sabotage, ..stormy(seed) });
        matches!(outcome, Err(Stopped::Unsafe(violations)) if violations[0].contains("launched for"))
    });
    assert!(is_hit);
}

#[test]
fn a_missing_comparison_is_found() {
    let is_hit = (0..400).any(|seed| {
        let sabotage = Sabotage { ignore_compare_and_set: true, ..Sabotage::default() };
        let (sim, outcome) = play(WorldSettings { sabotage, ..stormy(seed) });
        outcome.is_err() || !sim.check_liveness().is_empty()
    });
    assert!(is_hit);
}

#[test]
fn an_interrupted_node_is_drained_before_its_instance_ends() {
    let sim = toy::sim(WorldSettings::default());
    toy::add(&sim, toy::workload("web", 2));
    sim.at(end(10), Action::InterruptSpot(SpotTarget::Oldest));
    sim.run_until(end(30), toy::dispatch(&sim)).unwrap();
    let timeline = sim.timeline(0);
    let when = |is_it: fn(&Happening) -> bool| {
        timeline.iter().find(|event| is_it(&event.happening)).map(|event| event.at)
    };
    let notice = when(|happening| matches!(happening, Happening::SpotNotice { .. })).unwrap();
    let drained = when(|happening| matches!(happening, Happening::NodeDrained { .. })).unwrap();
    assert!(drained > notice && drained.duration_since(notice).as_secs() < 120);
    let summary = sim.summary();
    assert_eq!((summary.evictions, summary.pods_lost, summary.pods_waiting), (1, 0, 0));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_node_that_never_joins_leaves_a_pod_waiting_and_is_reported() {
    let sim = toy::sim(WorldSettings { never_joins_per_mille: 1_000, ..WorldSettings::default() });
    toy::add(&sim, toy::workload("web", 1));
    sim.run_until(end(60), toy::dispatch(&sim)).unwrap();
    assert_eq!(sim.summary().pods_waiting, 1);
    let problems = sim.check_liveness();
    assert!(problems.iter().any(|problem| problem.ends_with("is still launched")), "{problems:?}");
}

#[track_caller]
fn check_verdict(injection: Injection, fault: Option<Fault>, claims: usize) {
    let sim = toy::sim(WorldSettings::default());
    sim.add_rule(first_calls("Ledger.commit", 1, injection));
    let head = sim
        .block_on(ports::Ledger::head(&sim, &WorldSettings::default().cluster))
        .unwrap()
        .unwrap();
    let commit = toy::commit("a", &head, vec![toy::claim("x", "b", sim.now())]);
    let cluster = WorldSettings::default().cluster;
    let outcome = sim.block_on(sim.commit(&cluster, &commit));
    assert_eq!(
        outcome.map(|outcome| outcome.err().map(|e| e.fault)),
        fault.map(Some),
        "{injection}"
    );
    assert_eq!(sim.claims().len(), claims, "{injection}");
    // The next call passes, and finds what the first one left.
    let again = sim.block_on(sim.commit(&cluster, &commit)).unwrap().unwrap();
    assert_eq!(again, model::ledger::CommitOutcome::Committed(commit.next(head.counters)));
}

#[test]
fn injections_do_what_they_say() {
    check_verdict(Injection::FailBefore(Fault::Transient), Some(Fault::Transient), 0);
    check_verdict(Injection::FailAfter(Fault::Unknown), Some(Fault::Unknown), 1);
    check_verdict(Injection::CrashBefore, None, 0);
    check_verdict(Injection::CrashAfter, None, 1);
}

#[test]
fn a_delay_lets_the_world_go_on() {
    let sim = toy::sim(WorldSettings::default());
    sim.add_rule(at_call(0, Injection::Delay(SignedDuration::from_secs(10))));
    let start = sim.now();
    sim.block_on(ports::Ledger::head(&sim, &WorldSettings::default().cluster)).unwrap().unwrap();
    assert_eq!(sim.now().duration_since(start), SignedDuration::from_secs(10));
}

#[test]
fn a_delivery_beyond_its_time_limit_comes_again() {
    let sim = toy::sim(WorldSettings::default());
    sim.add_rule(at_call(0, Injection::Delay(SignedDuration::from_mins(5))));
    toy::add(&sim, toy::workload("web", 1));
    sim.run_until(end(15), toy::dispatch(&sim)).unwrap();
    assert!(sim.trace().iter().any(|line| line.contains("provision#2 is gone")));
    assert_eq!(failed(&sim), [(Function::Provision, "it was cut off".to_owned())]);
    assert_eq!(sim.summary().pods_waiting, 0);
}

#[test]
fn a_long_run_is_no_loop_and_a_loop_is_found_at_any_time() {
    let day = 24 * 60;
    let in_days = |days: i64, polls_max| {
        let sim = toy::sim(WorldSettings { polls_max, ..WorldSettings::default() });
        toy::add(&sim, toy::workload("web", 1));
        (sim.run_until(end(days * day), toy::dispatch(&sim)), sim)
    };
    let most = (1..20).map(|power| 1 << power).find(|most| in_days(1, *most).0.is_ok()).unwrap();
    // Twice as many as a day of it takes, at most, and a month of it takes more.
    let (outcome, sim) = in_days(30, most);
    assert_eq!((outcome, sim.now()), (Ok(()), end(30 * day)));
    // Every delivery comes back to its work at once, from the third day on.
    let sim = toy::sim(WorldSettings { polls_max: most, ..WorldSettings::default() });
    let (after, clock) = (end(3 * day), sim.clone());
    let mut dispatch = toy::dispatch(&sim);
    let outcome = sim.run_until(end(30 * day), move |call| {
        let work = dispatch(call);
        let clock = clock.clone();
        Box::pin(async move {
            while clock.now() >= after {
                let mut is_first = true;
                std::future::poll_fn(|context| {
                    context.waker().wake_by_ref();
                    let is_waiting = std::mem::replace(&mut is_first, false);
                    if is_waiting { Poll::Pending } else { Poll::Ready(()) }
                })
                .await;
            }
            work.await
        })
    });
    assert_eq!(outcome, Err(Stopped::PollsExhausted(most)));
    assert!(sim.now() < end(4 * day), "{}", sim.now());
}

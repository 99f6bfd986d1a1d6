//! Every call of one run fails or crashes once, in turn; then all is delivered again.

use ports::Fault;
use simulator::{Injection, WorldSettings, at_call};

use crate::world::{minute, play, scale, sim};

/// Calls that are swept, in steps: all kinds of calls come within the first minutes.
const CALLS: std::ops::Range<u64> = 0..420;

fn run(number: Option<u64>, injection: Injection) -> (u64, Result<(), String>) {
    let sim = sim(WorldSettings::with_seed(1));
    if let Some(number) = number {
        sim.add_rule(at_call(number, injection));
    }
    sim.at(minute(4), scale("web", 2));
    let outcome = play(&sim, minute(10), minute(22));
    (sim.calls(), outcome)
}

#[track_caller]
fn check(injection: Injection, step: usize) {
    let (calls, outcome) = run(None, injection);
    assert_eq!(outcome, Ok(()));
    assert!(calls > CALLS.end, "{calls} calls are fewer than are swept");
    for number in CALLS.step_by(step) {
        let (_, outcome) = run(Some(number), injection);
        assert_eq!(outcome, Ok(()), "call {number}: {injection}");
    }
}

#[test]
fn a_crash_after_any_call_is_made_good() {
    check(Injection::CrashAfter, 7);
}

#[test]
fn a_crash_before_any_call_is_made_good() {
    check(Injection::CrashBefore, 11);
}

#[test]
fn an_answer_lost_after_any_call_is_made_good() {
    check(Injection::FailAfter(Fault::Unknown), 7);
}

#[test]
fn a_failure_of_any_call_is_made_good() {
    check(Injection::FailBefore(Fault::Transient), 11);
}

//! Every call of one run fails or crashes once, in turn; then all is delivered again.

use ports::Fault;
use simulator::{Injection, WorldSettings, at_call};
use tests::variable;

use crate::world::{minute, play, scale, sim};

/// Calls that are swept, in steps: all kinds of calls come within the first minutes.
const CALLS: std::ops::Range<u64> = 0..420;
/// The step of a plain `cargo test`, in calls; `JOURNEYMAN_STEP` is another, and CI takes a smaller one. It is a prime number, so
/// that passes that begin alike are met at different calls.
const STEP_DEFAULT: u64 = 23;

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
fn check(injection: Injection) {
    let step = variable("JOURNEYMAN_STEP").unwrap_or(STEP_DEFAULT);
    let step = usize::try_from(step).expect("a few calls");
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
    check(Injection::CrashAfter);
}

#[test]
fn a_crash_before_any_call_is_made_good() {
    check(Injection::CrashBefore);
}

#[test]
fn an_answer_lost_after_any_call_is_made_good() {
    check(Injection::FailAfter(Fault::Unknown));
}

#[test]
fn a_failure_of_any_call_is_made_good() {
    check(Injection::FailBefore(Fault::Transient));
}

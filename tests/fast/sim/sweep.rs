//! Every call of one run fails or crashes once, in turn; then all is delivered again.

use ports::Fault;
use simulator::{Settings, Verdict, at_call};

use crate::world::{minute, play, scale, sim};

/// Calls that are swept, in steps: all kinds of calls come within the first minutes.
const CALLS: std::ops::Range<u64> = 0..420;

fn run(number: Option<u64>, verdict: Verdict) -> (u64, Result<(), String>) {
    let sim = sim(Settings::with_seed(1));
    if let Some(number) = number {
        sim.add_rule(at_call(number, verdict));
    }
    sim.at(minute(4), scale("web", 2));
    let outcome = play(&sim, minute(10), minute(22));
    (sim.calls(), outcome)
}

#[track_caller]
fn check(verdict: Verdict, step: usize) {
    let (calls, outcome) = run(None, verdict);
    assert_eq!(outcome, Ok(()));
    assert!(calls > CALLS.end, "{calls} calls are fewer than are swept");
    for number in CALLS.step_by(step) {
        let (_, outcome) = run(Some(number), verdict);
        assert_eq!(outcome, Ok(()), "call {number}: {verdict}");
    }
}

#[test]
fn a_crash_after_any_call_is_made_good() {
    check(Verdict::CrashAfter, 7);
}

#[test]
fn a_crash_before_any_call_is_made_good() {
    check(Verdict::CrashBefore, 11);
}

#[test]
fn an_answer_lost_after_any_call_is_made_good() {
    check(Verdict::FailAfter(Fault::Unknown), 7);
}

#[test]
fn a_failure_of_any_call_is_made_good() {
    check(Verdict::FailBefore(Fault::Transient), 11);
}

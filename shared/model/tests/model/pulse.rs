//! Every interleaving of commits, wakes, beats, duplicates, losses, crashes and passes side by side.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{ledger::Counters, pulse::*};

/// A pass under way: what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Reads the head, then acts once on everything that it sees.
    Act { based_on: u64 },
    /// Reads the pulse and writes it, if it is still `seen`.
    Arm { based_on: u64, end: PassEnd, seen: Pulse },
    /// Sends the beat that was written.
    Send { beat: u64 },
}

/// A world with one function and its pulse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// How far the work of each commit came: two passes finish it.
    progress: Vec<u8>,
    pulse: Pulse,
    messages: Vec<Signal>,
    passes: Vec<Step>,
    /// Counters of commits whose wake was not sent yet.
    wakes: Vec<u64>,
    commits_left: u8,
    duplicates_left: u8,
    losses_left: u8,
    crashes_left: u8,
}

const DONE: u8 = 2;
const PASSES_MAX: usize = 3;

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn counters(arrivals: usize) -> Counters {
    Counters { arrivals: u64::try_from(arrivals).unwrap(), departures: 0 }
}

impl State {
    fn start(commits_left: u8, duplicates_left: u8, losses_left: u8, crashes_left: u8) -> Self {
        Self {
            progress: Vec::new(),
            // As after the first pass of all, which the schedule made.
            pulse: Pulse { sequence: 1, ..Pulse::default() },
            messages: Vec::new(),
            passes: Vec::new(),
            wakes: Vec::new(),
            commits_left,
            duplicates_left,
            losses_left,
            crashes_left,
        }
    }

    fn has_work(&self) -> bool {
        self.progress.iter().any(|step| *step < DONE)
    }

    /// Whether nothing is on its way any more.
    fn is_quiet(&self) -> bool {
        self.messages.is_empty()
            && self.passes.is_empty()
            && self.wakes.is_empty()
            && self.commits_left == 0
    }

    /// Every state that may follow.
    fn following(&self) -> Vec<Self> {
        let mut following = Vec::new();
        self.commit(&mut following);
        self.deliver(&mut following);
        for index in 0..self.passes.len() {
            self.go_on(index, &mut following);
        }
        for state in &mut following {
            state.messages.sort_unstable();
            state.passes.sort_unstable();
        }
        following
    }

    fn commit(&self, following: &mut Vec<Self>) {
        if self.commits_left > 0 {
            let mut next = self.clone();
            next.commits_left -= 1;
            next.progress.push(0);
            next.wakes.push(counters(next.progress.len()).arrivals);
            following.push(next);
        }
        for index in 0..self.wakes.len() {
            let mut next = self.clone();
            let arrivals = next.wakes.remove(index);
            next.messages.push(Signal::Wake(Counters { arrivals, departures: 0 }));
            following.push(next);
            if self.crashes_left > 0 {
                let mut crashed = self.clone();
                crashed.wakes.remove(index);
                crashed.crashes_left -= 1;
                following.push(crashed);
            }
        }
    }

    fn deliver(&self, following: &mut Vec<Self>) {
        for (index, signal) in self.messages.iter().enumerate() {
            let mut taken = self.clone();
            taken.messages.remove(index);
            if self.losses_left > 0 {
                following.push(Self { losses_left: self.losses_left - 1, ..taken.clone() });
            }
            let mut deliveries = vec![taken];
            if self.duplicates_left > 0 {
                let duplicates_left = self.duplicates_left - 1;
                deliveries.push(Self { duplicates_left, ..self.clone() });
            }
            for mut next in deliveries {
                let head = counters(self.progress.len());
                if !next.pulse.is_due(*signal, head, now()) {
                    following.push(next);
                } else if next.passes.len() < PASSES_MAX {
                    next.passes.push(Step::Act { based_on: next.pulse.sequence });
                    following.push(next);
                }
            }
        }
    }

    fn go_on(&self, index: usize, following: &mut Vec<Self>) {
        let mut next = self.clone();
        let step = next.passes.remove(index);
        if self.crashes_left > 0 {
            let mut crashed = Self { crashes_left: self.crashes_left - 1, ..next.clone() };
            following.push(crashed.clone());
            // Or the queue brings the message again.
            if let Step::Act { based_on } | Step::Arm { based_on, .. } = step {
                crashed.messages.push(Signal::Beat(based_on));
                following.push(crashed);
            }
        }
        match step {
            Step::Act { based_on } => {
                let read = counters(next.progress.len());
                for progress in &mut next.progress {
                    *progress = DONE.min(*progress + 1);
                }
                let next_at = next.has_work().then(now);
                let end = PassEnd { read: Some(read), next_at, note: None };
                next.passes.push(Step::Arm { based_on, end, seen: next.pulse });
            }
            Step::Arm { based_on, end, seen } => match seen.after(based_on, &end, now()) {
                None => {}
                Some(_) if seen != next.pulse => {
                    next.passes.push(Step::Arm { based_on, end, seen: next.pulse });
                }
                Some(written) => {
                    next.pulse = written;
                    if written.due_at.is_some() {
                        next.passes.push(Step::Send { beat: written.sequence });
                    }
                }
            },
            Step::Send { beat } => next.messages.push(Signal::Beat(beat)),
        }
        following.push(next);
    }
}

/// Every state that can be reached from `start`; the world is quiet with work left in none of which the
/// schedule would not start a pass, and without losses and crashes in none at all.
#[track_caller]
fn explore(start: State, has_net: bool) -> usize {
    // Of one and the same beat, made by a queue or by a crash.
    let copies = usize::from(start.duplicates_left + start.crashes_left);
    let (mut reached, mut stack) = (BTreeSet::from([start.clone()]), vec![start]);
    while let Some(state) = stack.pop() {
        if state.is_quiet() && state.has_work() {
            let late = now() + SignedDuration::from_mins(1);
            let head = counters(state.progress.len());
            let is_mended = has_net && state.pulse.is_due(Signal::Schedule, head, late);
            assert!(is_mended, "work is left, and no pass comes: {state:?}");
        }
        // At most one beat is live, however many were sent.
        let live =
            state.messages.iter().filter(|signal| **signal == Signal::Beat(state.pulse.sequence));
        assert!(live.count() <= 1 + copies, "two chains: {state:?}");
        for next in state.following() {
            if reached.insert(next.clone()) {
                stack.push(next);
            }
        }
    }
    reached.len()
}

#[test]
fn without_losses_work_is_never_left_alone() {
    for (duplicates, commits) in [(0, 2), (1, 2), (1, 3), (2, 2)] {
        let states = explore(State::start(commits, duplicates, 0, 0), false);
        assert!(states > 100, "{states} states");
    }
}

#[test]
fn whatever_is_lost_or_crashes_the_schedule_mends() {
    for (commits, duplicates, losses, crashes) in
        [(2, 0, 1, 0), (2, 0, 0, 1), (2, 1, 1, 0), (1, 1, 1, 1), (2, 0, 1, 1), (1, 0, 2, 2)]
    {
        let states = explore(State::start(commits, duplicates, losses, crashes), true);
        assert!(states > 50, "{states} states");
    }
}

#[test]
fn the_schedule_leaves_a_living_pulse_alone() {
    let at = |seconds| now() + SignedDuration::from_secs(seconds);
    let armed = Pulse { sequence: 4, due_at: Some(at(60)), ..Pulse::default() };
    for (pulse, head, seconds, expected) in [
        (armed, counters(0), 0, false),
        (armed, counters(9), 64, false),
        (armed, counters(0), 65, true),
        (Pulse { due_at: None, ..armed }, counters(0), 65, false),
        (Pulse { due_at: None, ..armed }, counters(1), 0, true),
        (Pulse::default(), counters(0), 0, true),
    ] {
        assert_eq!(pulse.is_due(Signal::Schedule, head, at(seconds)), expected, "{pulse:?}");
    }
}

#[test]
fn a_pass_that_failed_serves_nothing_and_is_counted() {
    let pulse = Pulse { sequence: 4, served: counters(1), ..Pulse::default() };
    let failed = PassEnd { read: None, next_at: Some(now()), note: None };
    let after = pulse.after(4, &failed, now()).unwrap();
    assert_eq!((after.sequence, after.served, after.failures), (5, counters(1), 1));
    let whole = PassEnd { read: Some(counters(2)), next_at: None, note: None };
    let after = after.after(5, &whole, now()).unwrap();
    assert_eq!((after.served, after.failures, after.due_at), (counters(2), 0, None));
}

#[test]
fn of_two_passes_the_earlier_due_time_stands() {
    let at = |seconds| now() + SignedDuration::from_secs(seconds);
    let other = Pulse { sequence: 5, due_at: Some(at(9)), served: counters(2), ..Pulse::default() };
    let end = |seconds, arrivals| PassEnd {
        read: Some(counters(arrivals)),
        next_at: Some(at(seconds)),
        note: None,
    };
    assert_eq!(other.after(4, &end(9, 2), now()), None);
    assert_eq!(other.after(4, &end(30, 1), now()), None);
    let sooner = other.after(4, &end(3, 1), now()).unwrap();
    assert_eq!((sooner.due_at, sooner.served), (Some(at(3)), counters(2)));
    let later = other.after(4, &end(30, 3), now()).unwrap();
    assert_eq!((later.due_at, later.served), (Some(at(9)), counters(3)));
    let done = PassEnd { read: Some(counters(3)), next_at: None, note: None };
    assert_eq!(other.after(4, &done, now()), None);
}

#[test]
fn of_two_passes_the_note_of_the_last_look_stands() {
    let at = |seconds| now() + SignedDuration::from_secs(seconds);
    let end = |note| PassEnd { read: Some(counters(0)), next_at: Some(at(1)), note };
    let (old, new) = (PulseNote::new(1, at(0)), PulseNote::new(2, at(9)));
    let started = Pulse { sequence: 3, note: Some(old), ..Pulse::default() };
    for (first, second) in [(new, old), (old, new)] {
        let stored = started.after(3, &end(Some(first)), at(10)).unwrap();
        // It needs its beat sooner, so that it writes.
        let sooner = PassEnd { next_at: Some(at(0)), ..end(Some(second)) };
        let merged = stored.after(3, &sooner, at(0)).unwrap();
        assert_eq!(merged.note, Some(new), "{first:?} and {second:?}");
    }
    let stored = started.after(3, &end(Some(new)), at(10)).unwrap();
    let sooner = PassEnd { next_at: Some(at(0)), ..end(None) };
    assert_eq!(stored.after(3, &sooner, at(0)).unwrap().note, Some(new));
}

#[test]
fn every_call_makes_a_pass_whatever_was_served() {
    let armed = Pulse { sequence: 4, due_at: Some(now()), served: counters(9), ..Pulse::default() };
    for pulse in [armed, Pulse::default()] {
        for anew in [false, true] {
            assert!(pulse.is_due(Signal::Called { anew }, counters(0), now()), "{pulse:?}");
        }
    }
}

//! The driver: several deliveries under way, polled one at a time, by chance, without a runtime.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use jiff::{SignedDuration, Timestamp};
use model::{Function, duration::later};

use crate::{
    Sim,
    delivery::{DeliveryOutcome, FunctionCall},
    timeline::Happening,
};

/// A handler at work on a delivery.
pub type Work = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Turns a delivery into the work of its function's handler. Closures of that form are it.
pub trait Dispatch: FnMut(FunctionCall) -> Work {}

impl<F: FnMut(FunctionCall) -> Work> Dispatch for F {}

/// Why a run stopped before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// These must never be so.
    Unsafe(Vec<String>),
    /// This number of polls in a day of virtual time means that there is no end.
    PollsExhausted(u64),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsafe(violations) => f.write_str(&violations.join("; ")),
            Self::PollsExhausted(polls) => {
                write!(f, "{polls} polls within a day, and no end in sight")
            }
        }
    }
}

impl std::error::Error for Stopped {}

/// How much virtual time passes until polls are counted anew: a long story takes many, a loop takes as many
/// in the time of a day.
const POLLS_COUNTED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// A waker that remembers whether it was used.
#[derive(Debug, Default)]
pub(crate) struct Wakeful(AtomicBool);

impl Wakeful {
    pub(crate) fn awake() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    /// Whether it was used since this was last asked.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn is_awake(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Wakeful {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A delivery under way.
struct Task {
    id: u64,
    function: Function,
    work: Work,
    flag: Arc<Wakeful>,
    waker: Waker,
    ready_at: Timestamp,
    deadline: Timestamp,
}

impl Task {
    /// When it can go on: after its last step's latency when it is awake, else not before its
    /// deadline.
    fn next_at(&self) -> Timestamp {
        if self.flag.is_awake() { self.ready_at.min(self.deadline) } else { self.deadline }
    }
}

/// Drives a world: takes what is due, polls what is under way, lets time pass.
///
/// Between two steps of a delivery a latency passes, drawn by chance, so deliveries and events of
/// the world interleave differently with each seed. A delivery that exceeds its time limit is
/// dropped like one that crashed.
pub struct Runner<D> {
    sim: Sim,
    dispatch: D,
    tasks: Vec<Task>,
    /// Since `counted_since`.
    polls: u64,
    counted_since: Timestamp,
    failures: Vec<(Function, String)>,
}

impl<D> fmt::Debug for Runner<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

impl<D: FnMut(FunctionCall) -> Work> Runner<D> {
    /// A driver for `sim` that hands deliveries to `dispatch`.
    pub fn new(sim: &Sim, dispatch: D) -> Self {
        let (sim, counted_since) = (sim.clone(), sim.now());
        Self { sim, dispatch, tasks: Vec::new(), polls: 0, counted_since, failures: Vec::new() }
    }

    /// What handlers returned as errors so far, redelivered ones included.
    pub fn failures(&self) -> &[(Function, String)] {
        &self.failures
    }

    /// Goes on until `time`. Deliveries that are under way then stay so until the next call, and
    /// are lost with the runner. Safety is checked after every step.
    pub fn run_until(&mut self, time: Timestamp) -> Result<(), Stopped> {
        loop {
            self.start_due();
            let has_room = self.has_room();
            let world_at = self.sim.with(|world| {
                let functions = &world.settings.limits.functions;
                let mail_at = world.mail.next_at(functions).filter(|_| has_room);
                (world.next_event_at(), mail_at)
            });
            let (event_at, mail_at) = world_at;
            let task_at = self.tasks.iter().map(Task::next_at).min();
            let next_at = [event_at, mail_at, task_at].into_iter().flatten().min();
            let Some(next_at) = next_at.filter(|at| *at <= time) else {
                self.sim.with(|world| world.pass_until(time));
                return Ok(());
            };
            if event_at == Some(next_at) {
                self.sim.with(crate::world::World::advance);
            } else if task_at == Some(next_at) {
                self.sim.with(|world| world.pass_until(next_at));
                self.poll_one(next_at)?;
            } else {
                self.sim.with(|world| world.pass_until(next_at));
                continue;
            }
            let violations = self.sim.check_safety();
            if !violations.is_empty() {
                return Err(Stopped::Unsafe(violations));
            }
        }
    }

    fn has_room(&self) -> bool {
        let quotas = self.sim.with(|world| world.settings.limits.quotas);
        quotas.concurrent_invocations.is_none_or(|most| self.tasks.len() < most)
    }

    fn start_due(&mut self) {
        while self.has_room() {
            let Some(delivery) = self.sim.next_delivery() else { return };
            let (id, function, deadline) =
                (delivery.id, delivery.function, delivery.invocation.deadline);
            let ready_at = delivery.invocation.now;
            self.sim.with(|world| {
                world.note(format_args!("{function}#{id} starts: {}", delivery.payload));
            });
            let flag = Wakeful::awake();
            let waker = Waker::from(Arc::clone(&flag));
            let work = (self.dispatch)(delivery);
            self.tasks.push(Task { id, function, work, flag, waker, ready_at, deadline });
        }
    }

    /// Polls one of the tasks that can go on at `now`.
    fn poll_one(&mut self, now: Timestamp) -> Result<(), Stopped> {
        let ready: Vec<usize> = (0..self.tasks.len())
            .filter(|index| self.tasks.get(*index).is_some_and(|task| task.next_at() <= now))
            .collect();
        let polls_max = self.sim.with(|world| world.settings.polls_max);
        if now.duration_since(self.counted_since) >= POLLS_COUNTED_FOR {
            (self.polls, self.counted_since) = (0, now);
        }
        self.polls += 1;
        if self.polls > polls_max {
            return Err(Stopped::PollsExhausted(polls_max));
        }
        let chosen = self.sim.with(|world| world.chances.driver.index(ready.len()));
        let Some(index) = ready.get(chosen).copied() else { return Ok(()) };
        let Some(task) = self.tasks.get_mut(index) else { return Ok(()) };
        let outcome = if task.deadline <= now {
            Some(DeliveryOutcome::Crashed)
        } else {
            task.flag.take();
            let poll = self.sim.acting_as((task.id, task.function), || {
                task.work.as_mut().poll(&mut Context::from_waker(&task.waker))
            });
            match (poll, self.sim.with(|world| std::mem::take(&mut world.is_crashed))) {
                (_, true) => Some(DeliveryOutcome::Crashed),
                (Poll::Ready(Ok(())), false) => Some(DeliveryOutcome::Done),
                (Poll::Ready(Err(error)), false) => Some(DeliveryOutcome::Failed(error)),
                (Poll::Pending, false) => None,
            }
        };
        let Some(outcome) = outcome else {
            task.ready_at = self.sim.with(|world| {
                let latency = world.settings.call_latency;
                later(now, world.chances.driver.within(latency))
            });
            return Ok(());
        };
        let task = self.tasks.swap_remove(index);
        self.end(task, outcome);
        Ok(())
    }

    fn end(&mut self, task: Task, outcome: DeliveryOutcome) {
        let Task { id, function, work, .. } = task;
        // Dropped while nothing is borrowed: its handler holds handles to the world.
        drop(work);
        self.sim.with(|world| {
            let how = match &outcome {
                DeliveryOutcome::Done => "ends".to_owned(),
                DeliveryOutcome::Failed(error) => format!("fails: {error}"),
                DeliveryOutcome::Crashed => "is gone".to_owned(),
            };
            world.note(format_args!("{function}#{id} {how}"));
            let error = match &outcome {
                DeliveryOutcome::Done => None,
                DeliveryOutcome::Failed(error) => Some(error.clone()),
                DeliveryOutcome::Crashed => Some("it was cut off".to_owned()),
            };
            if let Some(error) = error {
                world.happened(Happening::CallFailed { function, error });
            }
            world.finish(id, &outcome);
        });
        if let DeliveryOutcome::Failed(error) = outcome {
            self.failures.push((function, error));
        }
    }
}

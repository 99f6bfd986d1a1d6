//! The pulse: how work that goes on for longer than one call of a function is continued.
//!
//! Each function with continued work has one pulse per cluster, stored in the ledger. A message never
//! carries work: it says that the function should look, and what is to be done is read from the ledger. A
//! pass does all that is due and then *arms* the pulse: the next beat is sent under the next sequence
//! number, which makes every other beat stale. So there is never more than one chain of beats, and
//! repeating, reordering, delaying or losing a message does no harm; a lost one is made up for by the
//! schedule within a minute.

use jiff::{SignedDuration, Timestamp};

use crate::{duration::later, ledger::Counters};

/// A beat that is so late was lost: the schedule starts another chain.
///
/// It is more than the latency of a queue. A pass beside one that only takes long does no harm.
pub const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Longest time between two beats: messages in a queue can be delayed by 15 minutes at most.
///
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html>
pub const BEAT_MAX: SignedDuration = SignedDuration::from_mins(15);

/// What the ledger holds about the continued work of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pulse {
    /// The number of the newest beat. Every write makes the next one.
    pub sequence: u64,
    /// When the newest beat is due; `None` while there is nothing to do.
    pub due_at: Option<Timestamp>,
    /// What the counters of the head were when the last whole pass read them.
    pub served: Counters,
    /// Passes in a row that failed as a whole.
    pub failures: u32,
    /// What the function left for its next pass; what it means is the function's own affair.
    pub note: Option<PulseNote>,
}

/// What a pass leaves for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PulseNote {
    /// A digest of what was looked at, or a time.
    pub digest: u64,
    /// When that was.
    pub at: Timestamp,
    /// Since when it is so: when that was looked at first.
    pub since: Timestamp,
}

impl PulseNote {
    /// What is looked at for the first time.
    pub fn new(digest: u64, at: Timestamp) -> Self {
        Self { digest, at, since: at }
    }

    /// The same of a function that leaves a time: whole seconds of it are kept, those that are over.
    pub fn of_time(time: Timestamp, at: Timestamp) -> Self {
        Self::new(time.as_second().cast_unsigned(), at)
    }

    /// The time that [`PulseNote::of_time`] was given; `None` of what is none.
    pub fn time(self) -> Option<Timestamp> {
        Timestamp::from_second(self.digest.cast_signed()).ok()
    }
}

/// Why a function with continued work is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The beat with this number: the work goes on.
    Beat(u64),
    /// A commit was made, and the counters were these afterwards.
    Wake(Counters),
    /// A request to the API server, of which `wake` was called: see [`crate::wake`].
    Called {
        /// Whether the pass begins as if the last one had left nothing: what it looked at has changed.
        anew: bool,
    },
    /// The schedule came round: it mends what broke.
    Schedule,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassEnd {
    /// The counters that it had read before everything else, if it did all that was due.
    pub read: Option<Counters>,
    /// When there is something to do again; `None`: not before the next commit.
    pub next_at: Option<Timestamp>,
    /// What it leaves for the next pass.
    pub note: Option<PulseNote>,
}

impl Pulse {
    /// Whether a call for `signal` makes a pass, while the head's counters are `head`.
    ///
    /// A beat of another number is stale, and so is a wake for what a pass has read already. What a call is about may
    /// have come after a pass had looked, so each call makes one: `wake` merges requests. The
    /// schedule starts a pass where a beat was lost, and where a commit was made without a pass after it.
    pub fn is_due(&self, signal: Signal, head: Counters, now: Timestamp) -> bool {
        match signal {
            Signal::Beat(sequence) => sequence == self.sequence,
            Signal::Wake(counters) => counters.is_beyond(self.served),
            Signal::Called { .. } => true,
            Signal::Schedule => match self.due_at {
                Some(due_at) => OVERDUE_AFTER <= now.duration_since(due_at),
                None => self.sequence == 0 || head.is_beyond(self.served),
            },
        }
    }

    /// The pulse to write instead of this one after a pass that ended with `end` and had started on the
    /// pulse of `based_on`; `None` leaves this one as it is. Who writes it sends its beat afterwards.
    ///
    /// Passes side by side merge: the second pass leaves a pulse alone that is armed no later than
    /// it needs and has read no less. Disarming is never repeated: the pass that moved the sequence had seen
    /// more.
    #[must_use]
    pub fn after(&self, based_on: u64, end: &PassEnd, now: Timestamp) -> Option<Self> {
        let read = end.read.unwrap_or(self.served);
        let failures = if end.read.is_some() { 0 } else { self.failures.saturating_add(1) };
        let next_at = end.next_at.map(|at| at.clamp(now, later(now, BEAT_MAX)));
        let next = Self {
            sequence: self.sequence.saturating_add(1),
            due_at: next_at,
            served: self.served.merged(read),
            failures,
            note: end.note,
        };
        if self.sequence == based_on {
            return Some(next);
        }
        let wanted = next_at?;
        if self.due_at.is_some_and(|due_at| due_at <= wanted) && !read.is_beyond(self.served) {
            return None;
        }
        // The pass that looked last knows most: one that began beside it carries on what an earlier pass left.
        let is_later = self.note.map(|note| note.at) < end.note.map(|note| note.at);
        let note = if is_later { end.note } else { self.note };
        let due_at = self.due_at.map_or(wanted, |due_at| due_at.min(wanted));
        Some(Self { due_at: Some(due_at), failures: self.failures.min(failures), note, ..next })
    }
}

//! One call of a function with continued work: is it due, make a pass, arm the next one.
//!
//! The rules are those of [`model::pulse`]; here they meet ledger and queue.

use futures_util::future::try_join;
use jiff::Timestamp;
use model::{
    Function,
    ledger::{Counters, Head, WriteOutcome},
    message::{Delivery, Message},
    pulse::{PassEnd, Pulse, Signal},
};
use ports::{Adapters, Clock as _, Fault, Invocation, Ledger as _, Mailbox, PortError};

use crate::{
    Report,
    error::{Error, story},
    recorder::Recorder,
};

/// How often the pulse is read again when others write it: each of them arms it, so that one more round
/// is seldom needed.
const ARM_ATTEMPTS_MAX: u32 = 8;
/// Seconds until a pass that failed as a whole is made again, at first and at most.
const FAILED_SECONDS: (u64, u64) = (2, 60);

/// The pulse of a function, and where it beats.
pub(crate) struct Beating<'a, A: Adapters> {
    pub(crate) function: Function,
    pub(crate) ledger: &'a A::Ledger,
    pub(crate) mailbox: &'a A::Mailbox,
    pub(crate) clock: &'a A::Clock,
    /// Where the events of the pass are published.
    pub(crate) recorder: &'a Recorder<'a, A>,
}

/// What a pass starts from.
pub(crate) struct Start {
    /// The head, read before everything else.
    pub(crate) head: Head,
    /// What the pass before left.
    pub(crate) pulse: Pulse,
    /// Whether a call of the API server asks for the pass.
    pub(crate) is_called: bool,
    /// Whether the pass looks at everything, whatever this process saw last.
    pub(crate) is_anew: bool,
}

/// What a pass did, and when there is something to do again.
pub(crate) struct Pass {
    pub(crate) report: Report,
    pub(crate) end: PassEnd,
}

impl Pass {
    /// A whole pass that had read `read`.
    pub(crate) fn whole(report: Report, read: Counters, next_at: Option<Timestamp>) -> Self {
        Self { report, end: PassEnd { read: Some(read), next_at, note: None } }
    }
}

impl<A: Adapters> Beating<'_, A> {
    /// Makes a pass if `signal` is due and nothing else is in charge of the cluster, arms the pulse
    /// whatever became of it, and publishes the events of the pass. A pass that failed is made again, later each
    /// time; its error is returned for people to see: the message that comes again for it is stale.
    pub(crate) async fn call(
        &self,
        signal: Signal,
        at: &Invocation,
        pass: impl AsyncFnOnce(&Start) -> Result<Pass, Error>,
    ) -> Result<Report, Error> {
        let report = self.beat(signal, at, pass).await;
        self.recorder.publish(self.clock, at).await;
        report
    }

    async fn beat(
        &self,
        signal: Signal,
        at: &Invocation,
        pass: impl AsyncFnOnce(&Start) -> Result<Pass, Error>,
    ) -> Result<Report, Error> {
        let pulse = self.ledger.pulse(&at.cluster, self.function);
        let (head, mut pulse) = try_join(self.ledger.head(&at.cluster), pulse).await?;
        if !pulse.is_due(signal, head.counters, at.now) {
            return Ok(Report::default());
        }
        if let Some(reason) = head.objection(at.now) {
            // The schedule looks again.
            tracing::warn!(function = %self.function, reason, "nothing is done");
            return Ok(Report::default());
        }
        let is_anew = signal == Signal::Called { anew: true };
        pulse.note = pulse.note.filter(|_| !is_anew);
        let is_called = matches!(signal, Signal::Called { .. });
        let start = Start { head, pulse, is_called, is_anew };
        match pass(&start).await {
            Ok(Pass { report, end }) => {
                self.arm(&start.pulse, &end, at).await?;
                Ok(report)
            }
            Err(error) => {
                let (first, most) = FAILED_SECONDS;
                let exponent = start.pulse.failures.min(16);
                let seconds = first.saturating_mul(1 << exponent).min(most);
                let delay = jiff::SignedDuration::from_secs(seconds.cast_signed());
                let next_at = self.clock.now().checked_add(delay).ok();
                let end = PassEnd { read: None, next_at, note: start.pulse.note };
                self.arm(&start.pulse, &end, at).await?;
                Err(error)
            }
        }
    }

    async fn arm(&self, based_on: &Pulse, end: &PassEnd, at: &Invocation) -> Result<(), PortError> {
        let mut stored = *based_on;
        for _ in 0..ARM_ATTEMPTS_MAX {
            let now = self.clock.now();
            let Some(next) = stored.after(based_on.sequence, end, now) else { return Ok(()) };
            let (function, cluster) = (self.function, &at.cluster);
            let written = self.ledger.write_pulse(cluster, function, stored.sequence, &next);
            match written.await? {
                WriteOutcome::Written => {
                    let Some(due_at) = next.due_at else { return Ok(()) };
                    let signal = Signal::Beat(next.sequence);
                    let message = Message::Pulse { function, signal };
                    let delay_seconds = seconds_until(due_at, now);
                    let delivery = Delivery { cluster: cluster.clone(), message, delay_seconds };
                    return self.mailbox.send(&[delivery]).await;
                }
                WriteOutcome::Conflict => stored = self.ledger.pulse(cluster, function).await?,
            }
        }
        Err(PortError::new("arm a pulse", Fault::Conflict))
    }
}

/// Whole seconds until `time`, as queues count: never early.
pub(crate) fn seconds_until(time: Timestamp, now: Timestamp) -> u32 {
    let millis = time.duration_since(now).as_millis().max(0).cast_unsigned();
    u32::try_from(millis.div_ceil(1_000)).unwrap_or(u32::MAX)
}

/// Wakes `functions` after a commit that made the counters `counters`. A failure costs at most the minute of their
/// schedules, so that it is only logged.
pub(crate) async fn wake(
    mailbox: &impl Mailbox,
    functions: &[Function],
    counters: Counters,
    at: &Invocation,
) {
    let delivery = |function: &Function| Delivery {
        cluster: at.cluster.clone(),
        message: Message::Pulse { function: *function, signal: Signal::Wake(counters) },
        delay_seconds: 0,
    };
    let deliveries: Vec<Delivery> = functions.iter().map(delivery).collect();
    if let Err(error) = mailbox.send(&deliveries).await {
        tracing::warn!(story = story(&error), "functions not woken: their schedules will");
    }
}

//! Triggers: queues that deliver at least once, and the one-minute schedules.
//!
//! The driver takes what is due and says how it ended; see [`crate::Runner`].

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClusterName, Function, InstanceId,
    duration::later,
    interruption::{Interruption, InterruptionKind},
    ledger::Guard,
    limits::MESSAGE_DELAY_SECONDS_MAX,
    message::Message,
    pulse::Signal,
    wake::AdmissionRequest,
};
use ports::Invocation;

use crate::{
    Sim,
    chance::Span,
    delivery::{DeliveryOutcome, FunctionCall, Payload},
    limits::{FunctionTable, RECURSIVE_INVOCATIONS_MAX, RecursiveLoop},
    settings::WorldSettings,
    world::{Event, World},
};

/// Between a send and the earliest delivery of a queue.
const QUEUE_LATENCY: Span = Span::from_millis(20, 200);
/// Between an event of EC2 and its message in the queue.
const EVENT_LATENCY: Span = Span::from_millis(300, 2_000);
/// How long Lambda gathers messages of the queue `interruption` for one call.
const INTERRUPTION_WINDOW: SignedDuration = SignedDuration::from_secs(1);
/// How often a schedule looks whether what was there before is adopted.
const ADOPTION_POLL: SignedDuration = SignedDuration::from_secs(1);
/// Messages of the queue `interruption` in one call.
const INTERRUPTIONS_MAX: usize = 1_000;

/// A message in a queue.
#[derive(Clone, Debug)]
struct Envelope {
    identity: String,
    function: Function,
    cluster: ClusterName,
    payload: Payload,
    receives: u32,
    /// How often the chain that it belongs to came to each function so far.
    lineage: BTreeMap<Function, u32>,
    /// When it was taken last.
    taken_at: Timestamp,
}

/// A message or batch that failed too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub function: Function,
    /// What.
    pub payload: Payload,
}

/// Everything on its way.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    sequence: u64,
    deliveries: u64,
    queue: BTreeMap<(Timestamp, u64), Envelope>,
    in_flight: BTreeMap<u64, Envelope>,
    /// Functions whose schedules do not come round any more.
    unscheduled: BTreeSet<Function>,
    /// Whether schedules wait for what was there before the start to be adopted.
    awaits_adoption: bool,
    pub(crate) dead: Vec<DeadLetter>,
}

impl Mail {
    fn next_number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// When the next delivery is due, if there is one to come for which `functions` have room.
    pub(crate) fn next_at(&self, functions: &FunctionTable) -> Option<Timestamp> {
        let mut queued =
            self.queue.iter().filter(|(_, envelope)| self.has_room(functions, envelope.function));
        queued.next().map(|((at, _), _)| *at)
    }

    /// Whether one more invocation of `function` may begin.
    fn has_room(&self, functions: &FunctionTable, function: Function) -> bool {
        let Some(reserved) = functions.of(function).reserved_concurrency else { return true };
        let under_way = self.in_flight.values().filter(|envelope| envelope.function == function);
        under_way.count() < reserved
    }

    /// How often the chain of the delivery `id` came to each function, this time included.
    fn lineage(&self, id: u64) -> BTreeMap<Function, u32> {
        let Some(envelope) = self.in_flight.get(&id) else { return BTreeMap::new() };
        let mut lineage = envelope.lineage.clone();
        *lineage.entry(envelope.function).or_default() += 1;
        lineage
    }
}

impl Sim {
    /// EC2 tells EventBridge of an interruption, which brings it to the queue of `interrupt`. Nothing happens to the
    /// instance by this.
    pub fn announce(&self, kind: InterruptionKind, instance: InstanceId) {
        self.with(|world| world.announce(Interruption { kind, instance, at: world.now }));
    }
}

impl World {
    /// Puts messages of the functions into their queues.
    pub(crate) fn send(&mut self, deliveries: &[model::message::Delivery]) {
        for delivery in deliveries {
            // The adapter shortens what SQS would refuse.
            let delay = delivery.delay_seconds.min(MESSAGE_DELAY_SECONDS_MAX);
            let delay = SignedDuration::from_secs(i64::from(delay));
            let function = delivery.message.function();
            if let Some((_, sender)) = self.current {
                self.sent.entry(sender).or_default().insert(function);
            }
            let payload = Payload::Message(delivery.message.clone());
            self.enqueue(delivery.cluster.clone(), function, payload, (delay, QUEUE_LATENCY));
        }
    }

    /// Has Lambda call `function`, which has no queue.
    pub(crate) fn call(&mut self, cluster: &ClusterName, function: Function) {
        if let Some((_, sender)) = self.current {
            self.sent.entry(sender).or_default().insert(function);
        }
        let signal = Signal::Called { anew: true };
        let payload = Payload::Message(Message::Pulse { function, signal });
        let identity = format!("call-{}", self.mail.next_number());
        let delay = self.chances.mail.within(QUEUE_LATENCY);
        self.invoke((identity, delay), cluster.clone(), function, payload);
    }

    /// Tells the queue `interruption` what EC2 announces.
    pub(crate) fn announce(&mut self, event: Interruption) {
        let cluster = self.settings.cluster.clone();
        let payload = Payload::Interruptions(vec![event]);
        let delay = (INTERRUPTION_WINDOW, EVENT_LATENCY);
        self.enqueue(cluster, Function::Interrupt, payload, delay);
    }

    fn enqueue(
        &mut self,
        cluster: ClusterName,
        function: Function,
        payload: Payload,
        (delay, latency): (SignedDuration, Span),
    ) {
        let disorder = self.settings.disorder;
        let identity = format!("{function}-{}", self.mail.next_number());
        let lineage = self.current.map(|(id, _)| self.mail.lineage(id)).unwrap_or_default();
        let taken_at = self.now;
        let envelope =
            Envelope { identity, function, cluster, payload, receives: 0, lineage, taken_at };
        self.usage.meter.queued(function);
        let copies = if self.chances.mail.per_mille(disorder.duplicated_per_mille) { 2 } else { 1 };
        for _ in 0..copies {
            let mut at = later(later(self.now, delay), self.chances.mail.within(latency));
            if self.chances.mail.per_mille(disorder.held_back_per_mille) {
                let span = Span { min: SignedDuration::ZERO, max: disorder.held_back_max };
                at = later(at, self.chances.mail.within(span));
            }
            let number = self.mail.next_number();
            self.mail.queue.insert((at, number), envelope.clone());
        }
    }

    /// The schedule of `function` does not come round any more.
    pub(crate) fn stop_schedule(&mut self, function: Function) {
        self.mail.unscheduled.insert(function);
    }

    /// A schedule comes round, now and a minute later.
    pub(crate) fn schedule(&mut self, function: Function) {
        if self.mail.unscheduled.contains(&function) {
            return;
        }
        if function != Function::Sweep && self.awaits_adoption() {
            return self.after(ADOPTION_POLL, Event::Schedule(function));
        }
        self.call_by_schedule(function);
        self.after(SignedDuration::from_mins(1), Event::Schedule(function));
    }

    /// What was there before the start is adopted as where a ledger is opened, before anything is decided; but at once, as
    /// if that had been done long ago.
    pub(crate) fn await_adoption(&mut self) {
        let WorldSettings { has_schedules, ledger_is_open, start, ref cluster, .. } = self.settings;
        let is_start = has_schedules && ledger_is_open && self.now == start;
        if !is_start || self.mail.awaits_adoption {
            return;
        }
        let cluster = cluster.clone();
        let ledger = self.ledger.cluster(&cluster).head.ledger.clone();
        if let Some(ledger) = ledger {
            self.ledger.put_guard(&cluster, &ledger, &Guard::Unchecked);
            self.mail.awaits_adoption = true;
            self.call_by_schedule(Function::Sweep);
        }
    }

    /// Whether it is still waited for.
    fn awaits_adoption(&mut self) -> bool {
        if self.mail.awaits_adoption {
            let guard = &self.ledger.cluster(&self.settings.cluster).head.guard;
            self.mail.awaits_adoption = *guard == Guard::Unchecked;
        }
        self.mail.awaits_adoption
    }

    /// Lets Lambda begin to run `wake` in `delay`, under an identity that [`World::wake_ended`] is given.
    pub(crate) fn invoke_wake(
        &mut self,
        request: AdmissionRequest,
        identified: (String, SignedDuration),
    ) {
        let cluster = self.settings.cluster.clone();
        self.invoke(identified, cluster, Function::Wake, Payload::Request(request));
    }

    /// Lets Lambda begin to run `function` in `delay`, once and as no part of a chain.
    fn invoke(
        &mut self,
        (identity, delay): (String, SignedDuration),
        cluster: ClusterName,
        function: Function,
        payload: Payload,
    ) {
        let (lineage, taken_at) = (BTreeMap::new(), self.now);
        let envelope =
            Envelope { identity, function, cluster, payload, receives: 0, lineage, taken_at };
        let number = self.mail.next_number();
        self.mail.queue.insert((later(self.now, delay), number), envelope);
    }

    fn call_by_schedule(&mut self, function: Function) {
        let number = self.mail.next_number();
        let envelope = Envelope {
            identity: format!("schedule-{number}"),
            function,
            cluster: self.settings.cluster.clone(),
            payload: Payload::Schedule,
            receives: 0,
            lineage: BTreeMap::new(),
            taken_at: self.now,
        };
        self.mail.queue.insert((self.now, number), envelope);
    }

    /// Drops what is due of chains that came back to their function too often.
    ///
    /// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>
    fn drop_recursive(&mut self) {
        let functions = &self.settings.limits.functions;
        let is_dropped = |envelope: &Envelope| {
            let times = envelope.lineage.get(&envelope.function).copied().unwrap_or_default();
            RECURSIVE_INVOCATIONS_MAX <= times
                && functions.of(envelope.function).recursive_loop == RecursiveLoop::Terminate
        };
        let due = self.mail.queue.range(..=(self.now, u64::MAX));
        let dropped: Vec<_> =
            due.filter(|(_, envelope)| is_dropped(envelope)).map(|(key, _)| *key).collect();
        for key in dropped {
            if let Some(Envelope { function, payload, .. }) = self.mail.queue.remove(&key) {
                self.usage.meter.recursion_ended(function);
                self.note(format_args!("Lambda ends the chain of {function} {payload}"));
                self.bury(function, payload);
            }
        }
    }

    /// Takes what is due first, if anything is.
    pub(crate) fn next_delivery(&mut self) -> Option<FunctionCall> {
        self.drop_recursive();
        let functions = &self.settings.limits.functions;
        let due = self.mail.queue.range(..=(self.now, u64::MAX));
        let mut due = due.filter(|(_, envelope)| self.mail.has_room(functions, envelope.function));
        let key = due.next().map(|(key, _)| *key)?;
        let mut envelope = self.mail.queue.remove(&key)?;
        self.mail.deliveries += 1;
        let id = self.mail.deliveries;
        envelope.receives += 1;
        envelope.taken_at = self.now;
        self.renumber(&mut envelope);
        self.gather_interruptions(&mut envelope);
        let delivery = self.delivery(
            id,
            envelope.function,
            envelope.payload.clone(),
            (envelope.identity.clone(), envelope.cluster.clone()),
        );
        self.mail.in_flight.insert(id, envelope);
        Some(delivery)
    }

    /// Makes every beat the newest one, if that is how the world is broken.
    fn renumber(&mut self, envelope: &mut Envelope) {
        let Payload::Message(Message::Pulse { function, signal: Signal::Beat(sequence) }) =
            &mut envelope.payload
        else {
            return;
        };
        if self.settings.sabotage.ignore_pulse_sequence {
            *sequence = self.ledger.cluster(&envelope.cluster).pulse(*function).sequence;
        }
    }

    /// What waits with an interruption comes with it.
    fn gather_interruptions(&mut self, envelope: &mut Envelope) {
        let Payload::Interruptions(events) = &mut envelope.payload else { return };
        // Each was in its queue a window before it is due.
        let until = later(self.now, INTERRUPTION_WINDOW);
        let waiting = self.mail.queue.range(..(until, u64::MAX));
        let is_alike = |waiting: &Envelope| {
            matches!(waiting.payload, Payload::Interruptions(_))
                && waiting.cluster == envelope.cluster
                && waiting.receives == 0
        };
        let keys: Vec<(Timestamp, u64)> = waiting
            .filter(|(_, waiting)| is_alike(waiting))
            .map(|(key, _)| *key)
            .take(INTERRUPTIONS_MAX.saturating_sub(events.len()))
            .collect();
        for key in keys {
            if let Some(Envelope { payload: Payload::Interruptions(more), .. }) =
                self.mail.queue.remove(&key)
            {
                events.extend(more);
            }
        }
    }

    fn delivery(
        &mut self,
        id: u64,
        function: Function,
        payload: Payload,
        (identity, cluster): (String, ClusterName),
    ) -> FunctionCall {
        let deadline = later(self.now, self.settings.limits.functions.of(function).timeout);
        self.usage.meter.began(id, function, self.now);
        let invocation = Invocation { id: identity, cluster, now: self.now, deadline };
        FunctionCall { id, function, payload, invocation }
    }

    /// Acknowledges a delivery, or lets it come again.
    pub(crate) fn finish(&mut self, id: u64, outcome: &DeliveryOutcome) {
        self.usage.meter.ended(id, self.now, *outcome == DeliveryOutcome::Crashed);
        let envelope = self.mail.in_flight.remove(&id);
        if let Some(envelope) = &envelope
            && envelope.function == Function::Wake
        {
            self.wake_ended(&envelope.identity);
        }
        if let Some(envelope) = envelope
            && *outcome != DeliveryOutcome::Done
            && !self.settings.sabotage.delete_before_arming
        {
            self.return_message(envelope);
        }
    }

    fn return_message(&mut self, envelope: Envelope) {
        let queue = self.settings.limits.functions.of(envelope.function).queue;
        let is_sent_once = matches!(envelope.payload, Payload::Schedule | Payload::Request(_));
        let Some(queue) = queue.filter(|_| !is_sent_once) else {
            // The template has Lambda try a scheduled call once: the next one comes in a minute. The API server calls
            // a webhook once.
            return;
        };
        // From when it was taken: SQS does not know how the function ended.
        let visible_at = later(envelope.taken_at, queue.visibility_timeout).max(self.now);
        let receives_max = self.settings.receives_max;
        if envelope.receives >= receives_max {
            self.bury(envelope.function, envelope.payload);
            return;
        }
        let number = self.mail.next_number();
        self.mail.queue.insert((visible_at, number), envelope);
    }

    fn bury(&mut self, function: Function, payload: Payload) {
        self.note(format_args!("{function} {payload} goes to the dead letters"));
        self.mail.dead.push(DeadLetter { at: self.now, function, payload });
    }
}

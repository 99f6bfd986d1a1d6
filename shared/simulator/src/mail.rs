//! Triggers: queues that deliver at least once, the ledger's stream, the one-minute schedules.
//!
//! The driver takes what is due and says how it ended; see [`crate::Runner`].

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClusterName, Function, NodeClaim, NodeClaimName, interruption::Interruption,
    limits::MESSAGE_DELAY_SECONDS_MAX,
};
use ports::Invocation;

use crate::{
    chance::Span,
    delivery::{DeliveryOutcome, FunctionCall, MinuteSchedule, Payload},
    later,
    limits::{FunctionTable, RECURSIVE_INVOCATIONS_MAX, RecursiveLoop},
    world::{Event, World},
};

/// Between a send and the earliest delivery of a queue.
const QUEUE_LATENCY: Span = Span::from_millis(20, 200);
/// Between a write and its record in the stream.
const STREAM_LATENCY: Span = Span::from_millis(100, 600);
/// Between an event of EC2 and its message in the queue.
const EVENT_LATENCY: Span = Span::from_millis(300, 2_000);
/// Records of one stream batch.
const STREAM_BATCH_MAX: usize = 100;
/// An asynchronous invocation is tried three times.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>
const SCHEDULE_RECEIVES_MAX: u32 = 3;
/// Between the first and the second try of an asynchronous invocation.
const SCHEDULE_RETRY_AFTER: SignedDuration = SignedDuration::from_mins(1);

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

/// The records of one cluster for one function, in the order of the writes.
#[derive(Debug)]
struct Stream {
    records: VecDeque<(Timestamp, u64, NodeClaimName)>,
    is_busy: bool,
    blocked_until: Timestamp,
    attempts: u32,
    /// Whether the first batch was delivered well once already.
    is_repeating: bool,
    batch_max: usize,
}

/// What is under way.
#[derive(Debug)]
enum InFlight {
    Message(Envelope),
    Batch { cluster: ClusterName, function: Function, count: usize },
}

/// Something that was given up after too many tries.
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
    streams: BTreeMap<(ClusterName, Function), Stream>,
    in_flight: BTreeMap<u64, InFlight>,
    pub(crate) dead: Vec<DeadLetter>,
}

impl Stream {
    fn new() -> Self {
        Self {
            records: VecDeque::new(),
            is_busy: false,
            blocked_until: Timestamp::MIN,
            attempts: 0,
            is_repeating: false,
            batch_max: STREAM_BATCH_MAX,
        }
    }

    fn due_at(&self) -> Option<Timestamp> {
        let (at, _, _) = self.records.front()?;
        (!self.is_busy).then(|| self.blocked_until.max(*at))
    }
}

impl Mail {
    fn next_number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// When the next delivery is due, if there is one to come for which `functions` have room.
    pub(crate) fn next_at(&self, functions: &FunctionTable) -> Option<Timestamp> {
        let queued =
            self.queue.iter().find(|(_, envelope)| self.has_room(functions, envelope.function));
        let queued = queued.map(|((at, _), _)| *at);
        let streams = self.streams.iter().filter(|((_, f), _)| self.has_room(functions, *f));
        streams.filter_map(|(_, stream)| stream.due_at()).chain(queued).min()
    }

    /// Whether one more invocation of `function` may begin.
    fn has_room(&self, functions: &FunctionTable, function: Function) -> bool {
        let Some(reserved) = functions.of(function).reserved_concurrency else { return true };
        let under_way =
            self.in_flight.values().filter(|in_flight| in_flight.function() == function);
        under_way.count() < reserved
    }

    /// How often the chain of the delivery `id` came to each function, this time included.
    fn lineage(&self, id: u64) -> BTreeMap<Function, u32> {
        let Some(InFlight::Message(envelope)) = self.in_flight.get(&id) else {
            return BTreeMap::new();
        };
        let mut lineage = envelope.lineage.clone();
        *lineage.entry(envelope.function).or_default() += 1;
        lineage
    }
}

impl InFlight {
    const fn function(&self) -> Function {
        match self {
            Self::Message(envelope) => envelope.function,
            Self::Batch { function, .. } => *function,
        }
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

    /// Tells the queue `interruption` what EC2 announces.
    pub(crate) fn announce(&mut self, event: Interruption) {
        let cluster = self.settings.cluster.clone();
        let payload = Payload::Interruption(event);
        let delay = (SignedDuration::ZERO, EVENT_LATENCY);
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

    /// Puts a written item into the stream of `function`: a claim's, or the item of promised claims
    /// of which it is the first.
    pub(crate) fn stream(&mut self, cluster: &ClusterName, function: Function, claim: &NodeClaim) {
        let at = later(self.now, self.chances.mail.within(STREAM_LATENCY));
        let number = self.mail.next_number();
        let stream =
            self.mail.streams.entry((cluster.clone(), function)).or_insert_with(Stream::new);
        stream.records.push_back((at, number, claim.name.clone()));
    }

    /// A schedule comes round, now and a minute later.
    pub(crate) fn schedule(&mut self, schedule: MinuteSchedule) {
        let number = self.mail.next_number();
        let envelope = Envelope {
            identity: format!("schedule-{number}"),
            function: schedule.function(),
            cluster: self.settings.cluster.clone(),
            payload: Payload::Schedule(schedule),
            receives: 0,
            lineage: BTreeMap::new(),
            taken_at: self.now,
        };
        self.mail.queue.insert((self.now, number), envelope);
        self.after(SignedDuration::from_mins(1), Event::Schedule(schedule));
    }

    /// Takes what is due first, if anything is.
    pub(crate) fn next_delivery(&mut self) -> Option<FunctionCall> {
        self.drop_recursive();
        let now = self.now;
        let functions = &self.settings.limits.functions;
        let due = self.mail.queue.range(..=(now, u64::MAX));
        let mut due = due.filter(|(_, envelope)| self.mail.has_room(functions, envelope.function));
        let queued = due.next().map(|(key, _)| *key);
        let streams = self.mail.streams.iter();
        let streams = streams.filter(|((_, f), _)| self.mail.has_room(functions, *f));
        let streamed = streams
            .filter_map(|(key, stream)| Some((stream.due_at().filter(|at| *at <= now)?, key)))
            .min()
            .map(|(at, key)| (at, key.clone()));
        self.mail.deliveries += 1;
        let id = self.mail.deliveries;
        match (queued, streamed) {
            (queued, Some((at, key))) if queued.is_none_or(|(queued, _)| at < queued) => {
                self.take_batch(id, key)
            }
            (Some(key), _) => self.take_message(id, key),
            (None, _) => {
                self.mail.deliveries -= 1;
                None
            }
        }
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

    fn take_message(&mut self, id: u64, key: (Timestamp, u64)) -> Option<FunctionCall> {
        let mut envelope = self.mail.queue.remove(&key)?;
        envelope.receives += 1;
        envelope.taken_at = self.now;
        let delivery = self.delivery(
            id,
            envelope.function,
            envelope.payload.clone(),
            (envelope.identity.clone(), envelope.cluster.clone()),
        );
        self.mail.in_flight.insert(id, InFlight::Message(envelope));
        Some(delivery)
    }

    fn take_batch(&mut self, id: u64, key: (ClusterName, Function)) -> Option<FunctionCall> {
        let now = self.now;
        let stream = self.mail.streams.get_mut(&key)?;
        let (cluster, function) = key;
        let due = stream.records.iter().take_while(|(at, _, _)| *at <= now);
        let batch: Vec<&(Timestamp, u64, NodeClaimName)> = due.take(stream.batch_max).collect();
        let (_, first, _) = batch.first()?;
        let identity = format!("stream-{function}-{first}-{}", batch.len());
        let count = batch.len();
        let claims = batch.into_iter().map(|(_, _, name)| name.clone()).collect();
        stream.is_busy = true;
        let payload = Payload::Claims(claims);
        self.mail
            .in_flight
            .insert(id, InFlight::Batch { cluster: cluster.clone(), function, count });
        Some(self.delivery(id, function, payload, (identity, cluster)))
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
        match self.mail.in_flight.remove(&id) {
            Some(InFlight::Message(envelope)) if *outcome != DeliveryOutcome::Done => {
                self.return_message(envelope);
            }
            Some(InFlight::Batch { cluster, function, count }) => {
                self.finish_batch(&(cluster, function), count, outcome);
            }
            Some(InFlight::Message(_)) | None => {}
        }
    }

    fn return_message(&mut self, envelope: Envelope) {
        let is_schedule = matches!(envelope.payload, Payload::Schedule(_));
        let queue = self.settings.limits.functions.of(envelope.function).queue;
        let (receives_max, visible_at) = match queue {
            Some(queue) if !is_schedule => {
                // From when it was taken: SQS does not know how the function ended.
                let visible_at = later(envelope.taken_at, queue.visibility_timeout);
                (self.settings.receives_max, visible_at.max(self.now))
            }
            _ => (SCHEDULE_RECEIVES_MAX, later(self.now, SCHEDULE_RETRY_AFTER)),
        };
        if envelope.receives >= receives_max {
            self.bury(envelope.function, envelope.payload);
            return;
        }
        let number = self.mail.next_number();
        self.mail.queue.insert((visible_at, number), envelope);
    }

    /// A batch that failed comes again, halved, before anything behind it.
    fn finish_batch(
        &mut self,
        key: &(ClusterName, Function),
        count: usize,
        outcome: &DeliveryOutcome,
    ) {
        let (now, function) = (self.now, key.1);
        let is_repeated = self.chances.mail.per_mille(self.settings.disorder.duplicated_per_mille);
        let retry_at = later(now, self.settings.stream_retry_after);
        let attempts_max = self.settings.stream_attempts_max;
        let Some(stream) = self.mail.streams.get_mut(key) else { return };
        stream.is_busy = false;
        if *outcome == DeliveryOutcome::Done {
            if is_repeated && !stream.is_repeating {
                stream.is_repeating = true;
            } else {
                stream.records.drain(..count.min(stream.records.len()));
                stream.is_repeating = false;
            }
            stream.attempts = 0;
            stream.batch_max = STREAM_BATCH_MAX;
            return;
        }
        stream.attempts += 1;
        stream.blocked_until = retry_at;
        stream.batch_max = count.div_ceil(2).max(1);
        if stream.attempts >= attempts_max {
            let records = stream.records.drain(..count.min(stream.records.len()));
            let claims = records.map(|(_, _, name)| name).collect();
            stream.attempts = 0;
            stream.batch_max = STREAM_BATCH_MAX;
            self.bury(function, Payload::Claims(claims));
        }
    }

    fn bury(&mut self, function: Function, payload: Payload) {
        self.note(format_args!("{function} {payload} goes to the dead letters"));
        self.mail.dead.push(DeadLetter { at: self.now, function, payload });
    }
}

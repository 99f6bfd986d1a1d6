//! Triggers: queues that deliver at least once, the ledger's stream, the one-minute schedules.
//!
//! The driver takes what is due and says how it ended; see [`crate::Runner`].

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use model::{ClusterName, Function, NodeClaim, NodeClaimName, interruption::Interruption};
use ports::Invocation;

use crate::{
    chance::Span,
    delivery::{DeliveryOutcome, FunctionCall, MinuteSchedule, Payload},
    later,
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

    /// When the next delivery is due, if there is one to come.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        let queued = self.queue.keys().next().map(|(at, _)| *at);
        self.streams.values().filter_map(Stream::due_at).chain(queued).min()
    }
}

impl World {
    /// Puts messages of the functions into their queues.
    pub(crate) fn send(&mut self, deliveries: &[model::message::Delivery]) {
        for delivery in deliveries {
            let delay = SignedDuration::from_secs(i64::from(delivery.delay_seconds));
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
        let envelope = Envelope { identity, function, cluster, payload, receives: 0 };
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
        };
        self.mail.queue.insert((self.now, number), envelope);
        self.after(SignedDuration::from_mins(1), Event::Schedule(schedule));
    }

    /// Takes what is due first, if anything is.
    pub(crate) fn next_delivery(&mut self) -> Option<FunctionCall> {
        let now = self.now;
        let queued = self.mail.queue.keys().next().map(|(at, _)| *at).filter(|at| *at <= now);
        let streams = self.mail.streams.iter();
        let streamed = streams
            .filter_map(|(key, stream)| Some((stream.due_at().filter(|at| *at <= now)?, key)))
            .min()
            .map(|(at, key)| (at, key.clone()));
        self.mail.deliveries += 1;
        let id = self.mail.deliveries;
        match (queued, streamed) {
            (queued, Some((at, key))) if queued.is_none_or(|queued| at < queued) => {
                self.take_batch(id, key)
            }
            (Some(_), _) => self.take_message(id),
            (None, _) => {
                self.mail.deliveries -= 1;
                None
            }
        }
    }

    fn take_message(&mut self, id: u64) -> Option<FunctionCall> {
        let (_, mut envelope) = self.mail.queue.pop_first()?;
        envelope.receives += 1;
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
        &self,
        id: u64,
        function: Function,
        payload: Payload,
        (identity, cluster): (String, ClusterName),
    ) -> FunctionCall {
        let deadline = later(self.now, self.settings.delivery_timeout);
        let invocation = Invocation { id: identity, cluster, now: self.now, deadline };
        FunctionCall { id, function, payload, invocation }
    }

    /// Acknowledges a delivery, or lets it come again.
    pub(crate) fn finish(&mut self, id: u64, outcome: &DeliveryOutcome) {
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
        let (receives_max, retry_after) = if is_schedule {
            (SCHEDULE_RECEIVES_MAX, SCHEDULE_RETRY_AFTER)
        } else {
            (self.settings.receives_max, self.settings.visibility_timeout)
        };
        if envelope.receives >= receives_max {
            self.bury(envelope.function, envelope.payload);
            return;
        }
        let number = self.mail.next_number();
        self.mail.queue.insert((later(self.now, retry_after), number), envelope);
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

//! One call of a function: what came is opened, read, handled, and answered for.
//!
//! Of a batch, whatever failed is named in the answer, so that only that is delivered again. What comes
//! after a failure is handled all the same. What comes when the time is nearly up is not begun: it is
//! delivered again.

use std::{cell::RefCell, pin::Pin, time::SystemTime};

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use model::wake::{AdmissionRequest, WAKE_KEY_VARIABLE};
use ports::Invocation;
use serde_json::{Value, json};
use tracing::{Instrument as _, info_span};

use crate::{
    Environment, Failure, Platform, Source, clock,
    envelope::{Envelope, Item, open},
    metrics::{self, Counts, Meter},
    otlp::Span,
    teller::Teller,
    trigger::Trigger,
};

mod url;

use url::Url;

/// What a handler leaves unused of its time, to answer within it.
const MARGIN: SignedDuration = SignedDuration::from_millis(500);

/// Serves calls of the function of `platform` until Lambda ends the process. `read` says what a delivery asks,
/// `handle` does it, one after the other.
pub async fn serve<T, R, H>(platform: &Platform, read: R, handle: H) -> anyhow::Result<()>
where
    T: Trigger,
    R: Fn(&Environment, &Source) -> Result<Option<T>, Failure>,
    H: AsyncFn(T, &Invocation) -> Result<(), handlers::Error>,
{
    let single = async |mut wanted: Vec<T>, at: &Invocation| match wanted.pop() {
        Some(wanted) => handle(wanted, at).await,
        None => Ok(()),
    };
    let environment = platform.environment();
    let server = Server { environment, read, handle: single, group_max: 1 };
    run(platform, async |event, call| server.answer(event, call).await).await
}

/// The same, but `handle` gets everything that came with a call at once, and it fails or succeeds
/// as a whole.
pub async fn serve_together<T, R, H>(platform: &Platform, read: R, handle: H) -> anyhow::Result<()>
where
    T: Trigger,
    R: Fn(&Environment, &Source) -> Result<Option<T>, Failure>,
    H: AsyncFn(Vec<T>, &Invocation) -> Result<(), handlers::Error>,
{
    let environment = platform.environment();
    let server = Server { environment, read, handle, group_max: usize::MAX };
    run(platform, async |event, call| server.answer(event, call).await).await
}

/// Serves calls of the URL of the function of `platform`. `handle` does what an AdmissionReview asks; however that ends,
/// and if it takes too long, the answer is the same.
pub async fn serve_url<H>(platform: &Platform, handle: H) -> anyhow::Result<()>
where
    H: AsyncFn(AdmissionRequest, &Invocation) -> Result<(), handlers::Error>,
{
    let environment = platform.environment();
    let key = environment.settings.wake_key.as_ref();
    let key = key.with_context(|| format!("{WAKE_KEY_VARIABLE} is required"))?;
    let url = Url { cluster: &environment.cluster, key, handle };
    run(platform, async |event, call| url.answer(event, call).await).await
}

/// Serves calls, each answered by `answered` together with what to count about it.
async fn run(
    platform: &Platform,
    answered: impl AsyncFn(Value, &Call<'_>) -> (Result<Value, Failure>, Counts),
) -> anyhow::Result<()> {
    let (function, environment) = (platform.function().as_str(), platform.environment());
    let meter = RefCell::new(Meter::default());
    let teller = Teller::new(environment.settings.metrics, platform.collector());
    let answer = async |event: LambdaEvent<Value>| -> Result<Value, Diagnostic> {
        let began_at = clock::now();
        let deadline = deadline(event.context.deadline(), began_at);
        let call = Call { request_id: &event.context.request_id, now: began_at, deadline };
        let span = info_span!("call", function, request_id = call.request_id);
        let (answer, counts) = answered(event.payload, &call).instrument(span).await;
        let cluster = &environment.cluster;
        let ended_at = clock::now();
        let times = (began_at, ended_at);
        let line = meter.borrow_mut().add(function, cluster, counts, times);
        if let Some(line) = line {
            metrics::write(&line);
        }
        let span = Span {
            cluster,
            function,
            request_id: call.request_id,
            trace: event.context.xray_trace_id.as_deref(),
            began_at,
            ended_at,
            has_failed: answer.is_err() || counts.failed > 0,
        };
        teller.tell(&platform.metrics().take(), &span).await;
        Ok(answer?)
    };
    lambda_runtime::run(service_fn(answer)).await.map_err(anyhow::Error::from_boxed)
}

/// When a call that `began_at` should end, by what the runtime was `told`. A deadline that has passed when
/// the call begins is none: `cargo lambda watch` tells a length there, which as a time is of 1970.
fn deadline(told: SystemTime, began_at: Timestamp) -> Timestamp {
    let told = Timestamp::try_from(told).unwrap_or(Timestamp::MAX);
    if told <= began_at { Timestamp::MAX } else { told.checked_sub(MARGIN).unwrap_or(told) }
}

/// What is the same for everything that came with one call.
struct Call<'a> {
    request_id: &'a str,
    now: Timestamp,
    deadline: Timestamp,
}

struct Server<'a, R, H> {
    environment: &'a Environment,
    read: R,
    handle: H,
    /// How many deliveries `handle` gets at once.
    group_max: usize,
}

impl<R, H> Server<'_, R, H> {
    /// The answer to one call, and what to count about it.
    async fn answer<T>(&self, event: Value, call: &Call<'_>) -> (Result<Value, Failure>, Counts)
    where
        T: Trigger,
        R: Fn(&Environment, &Source) -> Result<Option<T>, Failure>,
        H: AsyncFn(Vec<T>, &Invocation) -> Result<(), handlers::Error>,
    {
        let mut counts = Counts::default();
        let envelope = open(event, call.request_id);
        let (items, is_batch) = match envelope {
            Ok(Envelope::Batch(items)) => (items, true),
            Ok(Envelope::Single(item)) => (vec![item], false),
            Err(failure) => {
                counts = Counts { deliveries: 1, failed: 1, malformed: 1, ..counts };
                tracing::error!(story = failure.story, error_type = failure.kind, "call failed");
                return (Err(failure), counts);
            }
        };
        let failures = self.failures(&items, call, &mut counts).await;
        for item in items.iter().filter(|item| failures.iter().any(|(id, _)| *id == item.id)) {
            tell_if_stubborn(item);
        }
        if is_batch {
            let failed = items.iter().filter(|item| failures.iter().any(|(id, _)| *id == item.id));
            let failed: Vec<Value> =
                failed.map(|item| json!({"itemIdentifier": item.id})).collect();
            return (Ok(json!({"batchItemFailures": failed})), counts);
        }
        let failure = failures.into_iter().next();
        (failure.map_or(Ok(Value::Null), |(_, failure)| Err(failure)), counts)
    }

    /// Handles `items`, and brings those that failed.
    async fn failures<T>(
        &self,
        items: &[Item],
        call: &Call<'_>,
        counts: &mut Counts,
    ) -> Vec<(String, Failure)>
    where
        T: Trigger,
        R: Fn(&Environment, &Source) -> Result<Option<T>, Failure>,
        H: AsyncFn(Vec<T>, &Invocation) -> Result<(), handlers::Error>,
    {
        let mut failures: Vec<(String, Failure)> = Vec::new();
        let mut wanted: Vec<(String, T)> = Vec::new();
        for item in items {
            counts.deliveries += 1;
            match (self.read)(self.environment, &item.source) {
                Ok(Some(trigger)) => wanted.push((item.id.clone(), trigger)),
                Ok(None) => counts.ignored += 1,
                Err(failure) => {
                    counts.malformed += u64::from(failure.is_malformed());
                    tracing::error!(message_id = item.id, story = failure.story, "not readable");
                    failures.push((item.id.clone(), failure));
                }
            }
        }
        while !wanted.is_empty() {
            let rest = wanted.split_off(wanted.len().min(self.group_max));
            let (ids, group): (Vec<String>, Vec<T>) = wanted.into_iter().unzip();
            wanted = rest;
            let beats = group.iter().filter(|trigger| trigger.is_beat()).count();
            match self.handle_group(&ids, group, call).await {
                Ok(()) => counts.beats += u64::try_from(beats).unwrap_or(u64::MAX),
                Err(failure) => failures.extend(ids.into_iter().map(|id| (id, failure.clone()))),
            }
        }
        counts.failed += u64::try_from(failures.len()).unwrap_or(u64::MAX);
        failures
    }

    async fn handle_group<T>(
        &self,
        ids: &[String],
        group: Vec<T>,
        call: &Call<'_>,
    ) -> Result<(), Failure>
    where
        H: AsyncFn(Vec<T>, &Invocation) -> Result<(), handlers::Error>,
    {
        // The same when it is delivered again.
        let id = ids.first().cloned().unwrap_or_default();
        let cluster = self.environment.cluster.clone();
        let span = info_span!("delivery", message_id = id, %cluster);
        let at = Invocation { id, cluster, now: call.now, deadline: call.deadline };
        // Behind a pointer, so that the compiler does not have to see through everything from
        // Lambda's loop down to the SDKs at once: that is deeper than it goes.
        let handled: Pin<Box<dyn Future<Output = _>>> = Box::pin((self.handle)(group, &at));
        let handled = handled.instrument(span.clone()).await;
        handled.map_err(Failure::from).inspect_err(|failure| {
            let Failure { kind, story } = failure;
            span.in_scope(|| tracing::warn!(error_type = kind, story, "delivery failed"));
        })
    }
}

/// From this number of deliveries on, a failing message is logged with its content: soon it goes to
/// its dead-letter queue, where no function reads it.
const STUBBORN_DELIVERIES: u32 = 3;
/// Characters of a message that are told.
const TOLD_CHARS: usize = 1_000;

/// Tells what a message says that fails again and again.
fn tell_if_stubborn(item: &Item) {
    if let Source::Message(body) = &item.source
        && STUBBORN_DELIVERIES <= item.deliveries
    {
        let body: String = body.chars().take(TOLD_CHARS).collect();
        let (id, deliveries) = (&item.id, item.deliveries);
        tracing::error!(message_id = id, deliveries, body, "message fails again and again");
    }
}

#[cfg(test)]
mod tests;

//! Paying for a call: the requests that it sends take tokens, are counted, and take time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Function,
    duration::{doubled, later},
    limits::requests::table_pauses,
};
use ports::{Fault, PortError};

use super::{
    ApiAction, ApiService, Load, RequestLimits, TokenBucket,
    bucket::Buckets,
    costs::{self, Requests},
};
use crate::{Sim, chance::Span, meter::Meter, world::World};

const READ: (ApiAction, &str) = (ApiAction::dynamodb("partition"), "read units");
const FUNCTION_URL: ApiAction =
    ApiAction { service: ApiService::Lambda, name: "InvokeFunctionUrl" };
const WRITE: (ApiAction, &str) = (ApiAction::dynamodb("partition"), "write units");
/// The longest pause of an SDK between two tries.
/// <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>
const BACKOFF_SECONDS_MAX: i64 = 20;

/// What a function asks of an action: the subject that the call names, or else its items and others.
type Question = (Option<Function>, ApiAction, String);

/// What was used of the account so far, and what is left in its buckets.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) meter: Meter,
    buckets: Buckets,
    /// Until when a function's process keeps an answer.
    kept: BTreeMap<Question, Timestamp>,
}

impl Usage {
    /// Takes a token of the function URL of `wake`; `false` if none is there.
    pub(crate) fn takes_url_request(&mut self, bucket: TokenBucket, now: Timestamp) -> bool {
        self.buckets.take((FUNCTION_URL, "requests"), bucket, 1, now) == 1
    }
}

/// What a request is about to take.
enum Toll {
    /// Tokens of requests.
    Requests(Requests),
    /// Tokens of resources, all or none.
    Resources(ApiAction, u64),
    /// Capacity of the table's partition.
    Units(Load),
}

impl Toll {
    const fn action(&self) -> ApiAction {
        match self {
            Self::Requests(requests) => requests.action,
            Self::Resources(action, _) => *action,
            Self::Units(_) => ApiAction::dynamodb("partition"),
        }
    }

    /// How long the adapters wait at most after this number of `attempts`: one second, two, four …, or what the table has
    /// of its own. `None`: they do not send it again, because that was attempt `attempts_max`.
    fn pause_after(&self, attempts: u32, attempts_max: u32) -> Option<Span> {
        if let Self::Units(_) = self {
            let pause = table_pauses().nth(usize::try_from(attempts).ok()?.checked_sub(1)?)?;
            return Some(Span::from_millis(0, i64::try_from(pause.as_millis()).ok()?));
        }
        let most = doubled(1, attempts, BACKOFF_SECONDS_MAX).as_secs();
        (attempts < attempts_max).then(|| Span::from_secs(0, most))
    }
}

impl Sim {
    /// Pays for a call of `operation`, and says how long its requests take. A request that stays
    /// throttled fails the call as the adapters' SDKs do, before any effect.
    pub(crate) async fn pay(
        &self,
        operation: &'static str,
        subject: &str,
        load: Load,
    ) -> Result<SignedDuration, PortError> {
        let Some(mut sent) = costs::sent(operation, &load) else {
            self.with(|world| world.usage.meter.unknown(operation));
            return Ok(SignedDuration::ZERO);
        };
        for (action, kept_for) in sent.kept {
            sent.requests.retain(|requests| {
                requests.action.name != *action
                    || !self.with(|world| world.is_kept(requests.action, subject, &load, *kept_for))
            });
        }
        if !sent.kept.is_empty() && sent.requests.is_empty() {
            return Ok(SignedDuration::ZERO);
        }
        let attempts_max = self.with(|world| world.settings.limits.requests.attempts_max);
        let mut tolls = vec![Toll::Units(load)];
        for requests in &sent.requests {
            tolls.push(Toll::Requests(*requests));
            tolls.push(Toll::Resources(requests.action, load.items));
        }
        for mut toll in tolls {
            let mut attempts = 0;
            while !self.with(|world| world.take(&mut toll)) {
                attempts += 1;
                let longest = toll.pause_after(attempts, attempts_max);
                let Some(longest) = longest.filter(|_| !sent.is_sent_once) else {
                    return Err(throttled(operation, toll.action()));
                };
                let pause = self.with(|world| world.chances.requests.within(longest));
                self.wait_for(pause).await;
            }
        }
        if sent.is_over_the_wire {
            return Ok(SignedDuration::ZERO);
        }
        Ok(self.with(|world| {
            let latencies = world.settings.limits.latencies;
            let chance = &mut world.chances.requests;
            let took = sent.requests.iter().map(|requests| latencies.draw(*requests, chance));
            if sent.is_abreast {
                took.max().unwrap_or_default()
            } else {
                took.fold(SignedDuration::ZERO, SignedDuration::saturating_add)
            }
        }))
    }

    /// Lets `duration` pass for the caller.
    pub(crate) async fn wait_for(&self, duration: SignedDuration) {
        if duration > SignedDuration::ZERO {
            let until = self.with(|world| later(world.now, duration));
            self.wait_until(until).await;
        }
    }
}

impl World {
    /// Whether the function that asks now still keeps what `action` answered about `subject`; from now on it
    /// does for as long as `kept_for`.
    fn is_kept(
        &mut self,
        action: ApiAction,
        subject: &str,
        load: &Load,
        kept_for: SignedDuration,
    ) -> bool {
        let function = self.current.map(|(_, function)| function);
        let subject = if subject.is_empty() {
            format!("{} {}", load.items, load.others)
        } else {
            subject.to_owned()
        };
        let key = (function, action, subject);
        let until = self.usage.kept.get(&key);
        if until.is_some_and(|until| self.now < *until) {
            return true;
        }
        self.usage.kept.insert(key, later(self.now, kept_for));
        false
    }

    /// Takes what `toll` asks for; `false` when something of it is left to take.
    fn take(&mut self, toll: &mut Toll) -> bool {
        let (now, function) = (self.now, self.current.map(|(_, function)| function));
        let limits: &RequestLimits = &self.settings.limits.requests;
        let Usage { meter, buckets, .. } = &mut self.usage;
        match toll {
            Toll::Requests(Requests { action, count, objects, .. }) => {
                let taken = limits.of(*action).map_or(*count, |bucket| {
                    buckets.take((*action, "requests"), bucket, *count, now)
                });
                *count -= taken;
                meter.sent(function, *action, taken);
                if *count > 0 {
                    meter.throttled(function, *action);
                } else {
                    meter.listed(function, *action, *objects);
                }
                *count == 0
            }
            Toll::Resources(action, count) => {
                let Some(bucket) = limits.resources.get(action).copied() else { return true };
                let is_taken =
                    *count == 0 || buckets.take_all((*action, "resources"), bucket, *count, now);
                if !is_taken {
                    meter.throttled(function, *action);
                }
                is_taken
            }
            Toll::Units(load) => {
                let Some(table) = self.settings.limits.table else {
                    meter.units(function, load.read_units, load.write_units);
                    return true;
                };
                let read = per_second(table.read_units_per_second);
                let write = per_second(table.write_units_per_second);
                let is_taken = (load.read_units == 0
                    || buckets.owe(READ, read, load.read_units, now))
                    && (load.write_units == 0 || buckets.owe(WRITE, write, load.write_units, now));
                if is_taken {
                    meter.units(function, load.read_units, load.write_units);
                } else {
                    meter.throttled(function, READ.0);
                }
                is_taken
            }
        }
    }
}

const fn per_second(units: u32) -> TokenBucket {
    TokenBucket::new(units, units)
}

fn throttled(operation: &'static str, action: ApiAction) -> PortError {
    let why = format!("RequestLimitExceeded: {action}");
    PortError::because(operation, Fault::Transient, why)
}

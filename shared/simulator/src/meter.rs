//! What was used so far: requests by action, capacity of the table, messages, invocations.

pub mod bill;
pub mod prices;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::Function;

use crate::limits::{ApiAction, ApiService};

pub use bill::{ALARMS, Bill, BillLine, FixedCosts};

/// Requests to one action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCount {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were throttled; they are not among the others.
    pub throttled: u64,
    /// Objects that a list of the API server brought.
    pub objects: u64,
}

/// Invocations of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InvocationCount {
    /// Invocations that ended, however they did.
    pub invocations: u64,
    /// Milliseconds that they took together.
    pub millis: u64,
    /// The longest of them, in milliseconds.
    pub longest_millis: u64,
    /// Those that were ended at the function's time limit, or crashed.
    pub cut_off: u64,
    /// Messages that Lambda dropped because their chain came back too often.
    pub recursive_dropped: u64,
}

/// Capacity of the table, in request units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUnits {
    /// For reads.
    pub read: u64,
    /// For writes, those of the index among them.
    pub write: u64,
}

/// What was used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    requests: BTreeMap<(Option<Function>, ApiAction), RequestCount>,
    units: BTreeMap<Option<Function>, TableUnits>,
    invocations: BTreeMap<Function, InvocationCount>,
    messages: BTreeMap<Function, u64>,
    running: BTreeMap<u64, (Function, Timestamp)>,
    unknown: BTreeSet<&'static str>,
}

impl Meter {
    pub(crate) fn sent(&mut self, function: Option<Function>, action: ApiAction, count: u64) {
        if count > 0 {
            self.requests.entry((function, action)).or_default().answered += count;
        }
    }

    pub(crate) fn listed(&mut self, function: Option<Function>, action: ApiAction, objects: u64) {
        if action.service == ApiService::Kubernetes && objects > 0 {
            self.requests.entry((function, action)).or_default().objects += objects;
        }
    }

    pub(crate) fn throttled(&mut self, function: Option<Function>, action: ApiAction) {
        self.requests.entry((function, action)).or_default().throttled += 1;
    }

    /// Counts units of the table, for `function` or, with `None`, for other readers.
    pub fn units(&mut self, function: Option<Function>, read: u64, write: u64) {
        if read + write > 0 {
            let units = self.units.entry(function).or_default();
            units.read += read;
            units.write += write;
        }
    }

    pub(crate) fn unknown(&mut self, operation: &'static str) {
        self.unknown.insert(operation);
    }

    /// A message came into the queue of `function`.
    pub(crate) fn queued(&mut self, function: Function) {
        *self.messages.entry(function).or_default() += 1;
    }

    /// An invocation begins at `now`.
    pub fn began(&mut self, delivery: u64, function: Function, now: Timestamp) {
        self.running.insert(delivery, (function, now));
    }

    /// An invocation ends at `now`; one that never began is ignored.
    pub fn ended(&mut self, delivery: u64, now: Timestamp, is_cut_off: bool) {
        let Some((function, began_at)) = self.running.remove(&delivery) else { return };
        let taken: SignedDuration = now.duration_since(began_at);
        let millis = u64::try_from(taken.as_millis()).unwrap_or_default();
        let count = self.invocations.entry(function).or_default();
        count.invocations += 1;
        count.millis += millis;
        count.longest_millis = count.longest_millis.max(millis);
        count.cut_off += u64::from(is_cut_off);
    }

    /// An invocation of `function` took `took`.
    pub(crate) fn invoked(&mut self, function: Function, took: SignedDuration) {
        let count = self.invocations.entry(function).or_default();
        count.invocations += 1;
        count.millis += u64::try_from(took.as_millis()).unwrap_or_default();
    }

    pub(crate) fn recursion_ended(&mut self, function: Function) {
        self.invocations.entry(function).or_default().recursive_dropped += 1;
    }

    /// Requests by action, of all functions and of other callers.
    pub fn requests(&self) -> BTreeMap<ApiAction, RequestCount> {
        let mut summed: BTreeMap<ApiAction, RequestCount> = BTreeMap::new();
        for ((_, action), count) in &self.requests {
            let sum = summed.entry(*action).or_default();
            sum.answered += count.answered;
            sum.throttled += count.throttled;
            sum.objects += count.objects;
        }
        summed
    }

    /// Requests of `function`, by action.
    pub fn requests_of(&self, function: Function) -> BTreeMap<ApiAction, RequestCount> {
        let of_function = self.requests.iter().filter(|((caller, _), _)| *caller == Some(function));
        of_function.map(|((_, action), count)| (*action, *count)).collect()
    }

    /// Requests to `action` that were answered.
    pub fn answered(&self, action: ApiAction) -> u64 {
        let asked = self.requests.iter().filter(|((_, called), _)| *called == action);
        asked.map(|(_, count)| count.answered).sum()
    }

    /// Requests that were throttled, whatever they asked.
    pub fn throttled_requests(&self) -> u64 {
        self.requests.values().map(|count| count.throttled).sum()
    }

    /// Capacity of the table that was used.
    pub fn table_units(&self) -> TableUnits {
        self.units.values().fold(TableUnits::default(), |sum, units| TableUnits {
            read: sum.read + units.read,
            write: sum.write + units.write,
        })
    }

    /// Invocations by function.
    pub const fn invocations(&self) -> &BTreeMap<Function, InvocationCount> {
        &self.invocations
    }

    /// Messages that came into each function's queue.
    pub const fn messages(&self) -> &BTreeMap<Function, u64> {
        &self.messages
    }

    /// Calls of ports that the table of costs does not know: they cost nothing, which is a mistake in
    /// that table.
    pub const fn unknown_operations(&self) -> &BTreeSet<&'static str> {
        &self.unknown
    }

    /// What was used since `before` was taken of the same world. The longest invocations stay those of
    /// the whole run.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut since = self.clone();
        for (key, count) in &before.requests {
            let entry = since.requests.entry(*key).or_default();
            entry.answered -= count.answered;
            entry.throttled -= count.throttled;
            entry.objects -= count.objects;
        }
        for (function, units) in &before.units {
            let entry = since.units.entry(*function).or_default();
            entry.read -= units.read;
            entry.write -= units.write;
        }
        for (function, count) in &before.invocations {
            let entry = since.invocations.entry(*function).or_default();
            entry.invocations -= count.invocations;
            entry.millis -= count.millis;
            entry.cut_off -= count.cut_off;
            entry.recursive_dropped -= count.recursive_dropped;
        }
        for (function, count) in &before.messages {
            *since.messages.entry(*function).or_default() -= count;
        }
        since.requests.retain(|_, count| *count != RequestCount::default());
        since.messages.retain(|_, count| *count > 0);
        since
    }
}

//! Answers that hold for a while: a process asks once for all of its calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use aws_config::SdkConfig;
use aws_smithy_async::time::SharedTimeSource;
use jiff::SignedDuration;

/// Answers by what was asked, each for the same time. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Kept<K, V> {
    time: SharedTimeSource,
    holds_for: Duration,
    answers: Arc<Mutex<BTreeMap<K, (SystemTime, V)>>>,
}

impl<K: Ord + Clone, V: Clone> Kept<K, V> {
    pub(crate) fn new(config: &SdkConfig, kept_for: SignedDuration) -> Self {
        let time = config.time_source().unwrap_or_default();
        Self { time, holds_for: kept_for.unsigned_abs(), answers: Arc::default() }
    }

    /// What was answered about `key`, if that still holds, or else what `ask` brings. That is kept if
    /// `is_kept` says so; a failure is not.
    pub(crate) async fn or_ask<E>(
        &self,
        key: &K,
        is_kept: impl FnOnce(&V) -> bool,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        let value = ask.await?;
        if is_kept(&value) {
            self.put(key, &value);
        }
        Ok(value)
    }

    /// What was answered about `key`, if that still holds.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (answered_at, value) = answers.get(key)?;
        is_younger(*answered_at, self.holds_for, self.time.now()).then(|| value.clone())
    }

    /// Forgets what was answered about `key`, unless that is younger than `age`.
    pub(crate) fn forget_older(&self, key: &K, age: Duration) {
        let now = self.time.now();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|kept, (answered_at, _)| kept != key || is_younger(*answered_at, age, now));
    }

    /// The time, by the clock that says what holds.
    pub(crate) fn now(&self) -> SystemTime {
        self.time.now()
    }

    /// Keeps `value`, and forgets what holds no longer.
    pub(crate) fn put(&self, key: &K, value: &V) {
        let now = self.time.now();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (answered_at, _)| is_younger(*answered_at, self.holds_for, now));
        answers.insert(key.clone(), (now, value.clone()));
    }
}

/// A clock that was set back says nothing about age.
fn is_younger(answered_at: SystemTime, age_max: Duration, now: SystemTime) -> bool {
    now.duration_since(answered_at).is_ok_and(|age| age < age_max)
}

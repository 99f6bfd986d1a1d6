//! Answers that hold for some minutes: a process asks once for all of its calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use aws_config::SdkConfig;
use aws_smithy_async::time::SharedTimeSource;

/// How long an answer holds. What is kept here changes by an upgrade, a release of images or somebody's hand,
/// while looks come every few seconds or each minute.
///
/// Karpenter asks for security groups and images as often: `pkg/controllers/nodeclass/securitygroup.go`,
/// `pkg/controllers/nodeclass/ami.go` of the AWS provider.
pub(crate) const KEPT_FOR: Duration = Duration::from_mins(5);

/// Answers by what was asked. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Kept<K, V> {
    time: SharedTimeSource,
    answers: Arc<Mutex<BTreeMap<K, (SystemTime, V)>>>,
}

impl<K: Ord + Clone, V: Clone> Kept<K, V> {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        Self { time: config.time_source().unwrap_or_default(), answers: Arc::default() }
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

    fn get(&self, key: &K) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (answered_at, value) = answers.get(key)?;
        is_fresh(*answered_at, self.time.now()).then(|| value.clone())
    }

    /// Keeps `value`, and forgets what holds no longer.
    fn put(&self, key: &K, value: &V) {
        let now = self.time.now();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (answered_at, _)| is_fresh(*answered_at, now));
        answers.insert(key.clone(), (now, value.clone()));
    }
}

/// A clock that was set back says nothing about age.
fn is_fresh(answered_at: SystemTime, now: SystemTime) -> bool {
    now.duration_since(answered_at).is_ok_and(|age| age < KEPT_FOR)
}

//! What was counted and measured since it was taken last.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use jiff::SignedDuration;

use super::registry::{Metric, MetricKind};

/// A number in millionths: of a piece, a second, a byte, a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub i128);

impl Micros {
    /// A number of whole ones.
    pub fn whole(count: u64) -> Self {
        Self(i128::from(count) * 1_000_000)
    }
}

/// What a metric with certain labels came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Adds this number.
    Added(u64),
    /// So much at present.
    Is(Micros),
    /// Adds observations.
    Observed {
        /// How many.
        count: u64,
        /// Their sum.
        sum: Micros,
        /// How many are at most each bound of the metric and above the one before, and how many above the last.
        buckets: Vec<u64>,
    },
}

/// A reading, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Of which metric.
    pub metric: &'static Metric,
    /// The values of its labels, in their order.
    pub labels: Vec<String>,
    /// What it came to.
    pub reading: Reading,
}

/// Readings by the metric's name and its labels.
type Readings = BTreeMap<(&'static str, Vec<String>), (&'static Metric, Reading)>;

/// Gathers readings. Clones gather together.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    readings: Rc<RefCell<Readings>>,
}

impl Metrics {
    /// Counts one more.
    pub fn count(&self, metric: &'static Metric, labels: &[&str]) {
        self.put(metric, labels, |before| match before {
            Some(Reading::Added(count)) => Reading::Added(count.saturating_add(1)),
            _ => Reading::Added(1),
        });
    }

    /// Says what is at present.
    pub fn set(&self, metric: &'static Metric, labels: &[&str], value: Micros) {
        self.put(metric, labels, |_| Reading::Is(value));
    }

    /// Adds an observation of a duration.
    pub fn observe(&self, metric: &'static Metric, labels: &[&str], duration: SignedDuration) {
        let MetricKind::Histogram(bounds) = metric.kind else { return };
        let seconds = duration.as_millis().max(0);
        let is_within = |bound: &u64| seconds <= i128::from(*bound) * 1_000;
        let place = bounds.iter().position(is_within).unwrap_or(bounds.len());
        self.put(metric, labels, |before| {
            let (mut count, mut sum, mut buckets) = match before {
                Some(Reading::Observed { count, sum, buckets }) => (count, sum, buckets),
                _ => (0, Micros::default(), vec![0; bounds.len() + 1]),
            };
            count += 1;
            sum.0 += seconds * 1_000;
            buckets.iter_mut().skip(place).take(1).for_each(|bucket| *bucket += 1);
            Reading::Observed { count, sum, buckets }
        });
    }

    /// Everything since the last time, by name and labels.
    pub fn take(&self) -> Vec<Sample> {
        let readings = std::mem::take(&mut *self.readings.borrow_mut());
        let sample = |((_, labels), (metric, reading))| Sample { metric, labels, reading };
        readings.into_iter().map(sample).collect()
    }

    fn put(
        &self,
        metric: &'static Metric,
        labels: &[&str],
        reading: impl FnOnce(Option<Reading>) -> Reading,
    ) {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let mut readings = self.readings.borrow_mut();
        let key = (metric.name, labels);
        let before = readings.remove(&key).map(|(_, reading)| reading);
        readings.insert(key, (metric, reading(before)));
    }
}

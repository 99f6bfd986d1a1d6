//! What is noted, with which labels.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::*;

#[test]
fn every_metric_is_listed_once_and_by_name() {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    for metric in METRICS {
        assert!(metric.name.starts_with("karpenter_"), "{}", metric.name);
        assert_eq!(metric.name.ends_with("_total"), is_counter(metric), "{}", metric.name);
        assert!(metric.meaning.ends_with('.'), "{}", metric.name);
    }
    let declared = METRICS.iter().filter(|metric| metric.is_declared).count();
    // With `Beats` and `FailedDeliveries`, at 30 cents each: below two dollars a month.
    assert_eq!(declared, 4);
}

/// What NodePools cost is called a total by Karpenter, and goes down as well.
fn is_counter(metric: &Metric) -> bool {
    metric.kind == MetricKind::Counter || metric.name == "karpenter_nodepools_cost_total"
}

#[test]
fn what_is_counted_is_handed_over_once() {
    let metrics = Metrics::default();
    let elsewhere = metrics.clone();
    metrics.count(&registry::NODES_DRAINED, &["general"]);
    elsewhere.count(&registry::NODES_DRAINED, &["general"]);
    elsewhere.count(&registry::NODES_DRAINED, &["other"]);
    let taken: Vec<_> =
        metrics.take().into_iter().map(|sample| (sample.labels, sample.reading)).collect();
    let added = |pool: &str, count| (vec![pool.to_owned()], Reading::Added(count));
    assert_eq!(taken, [added("general", 2), added("other", 1)]);
    assert_eq!(metrics.take(), Vec::new());
}

#[test]
fn a_duration_is_in_the_first_bucket_that_holds_it() {
    let metrics = Metrics::default();
    for millis in [-5, 0, 1_000, 1_001, 2_048_000, 2_048_001] {
        let duration = SignedDuration::from_millis(millis);
        metrics.observe(&registry::CLAIM_TERMINATION, &["general"], duration);
    }
    let Some(Reading::Observed { count, sum, buckets }) =
        metrics.take().pop().map(|sample| sample.reading)
    else {
        panic!("an observation")
    };
    assert_eq!((count, sum), (6, Micros(4_098_002_000)));
    assert_eq!((buckets[0], buckets[1], buckets[11], buckets[12]), (3, 1, 1, 1));
    assert_eq!(buckets.iter().sum::<u64>(), 6);
}

#[test]
fn messages_are_counted_by_karpenters_kinds() {
    let kinds = [
        InterruptionKind::SpotInterruption,
        InterruptionKind::ReservationInterruption,
        InterruptionKind::ScheduledChange,
        InterruptionKind::RebalanceRecommendation,
        InterruptionKind::CheckFailed,
        InterruptionKind::InstanceEnding,
    ];
    let names: BTreeSet<&str> = kinds.into_iter().map(message_type).collect();
    assert_eq!(names.len(), kinds.len());
    let metrics = Metrics::default();
    let interruption = |kind| Interruption {
        kind,
        instance: "i-0123456789abcdef0".parse().unwrap(),
        at: jiff::Timestamp::UNIX_EPOCH,
    };
    count_messages(&metrics, &kinds.map(interruption));
    assert_eq!(metrics.take().len(), kinds.len());
}

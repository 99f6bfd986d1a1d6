//! What is noted, with which labels.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::wake::{ProbeAnswer, WakeHealth};

use super::*;

#[test]
fn every_metric_is_listed_once_and_by_name() {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    for metric in METRICS {
        let is_karpenters = metric.name.starts_with("karpenter_");
        assert!(is_karpenters || metric.name.starts_with("journeyman_"), "{}", metric.name);
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
fn wake_is_healthy_if_every_node_pool_says_so() {
    let now = Timestamp::UNIX_EPOCH;
    let pool = |wake: Option<bool>| ObservedNodePool {
        pool: testkit::build::node_pool("general"),
        uid: "u1".to_owned(),
        generation: 1,
        wake: wake.map(|pods_not_pushed| WakeHealth {
            is_healthy: false,
            pods_not_pushed,
            since: now,
        }),
    };
    let noted = |pools: &[ObservedNodePool], finding: &WakeFinding| {
        let metrics = Metrics::default();
        note_wake(&metrics, pools, finding, now);
        metrics.take().pop().map(|sample| match sample.reading {
            Reading::Is(Micros(micros)) => micros / 1_000_000,
            other => panic!("{other:?}"),
        })
    };
    let answered = WakeFinding::Probed(ProbeAnswer::Answered);
    assert_eq!(noted(&[pool(None), pool(Some(false))], &answered), Some(1));
    assert_eq!(noted(&[pool(None), pool(Some(true))], &answered), Some(0));
    assert_eq!(noted(&[pool(None)], &WakeFinding::Probed(ProbeAnswer::Silent)), Some(0));
    assert_eq!(noted(&[pool(None)], &WakeFinding::Absent), None);
    assert_eq!(noted(&[], &answered), None);
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
        at: Timestamp::UNIX_EPOCH,
    };
    count_messages(&metrics, &kinds.map(interruption));
    assert_eq!(metrics.take().len(), kinds.len());
}

/// A claim whose instance runs, and whose node is called as it is where it joined.
fn claim(name: &str, has_joined: bool) -> NodeClaim {
    let now = Timestamp::UNIX_EPOCH;
    let text = |text: &str| text.to_owned();
    let (pool, class) = ("general".parse().unwrap(), "default".parse().unwrap());
    let mut claim =
        NodeClaim::created(name.parse().unwrap(), pool, class, "batch".parse().unwrap(), now);
    claim.labels.insert(text(model::labels::ARCH), text("arm64"));
    claim.allocatable.cpu = model::Millicores(3_920);
    claim.allocatable.memory = model::Bytes(1 << 30);
    claim.instance = Some(model::claim::LaunchedInstance {
        id: "i-0123456789abcdef0".parse().unwrap(),
        instance_type: "m7g.xlarge".parse().unwrap(),
        zone: "us-west-2a".parse().unwrap(),
        capacity_type: model::CapacityType::Spot,
        price: HourlyPrice::default(),
        image: None,
        launched_at: now,
    });
    claim.node = has_joined.then(|| name.parse().unwrap());
    claim
}

#[test]
fn each_node_says_what_pods_may_have_of_it() {
    let claims = [claim("a", true), claim("b", false)]
        .into_iter()
        .map(|claim| (claim.name.clone(), claim))
        .collect();
    let metrics = Metrics::default();
    note_claims(&metrics, &[], &Snapshot { claims, ..Snapshot::default() });
    let taken = metrics.take();
    let readings = taken.iter().map(|sample| {
        assert_eq!(sample.labels.len(), sample.metric.labels.len());
        (sample.metric.is_of_nodes(), sample.labels.join(","), sample.reading.clone())
    });
    let is = |resource: &str, amount| {
        let labels = format!("{resource},a,general,arm64,spot,m7g.xlarge,us-west-2a");
        (true, labels, Reading::Is(Micros(amount)))
    };
    let count = (false, String::new(), Reading::Is(Micros::whole(1)));
    let expected = [count, is("cpu", 3_920_000), is("memory", 1_073_741_824_000_000)];
    assert_eq!(readings.collect::<Vec<_>>(), expected);
}

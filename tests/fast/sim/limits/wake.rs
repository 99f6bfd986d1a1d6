//! How long a pod waits for its NodeClaim and for a request to EC2 in an idle cluster, with the function `wake` and
//! without it.

use expect_test::expect_file;
use handlers::Settings;
use jiff::{SignedDuration, Timestamp};
use simulator::{Chance, Happening, Latencies, Sim, Trace, WakeFaults, WorldSettings};
use tests::pages;

use super::fleet::fleet_in;

/// Worlds in which a pod comes to an idle cluster.
const WORLDS: u64 = 50;
/// Seconds after which no other pods are expected after a pod, with some to spare.
const QUIET: i64 = 660;
/// Karpenter sees a pod at once and launches after its batch window, in milliseconds.
///
/// <https://karpenter.sh/docs/reference/settings/>, `BATCH_IDLE_DURATION`
const KARPENTER: i128 = 1_000;
/// Of a NodeClaim that is not there: looking for it and for its NodePool, and making it.
const REQUESTS_TO_SHOW: i128 = 3;
/// Milliseconds within which a pod is answered whose call does not come: a beat, the batch window, and the work.
const POLLED: i128 = 8_000;

/// Milliseconds from kube-scheduler finding no node for a pod.
#[derive(Clone, Copy, Debug)]
struct Lag {
    /// To the NodeClaim object.
    shown: i128,
    /// To the request to EC2.
    requested: i128,
}

fn lag(seed: u64, wake: Option<WakeFaults>) -> Lag {
    let world = WorldSettings {
        wake,
        has_whole_seconds: true,
        trace: Trace::Dropped,
        ..WorldSettings::with_seed(seed)
    };
    let settings = Settings { has_wake: wake.is_some(), ..Settings::default() };
    let mut fleet = fleet_in(world, settings, 1);
    // The first launch of a class makes its launch templates.
    fleet.scale(1);
    fleet.pass(QUIET);
    let from = fleet.sim.timeline(0).len();
    let millis = Chance::new(seed).child("pod").below(60_000);
    fleet.pass_to(fleet.sim.now() + SignedDuration::from_millis(i64::try_from(millis).unwrap()));
    fleet.scale(2);
    let launched = |sim: &Sim| sim.timeline(from).iter().any(|event| is_launch(&event.happening));
    assert!(fleet.until(60, launched) < 60, "no launch");
    let (mut unschedulable, mut launched, mut claim) = (None, None, None);
    for event in fleet.sim.timeline(from) {
        match event.happening {
            Happening::PodUnschedulable { .. } => unschedulable = unschedulable.or(Some(event.at)),
            Happening::ClaimCreated { claim: name, .. } => claim = Some(name),
            Happening::InstanceLaunched { .. } => launched = Some(event.at),
            _ => {}
        }
    }
    // `settle` may have been called at the same time.
    fleet.pass(5);
    let object = fleet.sim.node_claim(&claim.unwrap()).unwrap();
    let since = |time: Timestamp| time.duration_since(unschedulable.unwrap()).as_millis();
    // The world has it at once, the API server after these requests.
    let made = Latencies::default().kubernetes_request.max.as_millis() * REQUESTS_TO_SHOW;
    Lag { shown: since(object.made_at) + made, requested: since(launched.unwrap()) }
}

const fn is_launch(happening: &Happening) -> bool {
    matches!(happening, Happening::InstanceLaunched { .. })
}

/// The lags of the worlds below `worlds`.
fn lags(worlds: u64, wake: Option<WakeFaults>) -> Vec<Lag> {
    let every_second = |first| (first..worlds).step_by(2).map(move |seed| lag(seed, wake));
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| every_second(1).collect::<Vec<_>>());
        let even: Vec<Lag> = every_second(0).collect();
        even.into_iter().chain(odd.join().unwrap()).collect()
    })
}

/// The median and the 99th percentile of what `part` takes from each of `lags`.
fn percentiles(lags: &[Lag], part: impl Fn(&Lag) -> i128) -> (i128, i128) {
    let mut millis: Vec<i128> = lags.iter().map(part).collect();
    millis.sort_unstable();
    let at = |percent: usize| {
        let place = (millis.len() * percent).div_ceil(100) - 1;
        *millis.get(place).expect("there are worlds")
    };
    (at(50), at(99))
}

#[test]
fn a_pod_waits_no_longer_with_a_dead_wake_than_without_wake() {
    let dead_from = WorldSettings::default().start + SignedDuration::from_secs(300);
    let dead = WakeFaults { dead_from: Some(dead_from), ..WakeFaults::NONE };
    for wake in [Some(dead), None] {
        let lags = lags(10, wake);
        assert!(lags.iter().all(|lag| lag.requested <= POLLED), "{wake:?}: {lags:?} ms");
    }
}

#[test]
fn a_pod_in_an_idle_cluster_waits_a_second_with_wake() {
    let (with, without) = (lags(WORLDS, Some(WakeFaults::NONE)), lags(WORLDS, None));
    let parts = [|lag: &Lag| lag.shown, |lag: &Lag| lag.requested];
    let [shown, requested] = parts.map(|part| percentiles(&with, part));
    for (half, most) in [shown, requested] {
        assert!(
            half <= 1_200 && most <= 2_500,
            "half within {half} ms, 99 of 100 within {most} ms"
        );
    }
    let [shown_without, requested_without] = parts.map(|part| percentiles(&without, part));
    assert!(shown.0 < shown_without.0 && requested.0 < requested_without.0);
    assert!(shown.1 < shown_without.1 && requested.1 < requested_without.1);
    let row = |name: &str, columns: [(i128, i128); 2]| {
        let [shown, requested] =
            columns.map(|(half, most)| format!("{} | {}", seconds(half), seconds(most)));
        format!("| {name} | {shown} | {requested} |\n")
    };
    let table = [
        "| | NodeClaim, median | 99th percentile | request to EC2, median | 99th percentile |\n\
         |---|---|---|---|---|\n"
            .to_owned(),
        row("with `wake`", [shown, requested]),
        row("without `wake`", [shown_without, requested_without]),
        format!(
            "| Karpenter: its batch window, after its watch | {0} and more | | {0} and more | |\n",
            seconds(KARPENTER)
        ),
    ];
    let page = include_str!("../../../../docs/architecture.md");
    let expected = pages::with_table(page, "latency", &table.concat());
    expect_file!["../../../../docs/architecture.md"].assert_eq(&expected);
}

/// Rounded up to a tenth.
fn seconds(millis: i128) -> String {
    let tenths = (millis + 99) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

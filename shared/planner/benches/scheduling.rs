//! Karpenter's own scheduling benchmark, on this planner: `cargo bench -p planner --bench scheduling`.
//!
//! The same pods, types and sizes (`pkg/controllers/provisioning/scheduling/scheduling_benchmark_test.go`):
//! one pool without requirements, 400 instance types, a fifth each of plain pods, zone spread, host
//! spread, zone affinity and host anti-affinity; and 4,000 pods with preferences that cannot all be
//! had. `pods_per_second` is what it measures there: placing the pods, by a scheduler that knows
//! types, pools and the pods' rules already (`preparing_us`), and without making NodeClaims of what
//! it found (`writing_us`). `whole_pods_per_second` is all of it, from facts to a plan. Unlike there,
//! every run starts anew instead of filling the nodes of the run before it.
//!
//! Numbers after `--` choose sizes: `cargo bench -p planner --bench scheduling -- 500 1000`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
mod build;
#[path = "support/measure.rs"]
mod measure;

use std::{sync::Arc, time::Duration};

use build::{affinity, facts, labels, listed, pending, spread};
use measure::{Cost, Dice, measure, price};
use model::{
    CapacityType, HourlyPrice, InstanceType, Offering, Pod, PodSpec, Requirements, labels as keys,
    policies::PreferencePolicy, topology::Weighted,
};
use testkit::build::resources;

const SIZES: [usize; 9] = [1, 50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000];
const TYPES: u64 = 400;
const PREFERENCE_PODS: usize = 4_000;

fn main() {
    let chosen: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let is_chosen = |size: &usize| chosen.is_empty() || chosen.contains(size);
    let mut dice = Dice::new(42);
    let mut before: Option<(usize, Duration)> = None;
    for size in SIZES {
        let pods = diverse(size, &mut dice);
        if !is_chosen(&size) {
            continue;
        }
        let time = run(pods, PreferencePolicy::Respect);
        if let Some((smaller, earlier)) = before.replace((size, time)) {
            let growth = per_thousand(time, earlier);
            let linear = size * 1_000 / smaller;
            println!("growth {smaller}→{size} pods: time ×{growth} (linear: ×{linear}), in ‰");
        }
    }
    if is_chosen(&PREFERENCE_PODS) {
        let pods = with_preferences(&mut dice);
        run(pods.clone(), PreferencePolicy::Respect);
        run(pods, PreferencePolicy::Ignore);
    }
}

fn per_thousand(time: Duration, earlier: Duration) -> u128 {
    (time.as_nanos() * 1_000).checked_div(earlier.as_nanos()).unwrap_or_default()
}

fn run(pods: Vec<Pod>, preferences: PreferencePolicy) -> Duration {
    let count = pods.len();
    let mut facts = facts((0..TYPES).map(fake_type).collect());
    facts.pods = pods;
    facts.policies.preferences = preferences;
    let cost = measure(&facts, 3);
    let Cost { preparing, solving, writing, memory_bytes, plan } = &cost;
    let (nodes, price, unplaced) = (plan.new_claims.len(), price(plan), plan.unplaced.len());
    println!(
        "n={count} policy={preferences:?} pods_per_second={} nodes={nodes} price={price} \
         peak_memory_bytes={memory_bytes} preparing_us={} solving_us={} writing_us={} \
         whole_pods_per_second={} unplaced={unplaced}",
        per_second(count, *solving),
        preparing.as_micros(),
        solving.as_micros(),
        writing.as_micros(),
        per_second(count, cost.whole()),
    );
    *solving
}

/// `fake-it-<i>` there: i + 1 CPUs with 2 GiB and 10 pods each.
fn fake_type(index: u64) -> Arc<InstanceType> {
    let cpu = index + 1;
    let name = format!("fake-it.{index}");
    let is_large = cpu > 4;
    let requirements: Requirements = [
        listed(keys::INSTANCE_TYPE, &[&name]),
        listed(keys::ARCH, &["amd64"]),
        listed(keys::OS, &["linux", "windows", "darwin"]),
        listed(keys::ZONE, &["test-zone-1", "test-zone-2", "test-zone-3"]),
        listed(keys::CAPACITY_TYPE, &["spot", "on-demand"]),
        listed("size", &[if is_large { "large" } else { "small" }]),
        listed("special", if is_large { &["optional"] } else { &[] }),
        listed("integer", &[&cpu.to_string()]),
    ]
    .into_iter()
    .collect();
    // 0.1 dollars for each CPU and each 10⁹ bytes, rounded half up.
    let price = HourlyPrice::from_nanos((cpu * 3_147_483_648 + 5) / 10);
    let offering = |capacity_type, zone: &str| Offering {
        zone: zone.parse().unwrap(),
        zone_id: None,
        capacity_type,
        price,
        is_available: true,
        reservation: None,
    };
    Arc::new(InstanceType {
        name: name.parse().unwrap(),
        requirements,
        capacity: resources(&format!("cpu={cpu} memory={}Gi pods={}", 2 * cpu, 10 * cpu)),
        overhead: resources("cpu=100m memory=10Mi"),
        offerings: vec![
            offering(CapacityType::Spot, "test-zone-1"),
            offering(CapacityType::Spot, "test-zone-2"),
            offering(CapacityType::OnDemand, "test-zone-1"),
            offering(CapacityType::OnDemand, "test-zone-2"),
            offering(CapacityType::OnDemand, "test-zone-3"),
        ],
    })
}

const LETTERS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn random_requests(dice: &mut Dice) -> model::Resources {
    let cpu = dice.one_of(&["100m", "250m", "500m", "1", "1500m"]);
    let memory = dice.one_of(&["100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"]);
    resources(&format!("cpu={cpu} memory={memory} pods=1"))
}

/// What a fifth of the pods is about.
#[derive(Clone, Copy)]
enum Part {
    Plain,
    Spread(&'static str),
    ZoneAffinity,
    HostAntiAffinity,
}

fn diverse(count: usize, dice: &mut Dice) -> Vec<Pod> {
    let parts = [
        Part::Plain,
        Part::Spread(keys::ZONE),
        Part::Spread(keys::HOSTNAME),
        Part::ZoneAffinity,
        Part::HostAntiAffinity,
    ];
    let fifth = parts.into_iter().flat_map(|part| std::iter::repeat_n(part, count / parts.len()));
    let enumerate = fifth.chain(std::iter::repeat(Part::Plain)).take(count).enumerate();
    enumerate
        .map(|(index, part)| pending(&format!("pod-{index}"), Arc::new(one(part, dice))))
        .collect()
}

fn one(part: Part, dice: &mut Dice) -> PodSpec {
    let mut spec = PodSpec::default();
    match part {
        Part::Plain => spec.labels = labels(&[("my-label", dice.one_of(&LETTERS))]),
        Part::Spread(key) => {
            spec.labels = labels(&[("my-label", dice.one_of(&LETTERS))]);
            spec.spread = vec![spread(key, ("my-label", dice.one_of(&LETTERS)), true)];
        }
        Part::ZoneAffinity => {
            let letter = dice.one_of(&LETTERS);
            spec.labels = labels(&[("my-affininity", letter)]);
            spec.pod_affinity.required = vec![affinity(keys::ZONE, ("my-affininity", letter))];
        }
        Part::HostAntiAffinity => {
            spec.labels = labels(&[("app", "nginx")]);
            spec.pod_anti_affinity.required = vec![affinity(keys::HOSTNAME, ("app", "nginx"))];
        }
    }
    spec.requests = random_requests(dice);
    spec
}

/// Pods that all preference for zone 1 and away from each other.
fn with_preferences(dice: &mut Dice) -> Vec<Pod> {
    let away = |weight, key| Weighted { weight, term: affinity(key, ("app", "nginx")) };
    let mut spec = PodSpec {
        labels: labels(&[("app", "nginx")]),
        requests: random_requests(dice),
        ..PodSpec::default()
    };
    let zone = Weighted { weight: 1, term: vec![listed(keys::ZONE, &["test-zone-1"])] };
    spec.preferred_terms = vec![zone];
    spec.pod_anti_affinity.preferred = vec![away(10, keys::ZONE), away(1, keys::HOSTNAME)];
    let make = |index| pending(&format!("pod-{index}"), Arc::new(spec.clone()));
    (0..PREFERENCE_PODS).map(make).collect()
}

/// `count` for each second of `time`.
fn per_second(count: usize, time: Duration) -> u128 {
    let count = u128::try_from(count).unwrap_or(u128::MAX);
    (count * 1_000_000_000).checked_div(time.as_nanos()).unwrap_or_default()
}

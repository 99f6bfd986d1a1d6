//! What a cluster costs in which nothing happens, and how long a pod waits for a request to EC2.

use expect_test::expect_file;
use jiff::SignedDuration;
use model::PodKey;
use simulator::{Action, Bill, Chance, Happening, MONTH_MILLIS, WorldSettings};
use tests::pages;

use super::fleet::fleet;

const PODS_PER_NODE: u32 = 10;
/// What is played of a month, in seconds.
const PLAYED: i64 = 600;

/// What a month of a number of nodes costs in which nothing happens, and how many objects the API server lists in it.
fn bill(nodes: u32) -> (Bill, u128) {
    let mut fleet = fleet(WorldSettings::default(), PODS_PER_NODE);
    fleet.grow(nodes, nodes * PODS_PER_NODE);
    // Until more pods are no longer expected.
    fleet.pass(900);
    let before = fleet.sim.meter();
    fleet.pass(PLAYED);
    let used = fleet.used_since(&before);
    let objects: u64 = used.requests().values().map(|count| count.objects).sum();
    let played = SignedDuration::from_secs(PLAYED);
    let millis = u128::try_from(played.as_millis()).expect("a length of time");
    (fleet.sim.bill(&used, played), u128::from(objects) * MONTH_MILLIS / millis)
}

/// What is wanted, in dollars, by nodes.
const WANTED: [(u32, u128); 3] = [(10, 5), (100, 7), (1_000, 15)];

/// `page` with the bill of each number of nodes between its marks.
fn with_bills(page: &str) -> String {
    WANTED.into_iter().fold(page.to_owned(), |page, (nodes, dollars)| {
        let (bill, objects) = bill(nodes);
        assert!(bill.nanos() < dollars * 1_000_000_000, "{nodes} nodes:\n{bill}");
        let listed = format!("{:<24} {objects:>16}", "Kubernetes objects read");
        let table = format!("```text\n{bill}\n\n{listed}\n```\n");
        pages::with_table(&page, &format!("{nodes} nodes"), &table)
    })
}

#[test]
fn the_page_says_what_idle_nodes_cost() {
    let page = include_str!("../../../../docs/cost.md");
    expect_file!["../../../../docs/cost.md"].assert_eq(&with_bills(page));
}

#[test]
fn a_pod_without_a_node_is_answered_within_seconds() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    let mut chance = Chance::new(11);
    let mut at = fleet.sim.now();
    let workload: PodKey = testkit::build::pod_key("web");
    for replicas in 1..=120 {
        let millis = i64::try_from(20_000 + chance.below(20_000)).unwrap();
        at = at.checked_add(SignedDuration::from_millis(millis)).expect("a time");
        fleet.sim.at(at, Action::Scale { workload: workload.clone(), replicas });
    }
    let from = fleet.sim.timeline(0).len();
    fleet.pass(120 * 40 + 60);
    let (mut waiting, mut lags) = (None, Vec::new());
    for event in fleet.sim.timeline(from) {
        match event.happening {
            Happening::PodUnschedulable { .. } => waiting = Some(event.at),
            Happening::InstanceLaunched { .. } => {
                lags.extend(waiting.take().map(|since| event.at.duration_since(since).as_millis()));
            }
            _ => {}
        }
    }
    lags.sort_unstable();
    assert_eq!(lags.len(), 120);
    // The second of 120 is the 99th percentile.
    let (half, most) = (lags[59], lags[118]);
    assert!(half <= 3_000 && most <= 8_000, "half within {half} ms, 99 of 100 within {most} ms");
}

//! What a cluster costs in which nothing happens, and how long a pod waits for a request to EC2.

use expect_test::expect_file;
use jiff::SignedDuration;
use model::PodKey;
use simulator::{Action, Bill, Chance, Happening, WorldSettings};
use tests::pages;

use super::fleet::fleet;

/// What a month of so many nodes costs in which nothing happens.
fn bill(nodes: u32) -> Bill {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(nodes, nodes);
    // Until more pods are no longer expected.
    fleet.pass(900);
    let before = fleet.sim.meter();
    fleet.pass(1_200);
    let used = fleet.used_since(&before);
    fleet.sim.bill(&used, SignedDuration::from_secs(1_200))
}

/// What is wanted, in dollars, by nodes.
const WANTED: [(u32, u128); 3] = [(10, 5), (100, 7), (1_000, 15)];

/// `page` with the bill of each number of nodes between its marks.
fn with_bills(page: &str) -> String {
    WANTED.into_iter().fold(page.to_owned(), |page, (nodes, dollars)| {
        let bill = bill(nodes);
        assert!(bill.nanos() < dollars * 1_000_000_000, "{nodes} nodes:\n{bill}");
        pages::with_table(&page, &format!("{nodes} nodes"), &format!("```text\n{bill}\n```\n"))
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

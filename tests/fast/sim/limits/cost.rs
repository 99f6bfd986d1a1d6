//! What a cluster costs in which nothing happens, and how long a pod waits for a request to EC2.

use expect_test::expect_file;
use handlers::Settings;
use jiff::SignedDuration;
use model::PodKey;
use simulator::{
    Action, Bill, Chance, Happening, MONTH_MILLIS, WakeFaults, WorldSettings, meter::bill::dollars,
};
use tests::pages;

use super::fleet::{fleet, fleet_in};

const PODS_PER_NODE: u32 = 10;
/// What is played of a month, in seconds.
const PLAYED: i64 = 600;

/// What a month of a number of nodes costs in which nothing happens, and how many objects the API server lists in it.
fn bill(nodes: u32, has_wake: bool) -> (Bill, u128) {
    let world =
        WorldSettings { wake: has_wake.then_some(WakeFaults::NONE), ..WorldSettings::default() };
    let mut fleet = fleet_in(world, Settings { has_wake, ..Settings::default() }, PODS_PER_NODE);
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

/// What is wanted, in cents, by nodes: without `wake` and with it.
const WANTED: [(u32, [u128; 2]); 3] = [(10, [500, 310]), (100, [700, 320]), (1_000, [1_500, 440])];

/// `page` with the bills of each number of nodes between its marks.
fn with_bills(page: &str) -> String {
    WANTED.into_iter().fold(page.to_owned(), |page, (nodes, wanted)| {
        let [without, with] = [false, true].map(|has_wake| bill(nodes, has_wake));
        for ((bill, _), cents) in [&without, &with].into_iter().zip(wanted) {
            assert!(
                bill.nanos() <= cents * 10_000_000,
                "{nodes} nodes, at most {cents} cents:\n{bill}"
            );
        }
        let table = format!("```text\n{}```\n", side_by_side(&without, &with));
        pages::with_table(&page, &format!("{nodes} nodes"), &table)
    })
}

/// The lines of two bills, and the objects that the API server lists.
fn side_by_side((first, listed): &(Bill, u128), (second, listed_too): &(Bill, u128)) -> String {
    let mut text = format!("{:<24} {:>27} {:>27}\n", "", "without wake", "with wake");
    let mut line = |name: &str, [first, second]: [(String, String); 2]| {
        let columns = [first, second].map(|(quantity, cost)| format!(" {quantity:>16} {cost:>10}"));
        text.push_str(format!("{name:<24}{}", columns.concat()).trim_end());
        text.push('\n');
    };
    for (first, second) in first.lines.iter().zip(&second.lines) {
        assert_eq!(first.name, second.name);
        line(
            first.name,
            [first, second].map(|line| (line.quantity.to_string(), dollars(line.nanos))),
        );
    }
    line("a month", [first, second].map(|bill| (String::new(), dollars(bill.nanos()))));
    line(
        "Kubernetes objects read",
        [listed, listed_too].map(|count| (count.to_string(), String::new())),
    );
    text
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

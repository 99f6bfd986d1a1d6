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

/// The bills of a number of nodes, without `wake` and with it, and the objects that the API server lists.
type Bills = (u32, [(Bill, u128); 2]);

/// Those of each number of nodes.
fn bills() -> Vec<Bills> {
    let of = |(nodes, wanted): (u32, [u128; 2])| {
        let bills = [false, true].map(|has_wake| bill(nodes, has_wake));
        for ((bill, _), cents) in bills.iter().zip(wanted) {
            assert!(
                bill.nanos() <= cents * 10_000_000,
                "{nodes} nodes, at most {cents} cents:\n{bill}"
            );
        }
        (nodes, bills)
    };
    WANTED.into_iter().map(of).collect()
}

/// A line for each position of the bills: what it costs for each number of nodes, without `wake` and with it.
fn prices(bills: &[Bills]) -> String {
    let line = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>13}")).collect();
        format!("{name:<24}{}\n", cells.concat())
    };
    let each: Vec<&Bill> = bills.iter().flat_map(|(_, [a, b])| [&a.0, &b.0]).collect();
    let heads = bills.iter().flat_map(|(nodes, _)| [format!("{nodes} nodes"), "with wake".into()]);
    let mut text = line("", heads.collect());
    let mut rows: Vec<_> = each.iter().map(|bill| bill.lines.iter()).collect();
    while let Some(of_bills) = rows.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>() {
        let name = of_bills.first().expect("a bill").name;
        assert!(of_bills.iter().all(|position| position.name == name), "{name}");
        text += &line(name, of_bills.iter().map(|position| dollars(position.nanos)).collect());
    }
    let sums = each.iter().map(|bill| dollars(bill.nanos())).collect();
    format!("```text\n{text}{}```\n", line("a month", sums))
}

/// The bills with their quantities.
fn quantities(bills: &[Bills]) -> String {
    let mut texts = Vec::new();
    for (nodes, bills) in bills {
        for ((bill, objects), wake) in bills.iter().zip(["without wake", "with wake"]) {
            let listed = format!("{:<24} {objects:>16}", "objects read");
            texts.push(format!("{nodes} nodes, {wake}\n{bill}\n{listed}\n\n"));
        }
    }
    texts.concat()
}

#[test]
fn the_page_says_what_idle_nodes_cost() {
    let bills = bills();
    let page = include_str!("../../../../docs/cost.md");
    let expected = pages::with_table(page, "bills", &prices(&bills));
    expect_file!["../../../../docs/cost.md"].assert_eq(&expected);
    expect_file!["bills.txt"].assert_eq(&quantities(&bills));
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

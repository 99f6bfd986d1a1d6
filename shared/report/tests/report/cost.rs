//! Who bears what nodes cost.

use report::cost::{By, Costs, Over, shares};

#[test]
fn pods_share_a_node_by_half_its_cpu_and_half_its_memory() {
    // Half of the CPU and a quarter of the memory, and a quarter of the CPU.
    let pods = [("shop/web", [2_000, 4]), ("shop/db", [1_000, 0])];
    let shares = shares([4_000, 16], pods);
    assert_eq!(shares["shop/web"], 375_000_000);
    assert_eq!(shares["shop/db"], 125_000_000);
    let mut costs = Costs::default();
    costs.add("general", 1_001, &shares);
    let row = |row: &report::cost::CostRow| (row.name.clone().unwrap_or_default(), row.cost);
    let by = |by| costs.rows(by).iter().map(row).collect::<Vec<_>>();
    assert_eq!(by(By::NodePool), [("general".to_owned(), 1_001)]);
    assert_eq!(by(By::Namespace), [("shop".to_owned(), 500), (String::new(), 501)]);
    let workloads = [("shop/web".to_owned(), 375), ("shop/db".to_owned(), 125)];
    assert_eq!(by(By::Workload), [&workloads[..], &[(String::new(), 501)]].concat());
    assert_eq!(costs.requested(), 500);
}

#[test]
fn pods_that_request_more_than_there_is_bear_no_more_than_the_node_costs() {
    let pods = [("a/a", [3_000, 3]), ("a/b", [3_000, 3])];
    let shares = shares([4_000, 4], pods);
    assert_eq!(shares.values().sum::<u128>(), 1_000_000_000);
    // Nothing is shared of what is not there.
    let nothing = report::cost::shares([0, 0], [("a/a", [0, 0])]);
    assert_eq!(nothing["a/a"], 0);
}

#[test]
fn every_sum_of_costs_is_the_total() {
    let mut costs = Costs::default();
    let mut total = 0;
    for number in 1..200_u64 {
        let names = [format!("n{}/w{number}", number % 7), format!("n{}/x", number % 5)];
        let pods = names.iter().map(|name| (name.as_str(), [number * 7, number * 3]));
        let nanos = u128::from(number) * 1_000_003;
        total += nanos;
        costs.add(&format!("pool-{}", number % 3), nanos, &shares([3_001, 1_009], pods));
    }
    assert_eq!(costs.total(), total);
    for by in By::ALL {
        assert_eq!(costs.rows(by).iter().map(|row| row.cost).sum::<u128>(), total, "{by:?}");
        // What a page has no row for is one row together.
        let bars = costs.bars(by, Over::Hour, 4);
        let shown: u64 = bars.iter().map(|bar| bar.share).sum();
        assert!((997..=1_003).contains(&shown), "{by:?}: {shown}");
    }
    assert_eq!(costs.bars(By::Workload, Over::Hour, 4).len(), 6);
}

#[test]
fn a_month_is_as_dear_as_the_time_that_was_looked_at() {
    let mut costs = Costs::default();
    costs.add("general", 2_000_000_000, &std::collections::BTreeMap::new());
    let month = |over| costs.bars(By::NodePool, over, 9)[0].cells[1].clone();
    assert_eq!(month(Over::Hour), "$1,460");
    assert_eq!(month(Over::Seconds(7_200)), "$730");
}

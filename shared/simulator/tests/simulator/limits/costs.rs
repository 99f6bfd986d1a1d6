//! What one call of a port costs over the wire: the one table that buckets and the meter share.

use simulator::limits::{costs::*, load::Load};

#[track_caller]
fn check(operation: &'static str, load: Load, expected: &[(&str, u64)]) {
    let sent = sent(operation, &load).unwrap();
    let actual: Vec<(&str, u64)> =
        sent.requests.iter().map(|requests| (requests.action.name, requests.count)).collect();
    assert_eq!(actual, expected, "{operation}");
}

#[test]
fn a_call_costs_its_pages() {
    check("Cluster.pods", Load::items(0), &[("list pods", 1)]);
    check("Cluster.pods", Load::items(501), &[("list pods", 2)]);
    check("Fleet.describe", Load::items(0), &[]);
    check("Fleet.describe", Load::items(1_000), &[("DescribeInstances", 5)]);
    let snapshot = Load { bytes: 2_500_000, ..Load::default() };
    check(
        "Ledger.snapshot",
        snapshot,
        &[
            ("GetItem", 1),
            ("Query", 3),
            ("Query", 1),
            ("Query", 1),
            ("Query", 1),
            ("Query", 1),
            ("Query", 1),
        ],
    );
}

#[test]
fn no_operation_stands_in_the_table_twice() {
    let mut operations: Vec<&str> = COSTS.iter().map(|cost| cost.operation).collect();
    let count = operations.len();
    operations.sort_unstable();
    operations.dedup();
    assert_eq!(operations.len(), count);
}

//! How many nodes of a pool may be disrupted at once.

use jiff::SignedDuration;
use model::{
    disruption::DisruptionReason,
    node_pool::{Budget, BudgetNodes, BudgetWindow},
};
use planner::disruption::budgets::allowed::*;

use crate::planner::support::{at, node_pool};

fn budget(nodes: BudgetNodes, reasons: &[DisruptionReason], schedule: Option<&str>) -> Budget {
    let window = schedule.map(|schedule| BudgetWindow {
        schedule: schedule.to_owned(),
        duration: SignedDuration::from_hours(1),
    });
    Budget { nodes, reasons: reasons.to_vec(), window }
}

/// Of nodes in a pool of 11, at 12:30 UTC.
#[track_caller]
fn check(budgets: &[Budget], allowed_nodes: Option<u64>) {
    let mut pool = node_pool("general");
    pool.disruption.budgets = budgets.to_vec();
    let now = at("2026-11-20T12:30:00Z");
    assert_eq!(allowed(&pool, DisruptionReason::Empty, 11, now), allowed_nodes);
}

#[test]
fn the_least_budget_that_applies_counts() {
    use BudgetNodes::{Count, Percent};
    use DisruptionReason::{Drifted, Empty};
    check(&[], None);
    check(&[budget(Percent(10), &[], None)], Some(2));
    check(&[budget(Percent(0), &[], None)], Some(0));
    check(&[budget(Count(5), &[], None), budget(Count(3), &[Empty], None)], Some(3));
    check(&[budget(Count(5), &[], None), budget(Count(3), &[Drifted], None)], Some(5));
    check(&[budget(Count(0), &[], Some("0 12 * * *"))], Some(0));
    check(&[budget(Count(0), &[], Some("0 9 * * *"))], None);
}

#[test]
fn a_schedule_that_cannot_be_read_allows_nothing() {
    check(&[budget(BudgetNodes::Count(0), &[DisruptionReason::Drifted], Some("daily"))], Some(0));
}

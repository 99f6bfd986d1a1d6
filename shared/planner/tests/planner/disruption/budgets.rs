//! What budgets leave (BU01–BU24).

mod allowed;

use jiff::{SignedDuration, Timestamp};
use model::{
    disruption::DisruptionReason,
    facts::Facts,
    labels,
    node_pool::{Budget, BudgetNodes, BudgetWindow},
};
use planner::disruption::{Options, budgets::*, nodes::State};

use crate::planner::support::cluster::*;

fn windowed(nodes: u32, reasons: &[DisruptionReason], schedule: Option<(&str, i64)>) -> Budget {
    let window = schedule.map(|(schedule, hours)| BudgetWindow {
        schedule: schedule.to_owned(),
        duration: SignedDuration::from_hours(hours),
    });
    Budget { nodes: BudgetNodes::Count(nodes), reasons: reasons.to_vec(), window }
}

/// What is left of ten nodes for being underutilized, empty and drifted.
#[track_caller]
fn check(facts: &Facts, at: &str, left: [Option<u64>; 3]) {
    let now: Timestamp = at.parse().unwrap();
    let state = State::of(facts, now, &Options::default());
    let reasons =
        [DisruptionReason::Underutilized, DisruptionReason::Empty, DisruptionReason::Drifted];
    let pool = &facts.node_pools[0].name;
    let numbers = reasons.map(|reason| Remaining::of(&state, reason).left(pool));
    assert_eq!(numbers, left, "{:?}", facts.node_pools[0].disruption.budgets);
}

fn ten(budgets: &[Budget]) -> Facts {
    let names: Vec<String> = (0..10).map(|index| format!("n{index}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "t.small")).collect();
    let mut facts = cluster(&nodes);
    facts.node_pools[0].disruption.budgets = budgets.to_vec();
    facts
}

const NOON: &str = "2026-01-01T12:00:00Z";

#[test]
fn each_reason_has_the_least_of_the_budgets_that_mean_it() {
    use DisruptionReason::{Drifted, Empty};
    check(&ten(&[]), NOON, [None; 3]);
    check(&ten(&[windowed(0, &[], None)]), NOON, [Some(0); 3]);
    let several =
        [windowed(8, &[], None), windowed(5, &[Drifted], None), windowed(3, &[Empty], None)];
    check(&ten(&several), NOON, [Some(8), Some(3), Some(5)]);
    let budgets = [windowed(4, &[Empty, Drifted], None)];
    check(&ten(&budgets), NOON, [None, Some(4), Some(4)]);
    check(&ten(&[budget(BudgetNodes::Percent(25))]), NOON, [Some(3); 3]);
    check(&ten(&[budget(BudgetNodes::Percent(30))]), NOON, [Some(3); 3]);
    check(&ten(&[budget(BudgetNodes::Percent(0))]), NOON, [Some(0); 3]);
}

#[test]
fn a_window_is_open_from_its_firing_on_in_utc() {
    let at = |schedule: &str, hours, at: &str, open: bool| {
        let left = if open { [Some(2); 3] } else { [None; 3] };
        check(&ten(&[windowed(2, &[], Some((schedule, hours)))]), at, left);
    };
    at("0 0 1 1 *", 24, NOON, true);
    at("@yearly", 24, "2026-01-02T00:00:01Z", false);
    at("0 6 * * *", 12, NOON, true);
    at("@daily", 48, NOON, true);
    // Sunday 06:30 for six hours, at the midnight after it.
    at("30 6 * * SUN", 6, "2026-01-05T00:00:00Z", false);
    at("0 12 * * *", 1, NOON, true);
    at("0 11 * * *", 1, NOON, false);
    let inactive = windowed(2, &[DisruptionReason::Empty], Some(("@yearly", 1)));
    check(&ten(&[inactive]), NOON, [None; 3]);
}

#[test]
fn a_budget_that_cannot_be_read_closes_its_pool_for_every_reason() {
    for schedule in ["0 0 * * 5-1", "daily", "* * *"] {
        let bad = windowed(9, &[DisruptionReason::Drifted], Some((schedule, 1)));
        check(&ten(&[bad, windowed(5, &[], None)]), NOON, [Some(0); 3]);
    }
}

#[test]
fn nodes_on_their_way_out_and_nodes_that_are_not_ready_are_spent() {
    let mut facts = ten(&[windowed(3, &[], None)]);
    check(&facts, NOON, [Some(3); 3]);
    node(&mut facts, "n0").is_ready = false;
    check(&facts, NOON, [Some(2); 3]);
    let deleted = claim(&mut facts, "n1");
    *deleted = deleted.deleted(model::DeletionReason::Expired, now());
    check(&facts, NOON, [Some(1); 3]);
    for name in ["n2", "n3", "n4"] {
        node(&mut facts, name).is_ready = false;
    }
    check(&facts, NOON, [Some(0); 3]);
}

#[test]
fn only_initialized_nodes_of_the_pool_that_stay_in_the_account_count() {
    let half = [budget(BudgetNodes::Percent(50))];
    let mut facts = ten(&half);
    check(&facts, NOON, [Some(5); 3]);
    add_node(&mut facts, crate::planner::support::node("other cpu=4"));
    check(&facts, NOON, [Some(5); 3]);
    node(&mut facts, "n0").labels.remove(labels::INITIALIZED);
    node(&mut facts, "n1").labels.remove(labels::INITIALIZED);
    check(&facts, NOON, [Some(4); 3]);
    for name in ["n2", "n3"] {
        claim(&mut facts, name).conditions.instance_terminating_since = Some(Timestamp::UNIX_EPOCH);
    }
    check(&facts, NOON, [Some(3); 3]);
}

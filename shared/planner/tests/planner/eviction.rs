//! What pods cost and what protects them (PC01–PC23).

use jiff::SignedDuration;
use model::{
    Namespace, Pod,
    eviction::{CountOrPercent, PodDisruptionBudget},
    labels,
    pod::PodPhase,
    policies::Policies,
};
use planner::eviction::*;

use crate::planner::support::cluster::*;

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

fn cost(pod: &Pod) -> i64 {
    eviction_cost(pod, &Policies::default())
}

#[test]
fn the_annotation_of_karpenters_own_goes_before_that_of_kubernetes() {
    let base = annotated(app("web", "a", "cpu=1"), COST, "1000");
    let costing = |text: &str| cost(&annotated(base.clone(), labels::DISRUPTION_COST, text));
    assert_eq!(cost(&base), COST_UNIT + 1_000);
    assert_eq!(costing("+5000"), COST_UNIT + 5_000);
    // What is no 32-bit integer says nothing, and hides the other one all the same.
    for text in ["", "1e3", "1.5", "+Inf", "2147483648", "0x10", " 1"] {
        assert_eq!(costing(text), COST_UNIT, "{text}");
    }
    // Where Karpenter writes deletion costs itself, they are no wish of anybody.
    let managed = Policies { pod_deletion_cost_management: true, ..Policies::default() };
    assert_eq!(eviction_cost(&base, &managed), COST_UNIT);
    let cheaper = annotated(base, labels::DISRUPTION_COST, "-7");
    assert_eq!(eviction_cost(&cheaper, &managed), COST_UNIT - 7);
}

#[test]
fn a_pod_costs_one_and_more_or_less_by_deletion_cost_and_priority() {
    let base = app("web", "a", "cpu=1");
    let costing = |text: &str| cost(&annotated(base.clone(), COST, text));
    let urgent = |priority| cost(&with(base.clone(), |spec| spec.priority = priority));
    assert_eq!(cost(&base), COST_UNIT);
    assert!(costing("100") > COST_UNIT && costing("-100") < COST_UNIT);
    assert!(costing("101") > costing("100"));
    assert!(urgent(1) > COST_UNIT && urgent(-1) < COST_UNIT);
    assert_eq!(costing("much"), COST_UNIT);
    assert_eq!(costing("-134217728"), 0);
    assert_eq!(costing("2147483647"), 10 * COST_UNIT);
    assert_eq!(urgent(2_000_000_000), 10 * COST_UNIT);
    assert_eq!(urgent(-2_000_000_000), -10 * COST_UNIT);
}

#[test]
fn a_node_costs_one_and_what_its_pods_cost_above_nothing() {
    let free = annotated(app("free", "a", "cpu=1"), COST, "-2147483647");
    let pods = [app("one", "a", "cpu=1"), free];
    assert_eq!(reschedule_cost(&pods, &Policies::default()), 2 * COST_UNIT.unsigned_abs());
    assert_eq!(reschedule_cost(&pods[1..], &Policies::default()), COST_UNIT.unsigned_abs());
}

#[test]
fn an_annotation_protects_for_good_or_for_a_while() {
    let protected = |text: &str, started: Option<i64>| {
        let pod = annotated(app("web", "a", "cpu=1"), labels::DO_NOT_DISRUPT, text);
        Pod { started_at: started.map(ago), ..pod }.is_protected(now())
    };
    assert!(!app("web", "a", "cpu=1").is_protected(now()));
    assert!(protected("true", Some(1)));
    for nothing in ["false", "soon", "0s", "-10m"] {
        assert!(!protected(nothing, Some(1)), "{nothing}");
    }
    assert!(protected("10m", Some(599)));
    assert!(!protected("10m", Some(600)));
    assert!(protected("10m", None));
    let ended = annotated(app("web", "a", "cpu=1"), labels::DO_NOT_DISRUPT, "true");
    assert!(!Pod { phase: PodPhase::Failed, ..ended }.is_protected(now()));
}

/// Whether a budget forbids it now, and whether for good.
#[track_caller]
fn check(budgets: &[PodDisruptionBudget], pod: &Pod, now_and_ever: (bool, bool)) {
    let mut facts = cluster(&[]);
    facts.surroundings.disruption_budgets = budgets.to_vec();
    let disruption_budgets = DisruptionBudgets::of(&facts);
    let entry = (
        disruption_budgets.objection(pod, now()).is_some(),
        disruption_budgets.blocks_for_good(pod, now()),
    );
    assert_eq!(entry, now_and_ever, "{budgets:?}");
}

#[test]
fn a_budget_holds_its_pods_and_unhealthy_ones_only_where_it_says_so() {
    let web = app("web", "a", "cpu=1");
    let ill = Pod { is_ready: false, ..web.clone() };
    let lenient = PodDisruptionBudget { always_allows_unhealthy: true, ..pdb("p", "web") };
    check(std::slice::from_ref(&lenient), &ill, (false, false));
    check(&[lenient], &web, (true, false));
    check(&[pdb("p", "web")], &ill, (true, false));
    check(&[], &web, (false, false));
    check(&[pdb("p", "other")], &web, (false, false));
    let open = PodDisruptionBudget { disruptions_allowed: 1, ..pdb("p", "web") };
    check(&[open], &web, (false, false));
    let mut elsewhere = pdb("p", "web");
    elsewhere.key.namespace = Namespace::new("other").unwrap();
    check(&[elsewhere], &web, (false, false));
    let none = PodDisruptionBudget { selector: None, ..pdb("p", "web") };
    check(&[none], &web, (false, false));
}

#[test]
fn a_budget_that_never_allows_anything_is_known_for_what_it_is() {
    use CountOrPercent::{Count, Percent};
    let web = app("web", "a", "cpu=1");
    let never = |max, min| PodDisruptionBudget {
        max_unavailable: max,
        min_available: min,
        ..pdb("p", "web")
    };
    check(&[never(None, Some(Percent(100)))], &web, (true, true));
    check(&[never(Some(Percent(0)), None)], &web, (true, true));
    check(&[never(Some(Count(0)), None)], &web, (true, true));
    check(&[never(Some(Count(1)), None)], &web, (true, false));
    let open = PodDisruptionBudget { disruptions_allowed: 1, ..pdb("p", "web") };
    check(&[open.clone(), open], &web, (true, true));
}

#[test]
fn only_pods_that_will_leave_get_a_new_place() {
    let mut facts = cluster(&[]);
    let never =
        PodDisruptionBudget { max_unavailable: Some(CountOrPercent::Count(0)), ..pdb("p", "held") };
    facts.surroundings.disruption_budgets = vec![never];
    let disruption_budgets = DisruptionBudgets::of(&facts);
    let web = app("web", "a", "cpu=1");
    assert!(disruption_budgets.may_move(&web, now()));
    assert!(!disruption_budgets.may_move(&app("held", "a", "cpu=1"), now()));
    assert!(
        !disruption_budgets
            .may_move(&annotated(web.clone(), labels::DO_NOT_DISRUPT, "true"), now())
    );
    assert!(!disruption_budgets.may_move(&owned(web.clone(), "apps/v1", "DaemonSet"), now()));
    assert!(!disruption_budgets.may_move(&owned(web.clone(), "v1", "Node"), now()));
    let going = Pod { deleted_at: Some(now() + SignedDuration::from_secs(30)), ..web };
    assert!(!disruption_budgets.may_move(&going, now()));
    assert!(disruption_budgets.may_move(&owned(going, "apps/v1", "StatefulSet"), now()));
}

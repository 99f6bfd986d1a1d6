//! The one reason that decides why a node is not disrupted.

use model::{NodeName, facts::Facts, node_pool::BudgetNodes};
use planner::disruption::{Options, outlook};

use crate::planner::support::cluster::*;

/// Checks the reason of node `name`, with its method.
#[track_caller]
fn check(facts: &Facts, name: &str, expected: &str) {
    let outlook = outlook(facts, &Options::default());
    let node = NodeName::new(name).unwrap();
    let decisive = outlook.decisive(&node, outlook.proposal());
    let text = decisive.map(|(method, said)| match method {
        Some(method) => format!("{method}: {said}"),
        None => said.to_string(),
    });
    assert_eq!(text.unwrap_or_default(), expected);
}

/// Two nodes of the smallest type with a pod each.
fn used() -> Facts {
    let mut facts = cluster(&[("a", "t.small"), ("b", "t.small")]);
    facts.pods = vec![app("on-a", "a", "cpu=1200m"), app("on-b", "b", "cpu=1200m")];
    facts
}

fn closed(mut facts: Facts) -> Facts {
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(0))];
    facts
}

fn drifted(mut facts: Facts) -> Facts {
    claim(&mut facts, "a").conditions.drifted = Some("NodePoolDrifted".to_owned());
    facts
}

/// What `method` says of a node whose NodePool has a budget of 0.
fn spent(method: &str, reason: &str) -> String {
    let budgets = format!("the disruption budgets of its NodePool for {reason}");
    format!("{method}: blocked by {budgets}: none may be disrupted now")
}

#[test]
fn methods_for_other_nodes_do_not_decide() {
    let mut idle = closed(used());
    idle.pods.clear();
    check(&idle, "a", &spent("emptiness", "Empty"));
    check(&closed(drifted(used())), "a", &spent("drift", "Drifted"));
    check(&closed(used()), "a", &spent("single-node-consolidation", "Underutilized"));
    let price = "no cheaper replacement: nothing below $0.2000 an hour fits its pods";
    check(&used(), "a", &format!("single-node-consolidation: {price}"));
    let mut fixed = used();
    fixed.node_pools[0].replicas = Some(2);
    let only = "NodePool general is static: only drift replaces its nodes";
    check(&fixed, "a", only);
}

#[test]
fn what_blocks_every_method_comes_before_methods() {
    let mut facts = drifted(used());
    let annotations = &mut node(&mut facts, "a").annotations;
    annotations.insert("karpenter.sh/do-not-disrupt".to_owned(), "true".to_owned());
    check(&facts, "a", "blocked by its annotation karpenter.sh/do-not-disrupt");
}

#[test]
fn a_node_that_a_later_method_would_disrupt_waits_for_the_node_that_is_disrupted_now() {
    let mut facts = drifted(used());
    check(&facts, "a", "");
    facts.pods.remove(1);
    // Drift disrupts `a`, and emptiness comes before: `b` is empty.
    check(&facts, "b", "");
    check(&facts, "a", "drift: b is disrupted first");
}

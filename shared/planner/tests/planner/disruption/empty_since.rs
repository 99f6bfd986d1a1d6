//! Which nodes may go for being empty, as the function `disrupt` sees it, and which stay.

use jiff::SignedDuration;
use model::{
    CommandId, DeletionReason, HourlyPrice, NodeClaim, NodeClaimName,
    disruption::DisruptionReason,
    facts::Facts,
    labels,
    node::Node,
    node_pool::{Budget, BudgetNodes},
};
use planner::disruption::{Finding, Options, look, observed, validated};

use crate::planner::support::*;

/// A pool with a node for each name, empty for an hour, `consolidateAfter` a minute, and no budget.
fn idle(names: &[&str]) -> Facts {
    let mut facts = facts(Vec::new());
    for name in names {
        let mut claim = add_managed(&mut facts, name);
        claim.empty_since = Some(ago(3_600));
        claim.conditions.last_pod_event_at = claim.empty_since;
        facts.ledger.claims.insert(claim.name.clone(), claim);
    }
    let disruption = &mut facts.node_pools[0].disruption;
    disruption.consolidate_after = Some(SignedDuration::from_mins(1));
    disruption.budgets.clear();
    facts
}

fn change(facts: &mut Facts, name: &str, change: impl FnOnce(&mut NodeClaim)) {
    let name: NodeClaimName = format!("claim-{name}").parse().unwrap();
    change(facts.ledger.claims.get_mut(&name).unwrap());
}

fn empty(facts: &Facts) -> Finding {
    look(facts, DisruptionReason::Empty, &Options::deployed())
}

fn names(facts: &Facts) -> Vec<String> {
    let candidates =
        empty(facts).command().cloned().into_iter().flat_map(|command| command.candidates);
    candidates.map(|claim| claim.to_string()).collect()
}

#[track_caller]
fn check(facts: &Facts, candidates: &[&str]) {
    assert_eq!(names(facts), candidates);
}

#[test]
fn emptiness_is_noted_and_forgotten() {
    let mut facts = idle(&["a", "b"]);
    change(&mut facts, "a", |claim| claim.empty_since = None);
    facts.pods = pods("web on:b cpu=1");
    let seen = observed(&facts);
    let since: Vec<_> = seen.changes.iter().map(|c| (c.name.as_str(), c.empty_since)).collect();
    assert_eq!(since, [("claim-a", Some(now())), ("claim-b", None)]);
    let event = |claim: &NodeClaim| claim.conditions.last_pod_event_at;
    let started = facts.pods[0].started_at.unwrap_or_else(now);
    assert_eq!(event(&seen.changes[0]), Some(now()));
    assert_eq!(event(&seen.changes[1]), Some(started));
    assert!(seen.new_claims.is_empty() && seen.decisions.is_empty());
    let version = facts.ledger.claims.values().next().unwrap().version;
    assert_eq!(seen.changes[0].version, version + 1);
    commit(&mut facts, &seen);
    assert!(observed(&facts).is_empty());
}

#[test]
fn only_pods_that_need_another_node_keep_it() {
    let mut facts = idle(&["a"]);
    let mut daemon = pod("daemon on:a cpu=1");
    daemon.owner = owner("DaemonSet");
    let mut ending = pod("ending on:a cpu=1");
    ending.deleted_at = Some(now());
    facts.pods = vec![daemon, ending.clone()];
    check(&facts, &["claim-a"]);
    ending.owner = owner("StatefulSet");
    facts.pods = vec![ending];
    check(&facts, &[]);
}

#[test]
fn a_node_must_be_empty_for_as_long_as_the_pool_says() {
    for (since, after, goes) in [
        (Some(60), Some(60), true),
        (Some(59), Some(60), false),
        (None, Some(60), false),
        (None, Some(0), true),
        (Some(3_600), None, false),
    ] {
        let mut facts = idle(&["a"]);
        change(&mut facts, "a", |claim| claim.empty_since = since.map(ago));
        facts.node_pools[0].disruption.consolidate_after = after.map(SignedDuration::from_secs);
        assert_eq!(!names(&facts).is_empty(), goes, "{since:?} {after:?}");
    }
}

#[test]
fn what_is_protected_or_not_ready_stays() {
    let with = |change: &dyn Fn(&mut Facts, &mut Node)| {
        let mut facts = idle(&["a"]);
        let mut node = facts.nodes.pop_first().unwrap().1;
        change(&mut facts, &mut node);
        add_node(&mut facts, node);
        names(&facts).len()
    };
    let annotate = |text: &str| {
        let text = text.to_owned();
        with(&|_, node| {
            node.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), text.clone());
        })
    };
    // Karpenter knows no durations on nodes.
    assert_eq!(["true", "2h", "30m", "false"].map(annotate), [0, 1, 1, 1]);
    assert_eq!(with(&|_, node| drop(node.labels.remove(labels::INITIALIZED))), 0);
    assert_eq!(with(&|facts, _| facts.node_pools.clear()), 0);
    assert_eq!(with(&|facts, _| facts.node_pools[0].replicas = Some(1)), 0);
    // A daemon that forbids it.
    let protect = |facts: &mut Facts, _: &mut Node| {
        let mut spec = spec("cpu=1");
        spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        let mut daemon = running("daemon", "a", spec);
        daemon.owner = owner("DaemonSet");
        facts.pods.push(daemon);
    };
    assert_eq!(with(&protect), 0);
}

#[test]
fn a_node_that_pending_pods_fit_onto_stays() {
    let mut facts = idle(&["a", "b"]);
    facts.pods = pods("web cpu=1");
    check(&facts, &["claim-b"]);
}

#[test]
fn budgets_hold_and_count_what_is_going_already() {
    let budgeted = |nodes| {
        let mut facts = idle(&["a", "b", "c", "d"]);
        let budget = Budget { nodes, reasons: Vec::new(), window: None };
        facts.node_pools[0].disruption.budgets = vec![budget];
        facts
    };
    check(&budgeted(BudgetNodes::Count(2)), &["claim-a", "claim-b"]);
    check(&budgeted(BudgetNodes::Percent(10)), &["claim-a"]);
    check(&budgeted(BudgetNodes::Count(0)), &[]);
    let mut facts = budgeted(BudgetNodes::Count(2));
    change(&mut facts, "a", |claim| *claim = claim.deleted(DeletionReason::Expired, now()));
    check(&facts, &["claim-b"]);
    facts.nodes.last_entry().unwrap().get_mut().is_ready = false;
    check(&facts, &[]);
}

#[test]
fn the_dearest_goes_first() {
    let mut facts = idle(&["a", "b"]);
    // As the function sees it, which does not ask what can be bought.
    facts.classes = None;
    change(&mut facts, "b", |claim| claim.instance.as_mut().unwrap().price = HourlyPrice::MAX);
    check(&facts, &["claim-b", "claim-a"]);
}

#[test]
fn what_was_found_is_disrupted_if_it_still_holds() {
    let mut facts = idle(&["a", "b", "c"]);
    let command = empty(&facts).command().cloned().unwrap();
    facts.now = now() + SignedDuration::from_secs(15);
    facts.pods = pods("web on:b cpu=1");
    change(&mut facts, "c", |claim| claim.empty_since = Some(now() + SignedDuration::from_secs(5)));
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::ZERO);
    let plan = validated(&facts, (&CommandId::derived(&command), &command), &Options::deployed());
    assert_eq!(plan.parent, facts.ledger.head.counters);
    let [gone] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let deletion = gone.deletion.as_ref().unwrap();
    assert_eq!(
        (gone.name.as_str(), deletion.reason),
        ("claim-a", DeletionReason::Disrupted(DisruptionReason::Empty))
    );
    let decision = &plan.decisions[0];
    assert_eq!(decision.summary, "emptiness: 1 node is disrupted, $0.4800 an hour");
    let rejected: Vec<String> = decision.rejected.iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        ["claim-b: not empty: 1 pod would need another node", "claim-c: a pod needed it meanwhile"]
    );
    // Once more, after it was committed.
    commit(&mut facts, &plan);
    assert!(
        validated(&facts, (&CommandId::derived(&command), &command), &Options::deployed())
            .changes
            .is_empty()
    );
}

#[test]
fn a_node_with_a_pod_that_cannot_be_read_is_not_empty() {
    let mut facts = idle(&["a", "b"]);
    facts.pods = vec![unreadable("web", "a")];
    check(&facts, &["claim-b"]);
    let seen = observed(&facts);
    let since: Vec<_> = seen.changes.iter().map(|c| (c.name.as_str(), c.empty_since)).collect();
    assert_eq!(since, [("claim-a", None)]);
    // A DaemonSet's pod would not need another node.
    facts.pods[0].owner = owner("DaemonSet");
    check(&facts, &["claim-a", "claim-b"]);
}

#[test]
fn a_pod_of_unknown_place_keeps_every_node() {
    let mut facts = idle(&["a", "b"]);
    change(&mut facts, "a", |claim| claim.empty_since = None);
    facts.unlocated_pod = Some("Pod default/web: spec.nodeName: must be a text".to_owned());
    check(&facts, &[]);
    assert_eq!(observed(&facts).changes, []);
}

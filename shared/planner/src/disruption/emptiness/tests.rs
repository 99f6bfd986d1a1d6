//! Which nodes may go for being empty, expired or deleted, and which stay.

use jiff::SignedDuration;
use model::{
    CapacityType, DeletionReason, labels,
    node::Node,
    node_pool::{Budget, BudgetNodes},
};

use super::*;
use crate::testing::*;

/// A pool with a node for each name, empty for an hour, `consolidateAfter` a minute, and no budget.
fn idle(names: &[&str]) -> Facts {
    let mut facts = facts(Vec::new());
    for name in names {
        let mut claim = add_managed(&mut facts, name);
        claim.empty_since = Some(ago(3_600));
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

fn names(facts: &Facts) -> Vec<String> {
    emptiness(facts).candidates.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(facts: &Facts, candidates: &[&str]) {
    assert_eq!(names(facts), candidates);
}

#[test]
fn emptiness_is_noted_and_forgotten() {
    let mut facts = idle(&["a", "b"]);
    change(&mut facts, "a", |claim| claim.empty_since = None);
    facts.pods = vec![running("web", "b", spec("cpu=1"))];
    let seen = emptiness(&facts).observed;
    let since: Vec<_> = seen.changes.iter().map(|c| (c.name.as_str(), c.empty_since)).collect();
    assert_eq!(since, [("claim-a", Some(now())), ("claim-b", None)]);
    assert!(seen.promises.is_empty() && seen.decisions.is_empty());
    let version = facts.ledger.claims.values().next().unwrap().version;
    assert_eq!(seen.changes[0].version, version + 1);
    commit(&mut facts, &seen);
    assert!(emptiness(&facts).observed.is_empty());
}

#[test]
fn only_pods_that_need_another_node_keep_it() {
    let mut facts = idle(&["a"]);
    let mut daemon = running("daemon", "a", spec("cpu=1"));
    daemon.owner = Some(owner("apps/v1", "DaemonSet"));
    let mut ending = running("ending", "a", spec("cpu=1"));
    ending.deleted_at = Some(now());
    facts.pods = vec![daemon, ending.clone()];
    check(&facts, &["claim-a"]);
    ending.owner = Some(owner("apps/v1", "StatefulSet"));
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
        daemon.owner = Some(owner("apps/v1", "DaemonSet"));
        facts.pods.push(daemon);
    };
    assert_eq!(with(&protect), 0);
}

#[test]
fn a_node_that_pending_pods_fit_onto_stays() {
    let mut facts = idle(&["a", "b"]);
    facts.pods = vec![pending("web", spec("cpu=1"))];
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
    change(&mut facts, "a", |claim| *claim = claim.given_up(DeletionReason::Expired, now()));
    check(&facts, &["claim-b"]);
    facts.nodes.last_entry().unwrap().get_mut().is_ready = false;
    check(&facts, &[]);
}

#[test]
fn the_dearest_goes_first() {
    let mut facts = idle(&["a", "b"]);
    // As the function sees it, which does not ask what can be bought.
    facts.classes.clear();
    change(&mut facts, "b", |claim| claim.instance.as_mut().unwrap().price.0 += 1);
    check(&facts, &["claim-b", "claim-a"]);
}

#[test]
fn what_was_found_is_given_up_if_it_still_holds() {
    let mut facts = idle(&["a", "b", "c"]);
    let found = emptiness(&facts).candidates;
    facts.now = now() + SignedDuration::from_secs(15);
    facts.pods = vec![running("web", "b", spec("cpu=1"))];
    change(&mut facts, "c", |claim| claim.empty_since = Some(now() + SignedDuration::from_secs(5)));
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::ZERO);
    let plan = validated(&facts, DisruptionMethod::Emptiness, &found, now());
    assert_eq!(plan.parent, facts.ledger.generation);
    let [gone] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let deletion = gone.deletion.as_ref().unwrap();
    assert_eq!((gone.name.as_str(), deletion.reason), ("claim-a", DeletionReason::Empty));
    let decision = &plan.decisions[0];
    assert_eq!(decision.summary, "emptiness: 1 node is given up, $0.4800 per hour");
    assert_eq!(
        decision.rejected,
        ["claim-b: 1 pod would need another node", "claim-c: a pod needed it meanwhile"]
    );
    // Once more, after it was committed.
    commit(&mut facts, &plan);
    assert!(validated(&facts, DisruptionMethod::Emptiness, &found, now()).is_empty());
}

#[test]
fn expired_claims_are_given_up_whatever_protects_them() {
    let mut facts = idle(&["a", "b"]);
    facts.pods = vec![running("web", "a", spec("cpu=1"))];
    facts.nodes.first_entry().unwrap().get_mut().annotations =
        [(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into();
    change(&mut facts, "a", |claim| claim.expire_after = Some(SignedDuration::from_hours(1)));
    change(&mut facts, "b", |claim| claim.expire_after = None);
    let plan = crate::expiration(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::Expired);
    assert_eq!(
        plan.decisions[0].summary,
        "claim-a is given up: it is older than its expireAfter of 1h0m0s"
    );
    let both: Vec<_> = facts.ledger.claims.keys().cloned().collect();
    let checked = validated(&facts, DisruptionMethod::Expiration, &both, now());
    assert_eq!(checked.changes, plan.changes);
    facts.now = ago(1);
    assert!(crate::expiration(&facts).is_empty());
}

#[test]
fn a_claim_whose_node_somebody_deletes_is_given_up() {
    let mut facts = idle(&["a", "b"]);
    assert!(crate::expiration(&facts).is_empty());
    facts.nodes.first_entry().unwrap().get_mut().is_deleting = true;
    let plan = crate::expiration(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::NodeDeleted);
    assert_eq!(plan.decisions[0].summary, "claim-a is given up: its node is being deleted");
    commit(&mut facts, &plan);
    assert!(crate::expiration(&facts).is_empty());
}

#[test]
fn a_claim_whose_object_somebody_deletes_is_given_up() {
    let mut facts = idle(&["a", "b"]);
    // One of somebody else's is no concern.
    facts.deleted_claims.extend(["claim-b", "other"].map(|name| name.parse().unwrap()));
    let plan = crate::expiration(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::NodeClaimDeleted);
    assert_eq!(plan.decisions[0].summary, "claim-b is given up: its NodeClaim is being deleted");
    commit(&mut facts, &plan);
    assert!(crate::expiration(&facts).is_empty());
}

#[test]
fn nodes_of_a_capacity_block_go_before_it_ends_and_all_others_stay() {
    let mut facts = idle(&["a", "b", "c"]);
    let paid = [("a", CapacityType::Reserved), ("b", CapacityType::Reserved)];
    // The reservation of the third is over, and the instance is not.
    for (name, capacity_type) in paid.into_iter().chain([("c", CapacityType::OnDemand)]) {
        change(&mut facts, name, |claim| {
            claim.instance.as_mut().unwrap().capacity_type = capacity_type;
            let id = if name == "b" { "cr-2" } else { "cr-1" };
            claim.labels.insert(labels::RESERVATION_ID.to_owned(), id.to_owned());
        });
    }
    assert!(crate::expiration(&facts).is_empty());
    facts.ending_reservations.insert("cr-1".to_owned());
    let plan = crate::expiration(&facts);
    let [gone] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let reason = gone.deletion.as_ref().unwrap().reason;
    assert_eq!((gone.name.as_str(), reason), ("claim-a", DeletionReason::ReservationEnding));
    let words = "claim-a is given up: its capacity block cr-1 is about to end";
    assert_eq!(plan.decisions[0].summary, words);
    commit(&mut facts, &plan);
    assert!(crate::expiration(&facts).is_empty());
}

#[test]
fn a_promised_claim_is_left_to_its_launch() {
    let mut facts = idle(&["a"]);
    facts.deleted_claims.insert("claim-a".parse().unwrap());
    change(&mut facts, "a", |claim| {
        claim.expire_after = Some(SignedDuration::ZERO);
        claim.phase = model::ClaimPhase::Promised;
        claim.instance = None;
    });
    assert!(crate::expiration(&facts).is_empty());
}

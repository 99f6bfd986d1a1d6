//! What is carried out of what is decided, and what is reported of the rest.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::{
    CommandId, DeletionReason, Plan,
    disruption::{DisruptionReason, Method},
    facts::Facts,
    ledger::{DecisionKind, Rejected},
    node_pool::BudgetNodes,
    recorded::Question,
};
use planner::{
    Memory, answer,
    disruption::{Options, begun, carry_out::*, finding::Finding},
};

use crate::planner::support::cluster::*;

fn texts(rejected: &[Rejected]) -> Vec<String> {
    rejected.iter().map(ToString::to_string).collect()
}

/// The nodes that go for a reason, and why others stay.
fn goes(facts: &Facts, reason: DisruptionReason) -> (Vec<String>, Vec<String>) {
    let outlook = look(facts, reason, &Options::deployed());
    let claims = outlook.command().into_iter().flat_map(|command| &command.candidates);
    let names = claims.map(|name| name.as_str().replacen("claim-", "", 1)).collect();
    let begun = outlook.command().map(|command| {
        let id = CommandId::derived(command);
        begun(facts, (&id, command), &Options::deployed()).unwrap()
    });
    let decisions = outlook.decision.into_iter().collect();
    let plan = Plan { decisions, ..begun.unwrap_or_else(|| observed(facts)) };
    assert_eq!(plan_check::violations(facts, &plan), Vec::new());
    (names, plan.decisions.into_iter().flat_map(|decision| texts(&decision.rejected)).collect())
}

fn spacious() -> Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
    facts.pods = vec![app("web", "b", "cpu=500m"), app("db", "a", "cpu=10")];
    for name in ["a", "b"] {
        claim(&mut facts, name).conditions.last_pod_event_at = Some(ago(3_600));
    }
    facts
}

#[test]
fn a_node_whose_pods_fit_elsewhere_is_disrupted() {
    let facts = spacious();
    let (gone, _) = goes(&facts, DisruptionReason::Underutilized);
    assert_eq!(gone, ["b"]);
    let outlook = look(&facts, DisruptionReason::Underutilized, &Options::deployed());
    assert!(observed(&facts).is_empty());
    let disrupted = disrupted(&facts, &outlook.command().cloned().unwrap());
    let reasons: Vec<DeletionReason> = disrupted
        .iter()
        .filter_map(|claim| claim.deletion.as_ref())
        .map(|deletion| deletion.reason)
        .collect();
    assert_eq!(reasons, [DeletionReason::Disrupted(DisruptionReason::Underutilized)]);
}

#[test]
fn a_node_that_needs_another_in_its_place_goes_with_what_replaces_it() {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=500m")];
    assert_eq!(decided(&facts, Method::SingleNode), "a → t.small|t.gpu|t.medium");
    let (gone, stays) = goes(&facts, DisruptionReason::Underutilized);
    assert_eq!((gone, stays), (vec!["a".to_owned()], Vec::new()));
}

#[test]
fn a_look_says_how_many_nodes_it_did_not_reach() {
    let mut facts = cluster(&[("a", "t.small"), ("b", "t.small"), ("c", "t.small")]);
    facts.pods = ["a", "b", "c"].map(|node| app(node, node, "cpu=1800m")).into();
    let options = Options { work: 1, ..Options::deployed() };
    let told = |facts: &Facts, reason, options: &Options| {
        let Finding { decision, unseen, .. } = look(facts, reason, options);
        (texts(&decision.unwrap().rejected), unseen.len())
    };
    let (rejected, unseen) = told(&facts, DisruptionReason::Underutilized, &options);
    assert_eq!(rejected[0], "2 nodes not reached: one look simulates only so much");
    // Of the only pool one node was looked at.
    assert_eq!((rejected.len(), unseen), (2, 0));
    let whole = told(&facts, DisruptionReason::Underutilized, &Options::deployed());
    assert_eq!(whole.0.len(), 3);
}

#[test]
fn a_drifted_node_goes_when_its_pods_fit_elsewhere() {
    let mut facts = spacious();
    facts.node_pools[0].disruption.consolidate_after = None;
    claim(&mut facts, "b").conditions.drifted = Some("AMIDrift".to_owned());
    assert_eq!(goes(&facts, DisruptionReason::Underutilized).0, Vec::<String>::new());
    assert_eq!(goes(&facts, DisruptionReason::Drifted).0, ["b"]);
    facts.pods[0] = app("web", "b", "cpu=1800m");
    facts.pods.push(app("more", "a", "cpu=4500m"));
    let (gone, stays) = goes(&facts, DisruptionReason::Drifted);
    assert_eq!((gone, stays), (vec!["b".to_owned()], Vec::new()));
}

/// Two nodes with a pod each, on which nothing happened for an hour.
fn settled() -> Facts {
    let mut facts = spacious();
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::from_mins(1));
    for name in ["a", "b"] {
        claim(&mut facts, name).conditions.is_consolidatable = None;
    }
    for pod in &mut facts.pods {
        pod.started_at = Some(ago(3_600));
    }
    facts
}

/// The nodes of the commands that the function begins or finds on `facts`, which have its commit afterwards.
fn looked(facts: &mut Facts) -> Vec<String> {
    let question = Question::Disrupt { unseen: BTreeSet::new(), from: None };
    let plan = answer(facts, &question, &Memory::default()).plan;
    assert_eq!(plan_check::violations(facts, &plan), Vec::new());
    commit(facts, &plan);
    let candidates = plan.started.values().flat_map(|command| &command.candidates);
    candidates.map(|name| name.as_str().replacen("claim-", "", 1)).collect()
}

#[test]
fn what_a_look_notes_counts_in_that_look_already() {
    let none: [&str; 0] = [];
    let mut facts = settled();
    assert_eq!(looked(&mut facts.clone()), ["b"]);
    // The other node is found empty: it settles from this look on.
    facts.pods.retain(|pod| pod.node.as_ref().is_some_and(|node| node.as_str() == "b"));
    assert_eq!(looked(&mut facts.clone()), none);
    // So it does where nothing was noted on it before.
    claim(&mut facts, "a").conditions.last_pod_event_at = None;
    assert_eq!(looked(&mut facts), none);
    facts.now = now() + SignedDuration::from_secs(15);
    assert_eq!(looked(&mut facts), none);
    facts.now = now() + SignedDuration::from_secs(60);
    assert_eq!(looked(&mut facts), ["a"]);
    // A pod came to it just now.
    let mut joined = settled();
    joined.pods[1].started_at = Some(ago(10));
    assert_eq!(looked(&mut joined), none);
    joined.now = now() + SignedDuration::from_secs(50);
    assert_eq!(looked(&mut joined), ["b"]);
}

#[test]
fn when_the_last_pod_came_is_noted_once_of_each_node() {
    let mut facts = settled();
    claim(&mut facts, "a").conditions.last_pod_event_at = None;
    let [noted] = observed(&facts).changes.try_into().expect("one claim");
    assert_eq!((noted.name.as_str(), noted.empty_since), ("claim-a", None));
    assert_eq!(noted.conditions.last_pod_event_at, Some(ago(3_600)));
    commit(&mut facts, &Plan { changes: vec![noted], ..Plan::default() });
    facts.pods[1].started_at = Some(ago(10));
    assert!(observed(&facts).is_empty());
}

#[test]
fn what_was_found_is_refused_when_it_does_not_hold_any_more() {
    let facts = spacious();
    let outlook = look(&facts, DisruptionReason::Underutilized, &Options::deployed());
    let command = outlook.command().cloned().unwrap();
    let again = |facts: &Facts| {
        validated(facts, (&CommandId::derived(&command), &command), &Options::deployed())
    };
    let plan = again(&facts);
    assert_eq!(plan.changes, disrupted(&facts, &command));
    let summary = "consolidation: 1 node is disrupted, $0.2000 an hour";
    assert_eq!(
        (plan.decisions[0].summary.as_str(), plan.decisions[0].rejected.len()),
        (summary, 0)
    );
    let refused = |facts: &Facts| {
        let plan = again(facts);
        assert!(plan.changes.is_empty());
        let [decision] = plan.decisions.as_slice() else { panic!("one decision: {plan:?}") };
        let whys: Vec<&str> =
            decision.rejected.iter().map(|of_node| of_node.why.as_str()).collect();
        let summary = format!("consolidation: 1 node not disrupted: {}", whys.join("; "));
        assert_eq!((decision.kind, &decision.summary), (DecisionKind::NonDisruption, &summary));
        assert_eq!((decision.price_before, decision.subjects.len()), (None, 0));
        texts(&decision.rejected).join("; ")
    };
    let mut full = facts.clone();
    full.pods.push(app("more", "a", "cpu=5500m"));
    assert_eq!(refused(&full), "b: its pods need 1 new nodes now, not 0");
    let mut protected = facts.clone();
    protected.pods[0] =
        annotated(app("web", "b", "cpu=500m"), model::labels::DO_NOT_DISRUPT, "true");
    assert!(refused(&protected).contains("blocked by the annotation"));
    let mut gone = facts.clone();
    gone.nodes.remove("b");
    assert_eq!(refused(&gone), "claim-b: its node is gone");
    gone.ledger.claims.remove("claim-b");
    assert_eq!(refused(&gone), "claim-b: its NodeClaim is gone");
}

#[test]
fn a_node_without_pods_that_goes_for_drift_says_so_on_its_claim() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
    facts.node_pools[0].template.requirements = requirements("type=t.large");
    let drifted = |facts: &Facts| {
        let asked = Question::Disrupt { unseen: BTreeSet::new(), from: None };
        let plan = answer(facts, &asked, &Memory::default()).plan;
        assert_eq!(plan_check::violations(facts, &plan), Vec::new());
        let mut deleted = plan.changes.iter().filter(|claim| claim.is_deleting());
        let claim = deleted.next().expect("a claim that is deleted");
        assert_eq!((claim.name.as_str(), deleted.next()), ("claim-b", None));
        (claim.conditions.drifted.clone(), claim.conditions.drifted_since)
    };
    facts.node_pools[0].disruption.consolidate_after = None;
    let reason = Some("RequirementsDrifted".to_owned());
    assert_eq!(drifted(&facts), (reason.clone(), Some(facts.now)));
    let conditions = &mut claim(&mut facts, "b").conditions;
    (conditions.drifted, conditions.drifted_since) = (Some("AMIDrift".to_owned()), Some(ago(60)));
    assert_eq!(drifted(&facts), (Some("AMIDrift".to_owned()), Some(ago(60))));
}

#[test]
fn a_node_that_is_replaced_for_drift_says_so_on_its_claim_at_once() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
    facts.node_pools[0].template.requirements = requirements("type=t.large");
    facts.pods = vec![app("web", "b", "cpu=1800m"), app("api", "a", "cpu=15")];
    let question = Question::Disrupt { unseen: BTreeSet::new(), from: None };
    let plan = answer(&facts, &question, &Memory::default()).plan;
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.started.len(), plan.new_claims.len()), (1, 1));
    let is_b = |claim: &&model::NodeClaim| claim.name.as_str() == "claim-b";
    let changed = plan.changes.iter().find(is_b).expect("a change of the claim that is replaced");
    assert!(!changed.is_deleting(), "its replacement comes first");
    assert_eq!(changed.conditions.drifted.as_deref(), Some("RequirementsDrifted"));
    assert_eq!(changed.conditions.drifted_since, Some(facts.now));
    // What it says already is not written once more.
    facts.ledger.claims.insert(changed.name.clone(), changed.clone());
    assert_eq!(answer(&facts, &question, &Memory::default()).plan.changes.iter().find(is_b), None);
}

#[test]
fn what_is_gone_does_not_void_the_rest_of_a_command() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small"), ("c", "t.small")]);
    let db = annotated(app("db", "a", "cpu=10"), model::labels::DO_NOT_DISRUPT, "true");
    facts.pods = vec![app("web", "b", "cpu=500m"), app("api", "c", "cpu=500m"), db];
    let outlook = look(&facts, DisruptionReason::Underutilized, &Options::deployed());
    let command = outlook.command().cloned().unwrap();
    assert_eq!((command.method, command.candidates.len()), (Method::MultiNode, 2));
    let mut newer = facts.clone();
    newer.ledger.claims.remove("claim-b");
    newer.nodes.remove("b");
    newer.pods.remove(0);
    let plan = validated(&newer, (&CommandId::derived(&command), &command), &Options::deployed());
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(texts(&plan.decisions[0].rejected), ["claim-b: its NodeClaim is gone"]);
}

#[test]
fn a_spent_budget_is_the_same_decision_whichever_nodes_spend_it() {
    let mut facts = cluster(&[("a", "t.small"), ("b", "t.small"), ("c", "t.small")]);
    facts.pods = ["a", "b", "c"].map(|node| app(node, node, "cpu=100m")).into();
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(1))];
    for name in ["a", "b", "c"] {
        claim(&mut facts, name).conditions.drifted = Some("AMIDrift".to_owned());
    }
    let without = |ill: &[&str]| {
        let mut facts = facts.clone();
        for name in ill {
            node(&mut facts, name).is_ready = false;
        }
        let decision =
            look(&facts, DisruptionReason::Drifted, &Options::deployed()).decision.unwrap();
        (decision.content(), texts(&decision.rejected))
    };
    let (first, words) = without(&["a"]);
    let spent = "blocked by the disruption budgets of its NodePool for Drifted";
    assert_eq!(words, ["a", "b", "c"].map(|name| format!("{name}: {spent}")));
    assert_eq!([without(&["b"]).0, without(&["b", "c"]).0], [first; 2]);
}

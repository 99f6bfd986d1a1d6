//! What is carried out of what is decided, and what is told of the rest.

use model::{DeletionReason, NodeClaim, facts::Facts, message::DisruptionMethod};

use super::{effect, still};
use crate::testing::cluster::*;

/// The nodes that a method gives up, and why others stay.
fn given_up(facts: &Facts, method: DisruptionMethod) -> (Vec<String>, Vec<String>) {
    let found = effect(facts, method);
    let plan = &found.plan;
    assert_eq!(plan_check::violations(facts, plan), Vec::new());
    assert!(plan.promises.is_empty());
    let names = found.claims.iter().map(|name| name.as_str().replacen("claim-", "", 1)).collect();
    let decisions = plan.decisions.iter();
    (names, decisions.flat_map(|decision| decision.rejected.clone()).collect())
}

fn spacious() -> Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
    facts.pods = vec![app("web", "b", "cpu=500m"), app("db", "a", "cpu=10")];
    facts
}

#[test]
fn a_node_whose_pods_fit_elsewhere_is_given_up() {
    let facts = spacious();
    let (gone, _) = given_up(&facts, DisruptionMethod::Consolidation);
    assert_eq!(gone, ["b"]);
    let found = effect(&facts, DisruptionMethod::Consolidation);
    let reasons = found.plan.changes.iter().filter_map(|claim| claim.deletion.as_ref());
    let reasons: Vec<DeletionReason> = reasons.map(|deletion| deletion.reason).collect();
    assert_eq!(reasons, [DeletionReason::Underutilized]);
    assert!(found.observed().is_empty());
}

#[test]
fn a_node_that_needs_another_in_its_place_stays_and_says_so() {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=500m")];
    assert_eq!(decided(&facts, super::Method::SingleNode), "a → t.small|t.gpu|t.medium");
    let (gone, stays) = given_up(&facts, DisruptionMethod::Consolidation);
    assert_eq!(gone, Vec::<String>::new());
    assert!(stays.iter().any(|text| text.contains("not supported yet")), "{stays:?}");
}

#[test]
fn a_drifted_node_goes_when_its_pods_fit_elsewhere() {
    let mut facts = spacious();
    facts.node_pools[0].disruption.consolidate_after = None;
    claim(&mut facts, "b").conditions.drifted = Some("AMIDrift".to_owned());
    assert_eq!(given_up(&facts, DisruptionMethod::Consolidation).0, Vec::<String>::new());
    assert_eq!(given_up(&facts, DisruptionMethod::Drift).0, ["b"]);
    facts.pods[0] = app("web", "b", "cpu=1800m");
    facts.pods.push(app("more", "a", "cpu=4500m"));
    let (gone, stays) = given_up(&facts, DisruptionMethod::Drift);
    assert_eq!(gone, Vec::<String>::new());
    assert!(stays.iter().any(|text| text.contains("not supported yet")), "{stays:?}");
}

#[test]
fn what_was_found_is_refused_when_it_does_not_hold_any_more() {
    let facts = spacious();
    let still = |facts: &Facts| {
        let claims: Vec<&NodeClaim> =
            facts.ledger.claims.values().filter(|one| one.name.as_str() == "claim-b").collect();
        still(facts, DisruptionMethod::Consolidation, &claims)
    };
    assert_eq!(still(&facts), Ok(()));
    let mut full = facts.clone();
    full.pods.push(app("more", "a", "cpu=5500m"));
    assert!(still(&full).is_err());
    let mut protected = facts.clone();
    protected.pods[0] =
        annotated(app("web", "b", "cpu=500m"), model::labels::DO_NOT_DISRUPT, "true");
    assert!(still(&protected).unwrap_err()[0].contains("protects it"));
}

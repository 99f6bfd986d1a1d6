//! Which claims go whatever runs on them.

use jiff::SignedDuration;
use model::{
    CapacityType, ClaimPhase, DeletionReason, NodeClaim, NodeClaimName, facts::Facts, labels,
    node::Node,
};
use planner::lifecycle::forced::*;

use crate::planner::support::*;

/// A pool with a node for each name.
fn managed(names: &[&str]) -> Facts {
    let mut facts = facts(Vec::new());
    for name in names {
        add_managed(&mut facts, name);
    }
    facts
}

fn change(facts: &mut Facts, name: &str, change: impl FnOnce(&mut NodeClaim)) {
    let name: NodeClaimName = format!("claim-{name}").parse().unwrap();
    change(facts.ledger.claims.get_mut(&name).unwrap());
}

#[test]
fn expired_claims_are_deleted_whatever_protects_them() {
    let mut facts = managed(&["a", "b"]);
    facts.pods = pods("web on:a cpu=1");
    facts.nodes.first_entry().unwrap().get_mut().annotations =
        [(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned())].into();
    change(&mut facts, "a", |claim| claim.expire_after = Some(SignedDuration::from_hours(1)));
    change(&mut facts, "b", |claim| claim.expire_after = None);
    // The claim is as old as that; when its node joined does not count.
    facts.nodes.first_entry().unwrap().get_mut().created_at = ago(600);
    let plan = forced(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::Expired);
    assert_eq!(
        plan.decisions[0].summary,
        "claim-a is deleted: it is older than its expireAfter of 1h0m0s"
    );
    let mut deleted = facts.clone();
    commit(&mut deleted, &plan);
    assert!(forced(&deleted).is_empty(), "once is enough");
    facts.now = ago(1);
    assert!(forced(&facts).is_empty());
}

#[test]
fn a_claim_whose_node_a_user_deletes_is_deleted() {
    let mut facts = managed(&["a", "b"]);
    // An unmanaged one is no concern, and neither is one that says nothing of its instance.
    let foreign = |name| Node { is_deleting: true, ..node(&format!("{name} cpu=4")) };
    add_node(&mut facts, foreign("c"));
    add_node(&mut facts, Node { provider_id: None, ..foreign("d") });
    assert!(forced(&facts).is_empty());
    facts.nodes.first_entry().unwrap().get_mut().is_deleting = true;
    let plan = forced(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::NodeDeleted);
    assert_eq!(plan.decisions[0].summary, "claim-a is deleted: its node is being deleted");
    commit(&mut facts, &plan);
    assert!(forced(&facts).is_empty());
}

#[test]
fn a_claim_whose_object_a_user_deletes_is_deleted() {
    let mut facts = managed(&["a", "b"]);
    // One of another cluster is no concern.
    facts.deleted_claims = Some(["claim-b", "other"].map(|name| name.parse().unwrap()).into());
    let plan = forced(&facts);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().reason, DeletionReason::NodeClaimDeleted);
    assert_eq!(plan.decisions[0].summary, "claim-b is deleted: its NodeClaim is being deleted");
    commit(&mut facts, &plan);
    assert!(forced(&facts).is_empty());
}

#[test]
fn nodes_of_a_capacity_block_go_before_it_ends_and_all_others_stay() {
    let mut facts = managed(&["a", "b", "c"]);
    let paid = [("a", CapacityType::Reserved), ("b", CapacityType::Reserved)];
    // The reservation of the third is over, and the instance is not.
    for (name, capacity_type) in paid.into_iter().chain([("c", CapacityType::OnDemand)]) {
        change(&mut facts, name, |claim| {
            claim.instance.as_mut().unwrap().capacity_type = capacity_type;
            let id = if name == "b" { "cr-2" } else { "cr-1" };
            claim.labels.insert(labels::RESERVATION_ID.to_owned(), id.to_owned());
        });
    }
    assert!(forced(&facts).is_empty());
    facts.ending_reservations = Some(["cr-1".parse().unwrap()].into());
    let plan = forced(&facts);
    let [gone] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let reason = gone.deletion.as_ref().unwrap().reason;
    assert_eq!((gone.name.as_str(), reason), ("claim-a", DeletionReason::ReservationEnding));
    let words = "claim-a is deleted: its capacity block cr-1 is about to end";
    assert_eq!(plan.decisions[0].summary, words);
    commit(&mut facts, &plan);
    assert!(forced(&facts).is_empty());
}

#[test]
fn an_unlaunched_claim_is_left_to_its_launch() {
    let mut facts = managed(&["a"]);
    facts.deleted_claims = Some(["claim-a".parse().unwrap()].into());
    change(&mut facts, "a", |claim| {
        claim.expire_after = Some(SignedDuration::ZERO);
        claim.phase = ClaimPhase::Created;
        claim.instance = None;
    });
    assert!(forced(&facts).is_empty());
}

//! What an announcement of EC2 about one instance means for its claim.

use jiff::{SignedDuration, Timestamp};
use model::{
    DeletionReason, NodeClaim, Plan,
    interruption::{Interruption, InterruptionKind, SPOT_NOTICE},
    ledger::Snapshot,
};
use planner::lifecycle::interrupt::*;

use crate::planner::support::{add_managed, ago, facts, now};

fn interruption(kind: InterruptionKind, claim: &NodeClaim) -> Interruption {
    let instance = claim.instance.as_ref().unwrap().id.clone();
    Interruption { kind, instance, at: now() }
}

fn announced(
    ledger: &Snapshot,
    claim: &NodeClaim,
    events: &[&Interruption],
    now: Timestamp,
) -> Plan {
    let events: Vec<Interruption> = events.iter().copied().cloned().collect();
    interrupt(ledger, [(claim, events.as_slice())], now)
}

#[test]
fn a_spot_interruption_gives_the_claim_up_and_makes_its_offering_unavailable() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let event = interruption(InterruptionKind::SpotInterruption, &claim);
    let plan = announced(&facts.ledger, &claim, &[&event], now());
    let deletion = plan.changes[0].deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::SpotInterrupted);
    let (offering, until) = plan.unavailable_offerings.first_key_value().unwrap();
    assert_eq!(offering.to_string(), "spot t.large zone-1");
    assert_eq!(*until, now() + SignedDuration::from_mins(3));
    assert_eq!(
        plan.decisions[0].summary,
        "claim-node-1 is deleted: EC2 takes its spot instance back (i-claimnode1)"
    );
    // Its pods have until EC2 takes it.
    assert_eq!(deletion.deadline, Some(now() + SPOT_NOTICE));
    assert_eq!(plan.changes[0].version, claim.version + 1);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    // The same event again, once the plan was committed.
    let again = announced(&facts.ledger, &plan.changes[0], &[&event], now());
    assert!(again.changes.is_empty() && again.decisions.is_empty());
}

#[test]
fn a_deleted_claim_ends_with_its_spot_instance() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let deleted = claim.deleted(DeletionReason::Expired, ago(600));
    facts.ledger.claims.insert(deleted.name.clone(), deleted.clone());
    let event = interruption(InterruptionKind::SpotInterruption, &claim);
    let plan = announced(&facts.ledger, &deleted, &[&event], now());
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    let [hastened] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let deletion = hastened.deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::Expired);
    assert_eq!(deletion.deadline, Some(now() + SPOT_NOTICE));
    // A nearer deadline stays, and a late notice leaves no time.
    let late = now() + SignedDuration::from_secs(30);
    assert!(announced(&facts.ledger, hastened, &[&event], late).changes.is_empty());
    let after = now() + SignedDuration::from_mins(10);
    let plan = announced(&facts.ledger, &deleted, &[&event], after);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().deadline, Some(after));
}

#[test]
fn of_several_announcements_the_one_that_takes_capacity_counts() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let ending = interruption(InterruptionKind::InstanceEnding, &claim);
    let spot = interruption(InterruptionKind::SpotInterruption, &claim);
    let plan = announced(&facts.ledger, &claim, &[&ending, &spot], now());
    let deletion = plan.changes[0].deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::SpotInterrupted);
    assert_eq!(plan.unavailable_offerings.len(), 1);
    let again = announced(&facts.ledger, &plan.changes[0], &[&ending], now());
    assert!(again.is_empty(), "that an instance ends that was deleted is no news");
}

#[test]
fn reserved_capacity_that_is_taken_back_is_left_alone_for_a_while() {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    let event = interruption(InterruptionKind::ReservationInterruption, &claim);
    let on_demand = announced(&facts.ledger, &claim, &[&event], now());
    assert_eq!((on_demand.changes.len(), on_demand.unavailable_offerings.len()), (1, 0));
    claim.instance.as_mut().unwrap().capacity_type = model::CapacityType::Reserved;
    let plan = announced(&facts.ledger, &claim, &[&event], now());
    let deletion = plan.changes[0].deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::ReservationEnding);
    let unavailable_offerings: Vec<String> =
        plan.unavailable_offerings.keys().map(ToString::to_string).collect();
    assert_eq!(unavailable_offerings, ["reserved t.large zone-1"]);
}

#[test]
fn what_ec2_recommends_to_leave_has_drifted_and_is_not_deleted() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let advice = interruption(InterruptionKind::RebalanceRecommendation, &claim);
    let plan = announced(&facts.ledger, &claim, &[&advice, &advice], now());
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    let [marked] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    assert!(!marked.is_deleting());
    assert_eq!(marked.conditions.drifted.as_deref(), Some("SpotRebalanceRecommendation"));
    assert_eq!(marked.conditions.drifted_since, Some(now()));
    // What replaces it comes from elsewhere.
    let offerings = plan.unavailable_offerings.keys().map(ToString::to_string);
    assert_eq!(offerings.collect::<Vec<_>>(), ["spot t.large zone-1"]);
    // Once is enough, and what has drifted otherwise is replaced anyway.
    assert!(announced(&facts.ledger, marked, &[&advice], now()).is_empty());
    // What EC2 takes back goes at once.
    let spot = interruption(InterruptionKind::SpotInterruption, &claim);
    let plan = announced(&facts.ledger, &claim, &[&advice, &spot], now());
    let deletion = plan.changes[0].deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::SpotInterrupted);
    // And of what goes already nothing is news.
    let going = announced(&facts.ledger, &plan.changes[0], &[&advice], now());
    assert!(going.is_empty());
}

#[test]
fn an_instance_that_ends_makes_nothing_unavailable() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let event = interruption(InterruptionKind::InstanceEnding, &claim);
    let plan = announced(&facts.ledger, &claim, &[&event], now());
    let deletion = plan.changes[0].deletion.as_ref().unwrap();
    assert_eq!(deletion.reason, DeletionReason::InstanceEnded);
    assert!(plan.unavailable_offerings.is_empty());
}

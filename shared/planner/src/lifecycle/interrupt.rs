//! What an announcement of EC2 about one instance means for its claim.
//!
//! Nothing is launched here: the pods of a claim that is given up are planned by `provision`.
//!
//! Karpenter: `pkg/controllers/interruption/controller.go`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    DeletionReason, Function, NodeClaim, OfferingKey, Plan,
    interruption::{Interruption, InterruptionKind},
    ledger::{Decision, Snapshot},
};

/// How long an offering is not used after an instance of it was taken back.
///
/// Karpenter: `pkg/cache/cache.go`, `UnavailableOfferingsTTL`.
const COOLING_AFTER_INTERRUPTION: SignedDuration = SignedDuration::from_mins(3);

/// Gives `claim` up because of `interruption`. Unless its instance just ends, its offering is unavailable,
/// for a claim that is being given up already as well, unless it is unavailable already.
#[must_use]
pub fn interrupt(
    snapshot: &Snapshot,
    claim: &NodeClaim,
    interruption: &Interruption,
    now: Timestamp,
) -> Plan {
    let unavailable_offerings = match interruption.kind {
        InterruptionKind::SpotInterruption => unavailable(snapshot, claim, now),
        // One that just fell into an open reservation is on-demand.
        InterruptionKind::ReservationInterruption if claim.is_reserved() => {
            unavailable(snapshot, claim, now)
        }
        InterruptionKind::ReservationInterruption | InterruptionKind::InstanceEnding => {
            BTreeMap::new()
        }
    };
    let mut plan = Plan { parent: snapshot.generation, unavailable_offerings, ..Plan::default() };
    if claim.is_deleting() {
        return plan;
    }
    let reason = match interruption.kind {
        InterruptionKind::SpotInterruption => DeletionReason::SpotInterrupted,
        InterruptionKind::ReservationInterruption => DeletionReason::ReservationEnding,
        InterruptionKind::InstanceEnding => DeletionReason::InstanceEnded,
    };
    plan.decisions.push(decision(claim, interruption, now));
    plan.changes.push(claim.given_up(reason, now));
    plan
}

fn unavailable(
    snapshot: &Snapshot,
    claim: &NodeClaim,
    now: Timestamp,
) -> BTreeMap<OfferingKey, Timestamp> {
    let Some(instance) = &claim.instance else { return BTreeMap::new() };
    let Ok(until) = now.checked_add(COOLING_AFTER_INTERRUPTION) else { return BTreeMap::new() };
    let offering = instance.offering();
    // A repeated announcement must not make an empty plan a full one: what is unavailable, does.
    match snapshot.unavailable_offerings.get(&offering) {
        Some(stands) if now < *stands => BTreeMap::new(),
        _ => BTreeMap::from([(offering, until)]),
    }
}

fn decision(claim: &NodeClaim, interruption: &Interruption, now: Timestamp) -> Decision {
    let what = match interruption.kind {
        InterruptionKind::SpotInterruption => "EC2 takes its spot instance back",
        InterruptionKind::ReservationInterruption => {
            "its capacity reservation ends, or takes its instance back"
        }
        InterruptionKind::InstanceEnding => "its instance is ending or has ended",
    };
    let (name, instance) = (&claim.name, &interruption.instance);
    let summary = format!("{name} is given up: {what} ({instance})");
    Decision {
        price_before: claim.instance.as_ref().map(|instance| instance.price),
        ..Decision::about([claim], Function::Interrupt, now, summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{add_managed, facts, now};

    fn interruption(kind: InterruptionKind, claim: &NodeClaim) -> Interruption {
        let instance = claim.instance.as_ref().unwrap().id.clone();
        Interruption { kind, instance, at: now() }
    }

    #[test]
    fn a_spot_interruption_gives_the_claim_up_and_lets_its_offering_are_unavailable() {
        let mut facts = facts(Vec::new());
        let claim = add_managed(&mut facts, "node-1");
        let event = interruption(InterruptionKind::SpotInterruption, &claim);
        let plan = interrupt(&facts.ledger, &claim, &event, now());
        let deletion = plan.changes[0].deletion.as_ref().unwrap();
        assert_eq!(deletion.reason, DeletionReason::SpotInterrupted);
        let (offering, until) = plan.unavailable_offerings.first_key_value().unwrap();
        assert_eq!(offering.to_string(), "spot t.large zone-1");
        assert_eq!(*until, now() + SignedDuration::from_mins(3));
        assert_eq!(
            plan.decisions[0].summary,
            "claim-node-1 is given up: EC2 takes its spot instance back (i-claimnode1)"
        );
        // The same event again, once the plan was committed.
        facts.ledger.unavailable_offerings = plan.unavailable_offerings.clone();
        let again = interrupt(&facts.ledger, &plan.changes[0], &event, now());
        assert!(again.is_empty() && again.decisions.is_empty());
        // Committed without the cooling.
        facts.ledger.unavailable_offerings.clear();
        let again = interrupt(&facts.ledger, &plan.changes[0], &event, now());
        assert_eq!(
            (again.unavailable_offerings, again.changes),
            (plan.unavailable_offerings, Vec::new())
        );
    }

    #[test]
    fn reserved_capacity_that_is_taken_back_is_left_alone_for_a_while() {
        let mut facts = facts(Vec::new());
        let mut claim = add_managed(&mut facts, "node-1");
        let event = interruption(InterruptionKind::ReservationInterruption, &claim);
        let on_demand = interrupt(&facts.ledger, &claim, &event, now());
        assert_eq!((on_demand.changes.len(), on_demand.unavailable_offerings.len()), (1, 0));
        claim.instance.as_mut().unwrap().capacity_type = model::CapacityType::Reserved;
        let plan = interrupt(&facts.ledger, &claim, &event, now());
        let deletion = plan.changes[0].deletion.as_ref().unwrap();
        assert_eq!(deletion.reason, DeletionReason::ReservationEnding);
        let unavailable_offerings: Vec<String> =
            plan.unavailable_offerings.keys().map(ToString::to_string).collect();
        assert_eq!(unavailable_offerings, ["reserved t.large zone-1"]);
    }

    #[test]
    fn an_instance_that_ends_makes_nothing_unavailable() {
        let mut facts = facts(Vec::new());
        let claim = add_managed(&mut facts, "node-1");
        let event = interruption(InterruptionKind::InstanceEnding, &claim);
        let plan = interrupt(&facts.ledger, &claim, &event, now());
        let deletion = plan.changes[0].deletion.as_ref().unwrap();
        assert_eq!(deletion.reason, DeletionReason::InstanceEnded);
        assert!(plan.unavailable_offerings.is_empty());
    }
}

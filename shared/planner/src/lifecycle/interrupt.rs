//! What an announcement of EC2 about one instance means for its claim.
//!
//! Nothing is launched here: the pods of a claim that is deleted are planned by `provision`.
//!
//! Karpenter: `pkg/controllers/interruption/controller.go`.

use jiff::Timestamp;
use model::{
    DeletionReason, Function, NodeClaim, OfferingKey, Plan,
    interruption::{Interruption, InterruptionKind, REBALANCE_RECOMMENDATION, SPOT_NOTICE},
    ledger::{Decision, DecisionKind, Snapshot},
    limits,
};

/// What to do about `events`: each claim with all that is announced of its instance. What its offering
/// has no capacity for is left alone for a while, and so is an offering that EC2 recommends to leave.
///
/// A claim of which nothing else is announced than such a recommendation has drifted, and is replaced as any
/// other that has.
#[must_use]
pub fn interrupt<'e>(
    ledger: &Snapshot,
    events: impl IntoIterator<Item = (&'e NodeClaim, &'e [Interruption])>,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan { parent: ledger.head.counters, ..Plan::default() };
    for (claim, interruptions) in events {
        let taking = interruptions.iter().find(|event| takes_capacity(event, claim));
        if taking.is_some() || is_news_of_risk(claim, interruptions) {
            plan.unavailable_offerings.extend(unavailable(claim, now));
        }
        let ends_at = interruptions.iter().filter_map(|event| taken_at(event, now)).min();
        let is_forced = interruptions.iter().any(is_check);
        if claim.is_deleting() {
            let ends_at = ends_at.or_else(|| (is_forced && has_no_deadline(claim)).then_some(now));
            plan.changes.extend(ends_at.and_then(|ends_at| claim.hastened(ends_at)));
            continue;
        }
        let failed = interruptions.iter().find(|event| is_check(event));
        let ends = interruptions.iter().find(|event| !is_recommendation(event));
        let Some(first) = taking.or(failed).or(ends) else {
            let advice = interruptions.first();
            plan.changes.extend(advice.and_then(|advice| recommended(claim, advice)));
            continue;
        };
        let reason = match first.kind {
            InterruptionKind::SpotInterruption => DeletionReason::SpotInterrupted,
            InterruptionKind::ReservationInterruption => DeletionReason::ReservationEnding,
            InterruptionKind::ScheduledChange | InterruptionKind::CheckFailed => {
                DeletionReason::InstanceUnhealthy
            }
            InterruptionKind::InstanceEnding => DeletionReason::InstanceEnded,
            InterruptionKind::RebalanceRecommendation => continue,
        };
        plan.decisions.push(decision(claim, first, now));
        let mut deleted = claim.deleted(reason, now);
        // It is one step, of one version.
        let ends_at = if is_forced { Some(now) } else { ends_at };
        if let Some(hastened) = ends_at.and_then(|ends_at| deleted.hastened(ends_at)) {
            deleted.deletion = hastened.deletion;
        }
        plan.changes.push(deleted);
    }
    plan
}

/// When EC2 takes the instance, if it says so: whatever still runs there has until then.
fn taken_at(interruption: &Interruption, now: Timestamp) -> Option<Timestamp> {
    match interruption.kind {
        InterruptionKind::SpotInterruption => {
            interruption.at.checked_add(SPOT_NOTICE).ok().map(|at| at.max(now))
        }
        InterruptionKind::ReservationInterruption
        | InterruptionKind::ScheduledChange
        | InterruptionKind::RebalanceRecommendation
        | InterruptionKind::CheckFailed
        | InterruptionKind::InstanceEnding => None,
    }
}

/// Whether nothing on the instance can be waited for.
///
/// Karpenter: `pkg/controllers/instancestatus/controller.go` of the AWS provider.
fn is_check(interruption: &Interruption) -> bool {
    interruption.kind == InterruptionKind::CheckFailed
}

/// A deadline that a claim has already stands.
fn has_no_deadline(claim: &NodeClaim) -> bool {
    claim.deletion.as_ref().is_some_and(|deletion| deletion.deadline.is_none())
}

fn is_recommendation(interruption: &Interruption) -> bool {
    interruption.kind == InterruptionKind::RebalanceRecommendation
}

/// Whether EC2 recommends for the first time to leave the offering of `claim`: what replaces it should not come
/// from there.
fn is_news_of_risk(claim: &NodeClaim, interruptions: &[Interruption]) -> bool {
    let is_advised = interruptions.iter().any(is_recommendation);
    is_advised && !claim.is_deleting() && !was_advised(claim)
}

fn was_advised(claim: &NodeClaim) -> bool {
    claim.conditions.drifted.as_deref() == Some(REBALANCE_RECOMMENDATION)
}

/// `claim` as one that has drifted because EC2 recommends to leave its instance, unless that is known already. Another
/// reason gives way: it is found again once this one does not stand, and what counts is that the claim has drifted.
fn recommended(claim: &NodeClaim, advice: &Interruption) -> Option<NodeClaim> {
    if was_advised(claim) {
        return None;
    }
    let mut next = claim.following();
    next.conditions.drifted_since = claim.conditions.drifted_since.or(Some(advice.at));
    next.conditions.drifted = Some(REBALANCE_RECOMMENDATION.to_owned());
    Some(next)
}

/// Whether what is announced says that the offering of `claim` has no capacity.
fn takes_capacity(interruption: &Interruption, claim: &NodeClaim) -> bool {
    match interruption.kind {
        InterruptionKind::SpotInterruption => true,
        InterruptionKind::ReservationInterruption => claim.is_reserved(),
        InterruptionKind::ScheduledChange
        | InterruptionKind::RebalanceRecommendation
        | InterruptionKind::CheckFailed
        | InterruptionKind::InstanceEnding => false,
    }
}

fn unavailable(claim: &NodeClaim, now: Timestamp) -> Option<(OfferingKey, Timestamp)> {
    let until = now.checked_add(limits::UNAVAILABLE_FOR).ok()?;
    Some((claim.instance.as_ref()?.offering(), until))
}

fn decision(claim: &NodeClaim, interruption: &Interruption, now: Timestamp) -> Decision {
    let what = match interruption.kind {
        InterruptionKind::SpotInterruption => "EC2 takes its spot instance back",
        InterruptionKind::ReservationInterruption => {
            "its capacity reservation ends, or takes its instance back"
        }
        InterruptionKind::ScheduledChange => "AWS announces a change of its instance",
        InterruptionKind::InstanceEnding => "its instance is ending or has ended",
        InterruptionKind::CheckFailed => "EC2's checks of its instance fail",
        InterruptionKind::RebalanceRecommendation => "EC2 recommends to leave its spot instance",
    };
    let (name, instance) = (&claim.name, &interruption.instance);
    let summary = format!("{name} is deleted: {what} ({instance})");
    Decision {
        price_before: claim.instance.as_ref().map(|instance| instance.price),
        ..Decision::about(DecisionKind::Interruption, [claim], (Function::Interrupt, now), summary)
    }
}

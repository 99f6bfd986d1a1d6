//! Claims that go whatever runs on them: older than their `expireAfter`, in a capacity block that is
//! about to end, or with a NodeClaim object or a node that is being deleted, whose finalizer then
//! waits for the drain.
//!
//! No budget, no do-not-disrupt and no PodDisruptionBudget holds this back; draining honors the
//! latter two. Nothing is launched in advance: the pods of a claim that is deleted are planned by
//! `provision`. An unlaunched claim is left alone: only `launch` knows whether a request is under way.
//!
//! Karpenter: `pkg/controllers/nodeclaim/{expiration,lifecycle}/controller.go`,
//! `pkg/controllers/node/termination/controller.go`; AWS provider:
//! `pkg/controllers/nodeclaim/capacityreservation/expiration/controller.go`.

use std::{collections::BTreeSet, fmt};

use jiff::SignedDuration;
use model::{
    ClaimPhase, DeletionReason, Function, InstanceId, NodeClaim, Plan,
    facts::Facts,
    labels,
    ledger::{Decision, DecisionKind},
};

use crate::told;

/// Why a claim goes whatever runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause<'a> {
    /// It is older than its `expireAfter`, which is this.
    Expired(SignedDuration),
    /// The capacity block with this id, in which it is, is about to end.
    CapacityBlockEnding(&'a str),
    /// Its NodeClaim object is being deleted.
    NodeClaimDeleted,
    /// Its node is being deleted.
    NodeDeleted,
}

impl Cause<'_> {
    const fn reason(self) -> DeletionReason {
        match self {
            Self::Expired(_) => DeletionReason::Expired,
            Self::CapacityBlockEnding(_) => DeletionReason::ReservationEnding,
            Self::NodeClaimDeleted => DeletionReason::NodeClaimDeleted,
            Self::NodeDeleted => DeletionReason::NodeDeleted,
        }
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(after) => {
                let after = model::duration::format_go(*after);
                write!(f, "it is older than its expireAfter of {after}")
            }
            Self::CapacityBlockEnding(id) => write!(f, "its capacity block {id} is about to end"),
            Self::NodeClaimDeleted => f.write_str("its NodeClaim is being deleted"),
            Self::NodeDeleted => f.write_str("its node is being deleted"),
        }
    }
}

/// Deletes every claim whose time is over, whose capacity block is about to end, or whose NodeClaim
/// object or node is being deleted.
#[must_use]
pub fn forced(facts: &Facts) -> Plan {
    let deleted: BTreeSet<InstanceId> = facts
        .nodes
        .values()
        .filter(|node| node.is_deleting)
        .filter_map(|node| node.provider_id.as_ref()?.instance())
        .collect();
    let mut plan = Plan { parent: facts.ledger.head.counters, ..Plan::default() };
    for claim in facts.ledger.claims.values() {
        if let Some(cause) = cause(claim, facts, &deleted) {
            plan.changes.push(claim.deleted(cause.reason(), facts.now));
            let summary = format!("{} is deleted: {cause}", claim.name);
            let who = (Function::Disrupt, facts.now);
            let decision = Decision::about(DecisionKind::Termination, [claim], who, summary);
            plan.decisions.push(Decision {
                price_before: claim.instance.as_ref().map(|instance| instance.price),
                ..decision
            });
        }
    }
    told::name_pods(&mut plan.decisions, facts);
    plan
}

/// Why `claim` goes, if it does; `deleted` are the instances whose nodes are being deleted.
fn cause<'a>(
    claim: &'a NodeClaim,
    facts: &Facts,
    deleted: &BTreeSet<InstanceId>,
) -> Option<Cause<'a>> {
    if claim.is_deleting() || claim.phase == ClaimPhase::Created {
        return None;
    }
    let after = claim.expire_after.unwrap_or_default();
    let is_expired = claim.expires_at().is_some_and(|expires_at| expires_at <= facts.now);
    let block = || ending_block(claim, facts).map(Cause::CapacityBlockEnding);
    let is_its = |id: &InstanceId| {
        claim.instance.as_ref().is_some_and(|launched_instance| launched_instance.id == *id)
    };
    is_expired
        .then_some(Cause::Expired(after))
        .or_else(block)
        .or_else(|| is_deleted(claim, facts).then_some(Cause::NodeClaimDeleted))
        .or_else(|| deleted.iter().any(is_its).then_some(Cause::NodeDeleted))
}

/// Whether the NodeClaim object of `claim` is being deleted; `false` if not observed.
fn is_deleted(claim: &NodeClaim, facts: &Facts) -> bool {
    facts.deleted_claims.as_ref().is_some_and(|deleted| deleted.contains(&claim.name))
}

/// The capacity block of `claim`, if that is known to be about to end.
fn ending_block<'a>(claim: &'a NodeClaim, facts: &Facts) -> Option<&'a str> {
    let id = claim.labels.get(labels::RESERVATION_ID)?;
    let is_ending =
        facts.ending_reservations.as_ref().is_some_and(|ending| ending.contains(id.as_str()));
    (is_ending && claim.is_reserved()).then_some(id.as_str())
}

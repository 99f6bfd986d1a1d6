//! Claims that end whatever runs on them: older than their `expireAfter`, in a capacity block that is
//! about to end, or with a NodeClaim object or a node that somebody deletes, whose finalizer then
//! waits for the drain.
//!
//! No budget, no do-not-disrupt and no PodDisruptionBudget holds this back; draining honors the
//! latter two. Nothing is launched in advance: the pods of a claim that is given up are planned by
//! `provision`. A promised claim is left alone: only `launch` knows whether a request is under way.
//!
//! Karpenter: `pkg/controllers/nodeclaim/{expiration,lifecycle}/controller.go`,
//! `pkg/controllers/node/termination/controller.go`; AWS provider:
//! `pkg/controllers/nodeclaim/capacityreservation/expiration/controller.go`.

use std::collections::BTreeSet;

use model::{
    ClaimPhase, DeletionReason, InstanceId, NodeClaim, Plan, facts::Facts, labels, ledger::Decision,
};

/// Gives up every claim whose time is over, whose capacity block is about to end, or whose NodeClaim
/// object or node is being deleted.
#[must_use]
pub fn expiration(facts: &Facts) -> Plan {
    let deleted: BTreeSet<InstanceId> = facts
        .nodes
        .values()
        .filter(|node| node.is_deleting)
        .filter_map(|node| node.provider_id.as_ref()?.instance())
        .collect();
    let why = |claim: &NodeClaim| {
        let is_deleted = || claim.instance.as_ref().is_some_and(|i| deleted.contains(&i.id));
        if is_expired(claim, facts) {
            let after = claim.expire_after.map(model::duration::show_go).unwrap_or_default();
            let words = format!("it is older than its expireAfter of {after}");
            Some((DeletionReason::Expired, words))
        } else if claim.is_deleting() || claim.phase == ClaimPhase::Promised {
            None
        } else if let Some(id) = ending_block(claim, facts) {
            Some((
                DeletionReason::ReservationEnding,
                format!("its capacity block {id} is about to end"),
            ))
        } else if facts.deleted_claims.contains(&claim.name) {
            let words = "its NodeClaim is being deleted".to_owned();
            Some((DeletionReason::NodeClaimDeleted, words))
        } else {
            let words = "its node is being deleted".to_owned();
            is_deleted().then_some((DeletionReason::NodeDeleted, words))
        }
    };
    let mut plan = Plan { parent: facts.ledger.generation, ..Plan::default() };
    for claim in facts.ledger.claims.values() {
        if let Some((reason, why)) = why(claim) {
            plan.changes.push(claim.given_up(reason, facts.now));
            plan.decisions.push(decision(claim, &why, facts));
        }
    }
    plan
}

pub(crate) fn is_expired(claim: &NodeClaim, facts: &Facts) -> bool {
    !claim.is_deleting()
        && claim.phase != ClaimPhase::Promised
        && claim.expires_at().is_some_and(|expires_at| expires_at <= facts.now)
}

/// The capacity block of `claim`, if that is about to end.
fn ending_block<'a>(claim: &'a NodeClaim, facts: &Facts) -> Option<&'a String> {
    let id = claim.labels.get(labels::RESERVATION_ID)?;
    let is_ending = facts.ending_reservations.contains(id);
    (is_ending && claim.is_reserved()).then_some(id)
}

fn decision(claim: &NodeClaim, why: &str, facts: &Facts) -> Decision {
    Decision {
        at: facts.now,
        function: "disrupt".to_owned(),
        node_pool: Some(claim.node_pool.clone()),
        claims: vec![claim.name.clone()],
        summary: format!("{} is given up: {why}", claim.name),
        rejected: Vec::new(),
        price_before: claim.instance.as_ref().map(|instance| instance.price),
        price_after: None,
    }
}

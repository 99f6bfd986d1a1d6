//! Claims that are older than their `expireAfter`.
//!
//! No budget, no do-not-disrupt and no PodDisruptionBudget holds this back; draining honors the
//! latter two. Nothing is launched in advance: the pods of a claim that is given up are planned by
//! `provision`.
//!
//! Karpenter: `pkg/controllers/nodeclaim/expiration/controller.go`.

use model::{DeletionReason, NodeClaim, Plan, facts::Facts, ledger::Decision};

/// Gives up every claim whose time is over.
#[must_use]
pub fn expiration(facts: &Facts) -> Plan {
    let expired: Vec<&NodeClaim> =
        facts.ledger.claims.values().filter(|claim| is_expired(claim, facts)).collect();
    Plan {
        parent: facts.ledger.generation,
        changes: expired
            .iter()
            .map(|claim| claim.given_up(DeletionReason::Expired, facts.now))
            .collect(),
        decisions: expired.iter().map(|claim| decision(claim, facts)).collect(),
        ..Plan::default()
    }
}

pub(crate) fn is_expired(claim: &NodeClaim, facts: &Facts) -> bool {
    !claim.is_deleting() && claim.expires_at().is_some_and(|expires_at| expires_at <= facts.now)
}

fn decision(claim: &NodeClaim, facts: &Facts) -> Decision {
    let after = claim.expire_after.map(model::duration::show_go).unwrap_or_default();
    Decision {
        at: facts.now,
        function: "disrupt".to_owned(),
        node_pool: Some(claim.node_pool.clone()),
        claims: vec![claim.name.clone()],
        summary: format!("{} is given up: it is older than its expireAfter of {after}", claim.name),
        rejected: Vec::new(),
        price_before: claim.instance.as_ref().map(|instance| instance.price),
        price_after: None,
    }
}

//! Nodes that no pod needs: since when, which may go, and whether they still may later.
//!
//! Which nodes are candidates, within which budgets, is decided in `disruption`. Here it becomes a
//! plan: what is noted now, and which claims are given up when it still holds.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,validation}.go`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    HourlyPrice, NodeClaim, NodeClaimName, NodeName, NodePoolName, Plan, facts::Facts,
    ledger::Decision, message::DisruptionMethod,
};

use crate::{
    disruption::{self, idle},
    lifecycle::expiration::is_expired,
    world::World,
};

/// What was seen about empty nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptiness {
    /// Changes only since when claims are empty.
    pub observed: Plan,
    /// Claims that may be given up if nothing changes meanwhile, dearest first.
    pub candidates: Vec<NodeClaimName>,
}

/// Since when nodes are empty, and which of them may be given up within their pools' budgets.
#[must_use]
pub fn emptiness(facts: &Facts) -> Emptiness {
    let needing = facts.pods.iter().filter(|pod| pod.is_reschedulable());
    let needed: BTreeSet<&NodeName> = needing.filter_map(|pod| pod.node.as_ref()).collect();
    let world = World::of(facts);
    let claims = facts.ledger.claims.values();
    let changes = claims.filter_map(|claim| observed(facts, &world, &needed, claim)).collect();
    let observed = Plan { parent: facts.ledger.generation, changes, ..Plan::default() };
    Emptiness { observed, candidates: idle(facts, None).chosen }
}

/// The claim as it should be stored, if since when it is empty changed.
fn observed(
    facts: &Facts,
    world: &World<'_>,
    needed: &BTreeSet<&NodeName>,
    claim: &NodeClaim,
) -> Option<NodeClaim> {
    let node = world.node(claim).filter(|node| node.is_initialized())?;
    if claim.is_deleting() {
        return None;
    }
    let empty_since = match (needed.contains(&node.name), claim.empty_since) {
        (true, Some(_)) => None,
        (false, None) => Some(facts.now),
        (true, None) | (false, Some(_)) => return None,
    };
    Some(NodeClaim { empty_since, version: claim.version + 1, ..claim.clone() })
}

/// Gives up those of `claims`, found by `method` at `found_at`, for which the reason still holds.
/// The decision says which are refused, and why.
#[must_use]
pub fn validated(
    facts: &Facts,
    method: DisruptionMethod,
    claims: &[NodeClaimName],
    found_at: Timestamp,
) -> Plan {
    let names: BTreeSet<&NodeClaimName> = claims.iter().collect();
    let found: Vec<&NodeClaim> =
        names.iter().filter_map(|name| facts.ledger.claims.get(*name)).collect();
    let reason = disruption::reason(method);
    let (chosen, mut rejected) = match method {
        DisruptionMethod::Emptiness => {
            let found_again = idle(facts, Some(&names));
            let chosen = found_again.chosen.iter().filter_map(|name| facts.ledger.claims.get(name));
            let (still, again): (Vec<_>, Vec<_>) =
                chosen.partition(|claim| claim.empty_since.is_none_or(|since| since <= found_at));
            let again = again.iter().map(|c| format!("{}: a pod needed it meanwhile", c.name));
            let rejected = found_again.rejected.iter().map(|(name, why)| format!("{name}: {why}"));
            (still, rejected.chain(again).collect::<Vec<_>>())
        }
        DisruptionMethod::Expiration => {
            let (expired, young): (Vec<&NodeClaim>, Vec<_>) =
                found.iter().copied().partition(|claim| is_expired(claim, facts));
            let young = young.iter().map(|claim| format!("{}: it has not expired", claim.name));
            (expired, young.collect())
        }
        DisruptionMethod::Drift | DisruptionMethod::Consolidation => {
            // The order of the message is the order in which pods are looked at.
            let found: Vec<&NodeClaim> =
                claims.iter().filter_map(|name| facts.ledger.claims.get(name)).collect();
            match disruption::still(facts, method, &found) {
                _ if found.is_empty() => (found, Vec::new()),
                Ok(()) => (found, Vec::new()),
                Err(why) => (Vec::new(), why),
            }
        }
    };
    let gone = names.iter().filter(|name| !facts.ledger.claims.contains_key(**name));
    rejected.extend(gone.map(|name| format!("{name}: it is gone")));
    rejected.sort();
    let changes = chosen.iter().map(|claim| claim.given_up(reason, facts.now)).collect();
    let decision = (!names.is_empty()).then(|| decision(facts, method, &chosen, rejected));
    Plan {
        parent: facts.ledger.generation,
        changes,
        decisions: decision.into_iter().collect(),
        ..Plan::default()
    }
}

fn decision(
    facts: &Facts,
    method: DisruptionMethod,
    chosen: &[&NodeClaim],
    rejected: Vec<String>,
) -> Decision {
    let pools: BTreeSet<&NodePoolName> = chosen.iter().map(|claim| &claim.node_pool).collect();
    let total = chosen.iter().fold(HourlyPrice::default(), |sum, c| sum.saturating_add(price(c)));
    let (method, count) = (method.as_str(), chosen.len());
    let nodes = if count == 1 { "node is" } else { "nodes are" };
    Decision {
        at: facts.now,
        function: "disrupt".to_owned(),
        node_pool: pools.first().filter(|_| pools.len() == 1).map(|pool| (*pool).clone()),
        claims: chosen.iter().map(|claim| claim.name.clone()).collect(),
        summary: format!("{method}: {count} {nodes} given up, ${total} per hour"),
        rejected,
        price_before: Some(total),
        price_after: None,
    }
}

fn price(claim: &NodeClaim) -> HourlyPrice {
    claim.instance.as_ref().map(|instance| instance.price).unwrap_or_default()
}

#[cfg(test)]
mod tests;

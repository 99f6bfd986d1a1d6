//! What of the decisions can be carried out: nodes whose pods all fit onto what is there.
//!
//! Launching a node before others go is not supported yet, so commands that need one are not found
//! here; that a node stays for it is among the reasons. [`super::outlook`] has the whole truth.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    DeletionReason, NodeClaim, NodeClaimName, NodeName, NodePoolName, Plan, facts::Facts,
    ledger::Decision, message::DisruptionMethod,
};

use super::{
    Command, Disrupted, Method, Options,
    outlook::{Answer, Prepared},
    validation,
};
use crate::world::World;

/// Reasons that one decision record keeps.
const REJECTED_MAX: usize = 20;

/// What a look for drifted nodes, or for nodes that cost more than need be, found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Gives the claims up.
    pub plan: Plan,
    /// The claims that it gives up, in the order in which their pods are moved.
    pub claims: Vec<NodeClaimName>,
}

impl Effect {
    /// The same without giving anything up yet.
    #[must_use]
    pub fn observed(&self) -> Plan {
        Plan { changes: Vec::new(), ..self.plan.clone() }
    }
}

fn options() -> Options {
    let own = Options { works_out_drift: true, notes_emptiness: true, ..Options::default() };
    Options { launches: false, ..own }
}

fn methods(method: DisruptionMethod) -> &'static [Method] {
    match method {
        DisruptionMethod::Drift => &[Method::Drift],
        DisruptionMethod::Consolidation => &[Method::MultiNode, Method::SingleNode],
        // They have rules of their own.
        DisruptionMethod::Emptiness | DisruptionMethod::Expiration => &[],
    }
}

/// What `method` gives up now. Nothing else is carried out with it.
#[must_use]
pub fn effect(facts: &Facts, method: DisruptionMethod) -> Effect {
    let options = options();
    let mut prepared = Prepared::of(facts, &options);
    if methods(method).iter().any(|one| prepared.looks_at_any(*one)) {
        prepared.spare_for_pending();
    }
    let mut last = Answer::default();
    for one in methods(method) {
        last = prepared.answer(*one);
        if last.command.is_some() {
            break;
        }
    }
    let claims: Vec<NodeClaimName> = last
        .command
        .iter()
        .flat_map(|command| command.candidates.iter().map(|one| one.claim.clone()))
        .collect();
    let given_up = claims.iter().filter_map(|name| facts.ledger.claims.get(name));
    let reason = reason(method);
    let plan = Plan {
        parent: facts.ledger.generation,
        changes: given_up.map(|claim| claim.given_up(reason, facts.now)).collect(),
        decisions: vec![decision(facts, method, &last)],
        ..Plan::default()
    };
    Effect { plan, claims }
}

/// Why a claim is given up that `method` found.
pub(crate) const fn reason(method: DisruptionMethod) -> DeletionReason {
    match method {
        DisruptionMethod::Emptiness => DeletionReason::Empty,
        DisruptionMethod::Expiration => DeletionReason::Expired,
        DisruptionMethod::Drift => DeletionReason::Drifted,
        DisruptionMethod::Consolidation => DeletionReason::Underutilized,
    }
}

fn decision(facts: &Facts, method: DisruptionMethod, answer: &Answer) -> Decision {
    let command = answer.command.as_ref();
    let chosen = command.map(|command| command.candidates.as_slice()).unwrap_or_default();
    // Of nodes that have not drifted nothing else is to be said.
    let is_concerned = |node: &NodeName| {
        method == DisruptionMethod::Consolidation || answer.eligible.contains(node)
    };
    let is_left = |node: &NodeName| !chosen.iter().any(|one| one.node == *node);
    let stay = answer.notes.iter().filter(|(node, _)| is_left(node) && is_concerned(node));
    let mut rejected: Vec<String> = stay.map(|(node, why)| format!("{node}: {why}")).collect();
    if let Some((command, voided)) = &answer.voided {
        let nodes: Vec<&str> = command.nodes().map(NodeName::as_str).collect();
        rejected.insert(0, format!("{}: {voided}", nodes.join(", ")));
    }
    rejected.extend(answer.error.clone());
    rejected.truncate(REJECTED_MAX);
    let pools: BTreeSet<&NodePoolName> = chosen.iter().map(|one| &one.node_pool).collect();
    let method = method.as_str();
    let summary = match command {
        Some(command) => {
            let nodes: Vec<&str> = command.nodes().map(NodeName::as_str).collect();
            let pods = super::counted(command.moves.len(), "pod");
            let (nodes, saving) = (nodes.join(", "), command.saving());
            format!("{method}: {nodes} can go, {pods} fit elsewhere, saves ${saving} per hour")
        }
        None => format!("{method}: nothing can go"),
    };
    Decision {
        at: facts.now,
        function: "disrupt".to_owned(),
        node_pool: pools.first().filter(|_| pools.len() == 1).map(|pool| (*pool).clone()),
        claims: chosen.iter().map(|one| one.claim.clone()).collect(),
        summary,
        rejected,
        price_before: command.map(|command| command.price_before),
        price_after: command.map(|command| command.price_after),
    }
}

/// Whether all of `claims`, which were found together a while ago, can still go together; or why not.
pub(crate) fn still(
    facts: &Facts,
    method: DisruptionMethod,
    claims: &[&NodeClaim],
) -> Result<(), Vec<String>> {
    if method == DisruptionMethod::Drift {
        // Drift is not validated: it holds as it is, or is found anew.
        let found = effect(facts, method);
        let is_found = claims.iter().all(|claim| found.claims.contains(&claim.name));
        return if is_found { Ok(()) } else { Err(reasons(found)) };
    }
    let options = options();
    let mut prepared = Prepared::of(facts, &options);
    prepared.spare_for_pending();
    let world = World::of(facts);
    let nodes: BTreeMap<&NodeClaimName, &NodeName> =
        claims.iter().filter_map(|one| Some((&one.name, &world.node(one)?.name))).collect();
    let mut candidates = Vec::with_capacity(claims.len());
    for claim in claims {
        let Some(node) = nodes.get(&claim.name) else {
            return Err(vec![format!("{}: its node is gone", claim.name)]);
        };
        candidates.push(Disrupted {
            node: (*node).clone(),
            claim: claim.name.clone(),
            node_pool: claim.node_pool.clone(),
            price: claim.instance.as_ref().map(|instance| instance.price).unwrap_or_default(),
            reason: String::new(),
        });
    }
    let command = Command {
        method: if candidates.len() > 1 { Method::MultiNode } else { Method::SingleNode },
        price_before: super::outlook::price_of(&candidates),
        candidates,
        replacements: Vec::new(),
        moves: Vec::new(),
        price_after: model::HourlyPrice::default(),
        rejected: Vec::new(),
    };
    let Prepared { state, field, simulator, .. } = &mut prepared;
    match validation::validated(state, field, simulator, &command) {
        Ok(_) => Ok(()),
        Err(voided) => Err(voided.details),
    }
}

fn reasons(found: Effect) -> Vec<String> {
    found.plan.decisions.into_iter().flat_map(|decision| decision.rejected).collect()
}

#[cfg(test)]
mod tests;

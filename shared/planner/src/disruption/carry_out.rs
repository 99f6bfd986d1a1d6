//! What the function `disrupt` makes of the decisions: a look, a command that waits, a plan.
//!
//! How a command goes on once it has begun, [`super::command`] says.

use std::collections::BTreeSet;

use model::{
    CommandId, DeletionReason, Function, HourlyPrice, NodeClaim, NodeClaimName, NodeName,
    NodePoolName, Plan,
    disruption::{Command, DisruptionReason, Method},
    facts::Facts,
    ledger::{Bound, Decision, DecisionKind, Rejected, RejectionReason},
    limits,
    node_pool::NodePool,
    policies::ConsolidationSearch,
    words,
};

use super::{
    Dropped, Objection, Options, Voided, budgets::Remaining, decide::PreparedCluster, empty_since,
    finding::Finding,
};
use crate::told;

/// What is to be noted about claims, without a deletion: since when their nodes are empty.
#[must_use]
pub fn observed(facts: &Facts) -> Plan {
    let parent = facts.ledger.head.counters;
    Plan { parent, changes: empty_since::changes(facts), ..Plan::default() }
}

/// What to disrupt for `reason`.
#[must_use]
pub fn look(facts: &Facts, reason: DisruptionReason, options: &Options) -> Finding {
    PreparedCluster::of(facts, options).look(reason)
}

impl PreparedCluster<'_> {
    /// What to disrupt for `reason`. A caller that asks for several reasons prepares the facts once.
    pub fn look(&mut self, reason: DisruptionReason) -> Finding {
        let facts = self.state.facts;
        let is_thorough = reason == DisruptionReason::Underutilized
            && facts.policies.consolidation == ConsolidationSearch::Thorough;
        let mut finding =
            if is_thorough { self.look_thoroughly() } else { self.first(methods(reason)) };
        if reason != DisruptionReason::Empty {
            let bounds = self.bounds(reason);
            finding.decision = Some(Decision { bounds, ..decision(facts, reason, &finding) });
        }
        finding
    }

    /// What the budgets leave for `reason`.
    pub(super) fn bounds(&self, reason: DisruptionReason) -> Vec<Bound> {
        let remaining = Remaining::of(&self.state, reason);
        let bound = |pool: &NodePool| Bound {
            node_pool: pool.name.clone(),
            what: format!("budget {}", reason.as_str()),
            left: remaining.left(&pool.name).map(|left| words::counted(count(left), "node")),
        };
        self.state.facts.node_pools.iter().map(bound).collect()
    }

    /// What the budgets of the NodePools of its candidates leave for `command`.
    pub(super) fn bounds_of(&self, command: &Command) -> Vec<Bound> {
        let of_candidates = claims(self.state.facts, command);
        let pools: BTreeSet<&NodePoolName> = of_candidates.map(|claim| &claim.node_pool).collect();
        let mut bounds = self.bounds(command.method.reason());
        bounds.retain(|bound| pools.contains(&bound.node_pool));
        bounds
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The methods that look for `reason`. Drifted nodes of static pools are replaced whether or not their number is kept.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `NewMethods`, which asks no feature gate for `StaticDrift`.
const fn methods(reason: DisruptionReason) -> &'static [Method] {
    match reason {
        DisruptionReason::Empty => &[Method::Emptiness],
        DisruptionReason::Drifted => &[Method::StaticDrift, Method::Drift],
        DisruptionReason::Underutilized => &[Method::MultiNode, Method::SingleNode],
        DisruptionReason::Unhealthy => &[Method::Repair],
    }
}

/// The claims of `command`, deleted.
pub fn disrupted(facts: &Facts, command: &Command) -> Vec<NodeClaim> {
    let reason = DeletionReason::Disrupted(command.method.reason());
    claims(facts, command)
        .map(|claim| claim.deleted_within(reason, facts.now, command.drain))
        .collect()
}

fn claims<'f>(facts: &'f Facts, command: &Command) -> impl Iterator<Item = &'f NodeClaim> {
    command.candidates.iter().filter_map(|name| facts.ledger.claims.get(name))
}

/// Begins what of `command` still holds, and says why the rest does not.
#[must_use]
pub fn validated(facts: &Facts, (id, command): (&CommandId, &Command), options: &Options) -> Plan {
    let ended = || Plan {
        parent: facts.ledger.head.counters,
        ended: [id.clone()].into(),
        ..Plan::default()
    };
    // Of the command as a whole, so of each of its nodes.
    let of_all = |objection: &Objection| {
        let nodes = claims(facts, command).map(|claim| {
            let node = claim.node.as_ref();
            node.map_or_else(|| claim.name.to_string(), ToString::to_string)
        });
        nodes.map(|node| objection.rejected(Some(node))).collect::<Vec<_>>()
    };
    let mut prepared = PreparedCluster::of(facts, options);
    if !options.is_watched {
        prepared.spare_for_pending();
    }
    let (mut plan, candidates, mut rejected) = match prepared.still(command) {
        Ok(valid) => {
            let rejected = lines(&valid.dropped, command.method);
            match prepared.begun((id, &valid.command)) {
                Ok(plan) => (plan, valid.command.candidates, rejected),
                Err(objection) => (ended(), Vec::new(), of_all(&objection)),
            }
        }
        Err(Voided::Churn(dropped) | Voided::Budget(dropped)) => {
            (ended(), Vec::new(), lines(&dropped, command.method))
        }
        Err(Voided::Scheduling(objection)) => (ended(), Vec::new(), of_all(&objection)),
    };
    rejected.sort_by_cached_key(ToString::to_string);
    rejected.truncate(limits::REJECTED_PER_DECISION_MAX);
    if let [decision] = plan.decisions.as_mut_slice() {
        decision.rejected = rejected;
    } else if !command.candidates.is_empty() {
        let bounds = prepared.bounds_of(command);
        let record = if candidates.is_empty() {
            void_record_of(facts, command, &rejected)
        } else {
            record_of(facts, command.method, &candidates)
        };
        plan.decisions = vec![Decision { rejected, bounds, ..record }];
    }
    plan
}

/// The record of `command`, whose nodes are all `rejected`.
fn void_record_of(facts: &Facts, command: &Command, rejected: &[Rejected]) -> Decision {
    let method = name(command.method.reason());
    let nodes = words::counted(command.candidates.len(), "node");
    let why: BTreeSet<&str> = rejected.iter().map(|rejected| rejected.why.as_str()).collect();
    let why = why.into_iter().collect::<Vec<_>>().join("; ");
    let summary = format!("{method}: {nodes} not disrupted: {why}");
    let who = (Function::Disrupt, facts.now);
    Decision::about(DecisionKind::NonDisruption, [], who, summary)
}

/// The record of a disruption of the claims that are `left` of a command.
fn record_of(facts: &Facts, method: Method, left: &[NodeClaimName]) -> Decision {
    let disrupted = || left.iter().filter_map(|name| facts.ledger.claims.get(name));
    let prices = disrupted().filter_map(|claim| Some(claim.instance.as_ref()?.price));
    let total = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
    let (method, count) = (name(method.reason()), words::many(left.len()));
    let nodes = if left.len() == 1 { "node is" } else { "nodes are" };
    let summary = format!("{method}: {count} {nodes} disrupted, ${total} an hour");
    let (kind, who) = (DecisionKind::Disruption, (Function::Disrupt, facts.now));
    let decision = Decision::about(kind, disrupted(), who, summary);
    Decision { price_before: Some(total), ..told::with_pods(decision, facts) }
}

/// What `method` looks for: `drift` of a static NodePool is drift.
#[must_use]
pub const fn name_of(method: Method) -> &'static str {
    name(method.reason())
}

/// What looking for `reason` is called.
pub const fn name(reason: DisruptionReason) -> &'static str {
    match reason {
        DisruptionReason::Empty => "emptiness",
        DisruptionReason::Drifted => "drift",
        DisruptionReason::Underutilized => "consolidation",
        DisruptionReason::Unhealthy => "repair",
    }
}

/// Its claim says whether a node is empty.
fn lines(dropped: &[Dropped], method: Method) -> Vec<Rejected> {
    let of_claim = method == Method::Emptiness;
    let line = |dropped: &Dropped| {
        let node = dropped.node.as_ref().filter(|_| !of_claim);
        let what = node.map_or_else(|| dropped.claim.to_string(), ToString::to_string);
        dropped.reason.rejected(Some(what))
    };
    dropped.iter().map(line).collect()
}

fn decision(facts: &Facts, reason: DisruptionReason, finding: &Finding) -> Decision {
    let proposal = finding.proposal.as_ref();
    // Of nodes that have not drifted nothing else is to be said.
    let is_concerned = |node: &NodeName| {
        reason == DisruptionReason::Underutilized || finding.eligible.contains(node)
    };
    let is_left = |node: &NodeName| {
        !proposal.is_some_and(|proposal| proposal.nodes().any(|goes| goes == node))
    };
    let is_reached = |why: &Objection| *why != Objection::NotReached;
    let stay = finding
        .notes
        .iter()
        .filter(|(node, why)| is_left(node) && is_concerned(node) && is_reached(why));
    let why = |what: String, objection: &Objection| objection.rejected(Some(what));
    let mut rejected: Vec<Rejected> =
        stay.map(|(node, objection)| why(node.to_string(), objection)).collect();
    if let Some((proposal, voided)) = &finding.voided {
        let nodes: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
        let reason = RejectionReason::Changed;
        let (what, why) = (Some(nodes.join(", ")), voided.to_string());
        rejected.insert(0, Rejected { what, reason, why });
    }
    let error = finding.error.as_ref();
    rejected.extend(error.map(|error| error.rejected(None)));
    let unreached = finding.notes.values().filter(|why| !is_reached(why)).count();
    if 0 < unreached {
        let nodes = words::counted(unreached, "node");
        let why = format!("{nodes} not reached: one look simulates only so much");
        let reason = RejectionReason::NotReached;
        rejected.insert(0, Rejected { what: None, reason, why });
    }
    rejected.truncate(limits::REJECTED_PER_DECISION_MAX);
    let method = name(reason);
    let summary = match proposal {
        Some(proposal) => {
            let nodes: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
            let pods = words::counted(proposal.moves.len(), "pod");
            let fit = if proposal.moves.len() == 1 { "fits" } else { "fit" };
            let (nodes, saving) = (nodes.join(", "), proposal.saving());
            format!(
                "{method}: {nodes} can be disrupted, {pods} {fit} elsewhere, saves ${saving} an hour"
            )
        }
        None => format!("{method}: nothing to disrupt"),
    };
    let chosen = proposal.into_iter().flat_map(|proposal| claims(facts, &proposal.command));
    let kind = match proposal {
        Some(_) => DecisionKind::Disruption,
        None => DecisionKind::NonDisruption,
    };
    let decision = Decision::about(kind, chosen, (Function::Disrupt, facts.now), summary);
    Decision {
        rejected,
        price_before: proposal.map(|proposal| proposal.price_before),
        price_after: proposal.map(|proposal| proposal.price_after),
        ..told::with_pods(decision, facts)
    }
}

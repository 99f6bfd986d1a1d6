//! What claims show to people: conditions `Consolidatable` and `Drifted`, and whether their nodes are as large as was
//! expected. Decisions work it out anew where the facts say enough. Noted on a claim when it changes, and only then.
//!
//! Karpenter: `pkg/controllers/nodeclaim/disruption/{consolidation,drift}.go`, `pkg/controllers/nodeclaim/consistency`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    DeletionReason, NodeClaim, NodeClaimName, Plan, Pod,
    claim::ClaimConditions,
    disruption::{Command, DisruptionReason},
    facts::Facts,
    node::Node,
    node_pool::NodePool,
};

use super::{
    conditions,
    nodes::{State, StateNode},
};
use crate::{
    pod_events::{needing, quiet_since},
    world::World,
};

/// Minimum share of the expected resources that a node must have, in per cent.
///
/// Karpenter: `consistency/nodeshape.go`.
const EXPECTED_PERCENT: u64 = 90;
/// Claims that one look notes something on at most: after an update all have something new to show.
pub(super) const NOTED_MAX: usize = 100;

/// `changes` with what claims show now. A claim that is deleted shows nothing new.
pub fn note(state: &State<'_>, changes: &mut Vec<NodeClaim>) {
    let facts = state.facts;
    if facts.unlocated_pod.is_some() {
        // Any node may be its.
        return;
    }
    let world = World::of(facts);
    let entries = state.nodes.iter();
    let entries: BTreeMap<&NodeClaimName, &StateNode<'_>> =
        entries.filter_map(|entry| Some((&entry.claim?.name, entry))).collect();
    let pods = needing(facts);
    let mut more = NOTED_MAX;
    for stored in facts.ledger.claims.values().filter(|claim| !claim.is_deleting()) {
        let Some(node) = world.node(stored).filter(|node| node.is_initialized()) else { continue };
        let change = changes.iter_mut().find(|change| change.name == stored.name);
        let claim = change.as_deref().unwrap_or(stored);
        if claim.is_deleting() {
            continue;
        }
        let pods = pods.get(&node.name).map(Vec::as_slice).unwrap_or_default();
        let pool = facts.node_pools.iter().find(|pool| pool.name == claim.node_pool);
        let drifted = match (pool, entries.get(&claim.name)) {
            (Some(pool), Some(entry)) => conditions::drift(state, entry, pool).map(|drift| drift.1),
            // Without its NodePool nothing is compared.
            _ => claim.conditions.drifted.clone(),
        };
        let Some(conditions) = shown(claim, node, pool, (pods, drifted), facts) else { continue };
        match change {
            Some(change) => change.conditions = conditions,
            None if more > 0 => {
                more -= 1;
                changes.push(NodeClaim { conditions, ..stored.following() });
            }
            None => {}
        }
    }
}

/// The claims that `plan` deletes or replaces because they have drifted, with the condition that says so. Karpenter sets
/// it before it disrupts a node.
pub fn note_drift(state: &State<'_>, plan: &mut Plan) {
    let is_deleted = |claim: &&NodeClaim| {
        let reason = DeletionReason::Disrupted(DisruptionReason::Drifted);
        claim.deletion.as_ref().is_some_and(|deletion| deletion.reason == reason)
    };
    let is_for_drift = |command: &&Command| command.method.reason() == DisruptionReason::Drifted;
    let deleted = plan.changes.iter().filter(is_deleted).map(|claim| &claim.name);
    let started = plan.started.values().filter(is_for_drift);
    let replaced = started.flat_map(|command| &command.candidates);
    let names: BTreeSet<NodeClaimName> = deleted.chain(replaced).cloned().collect();
    for entry in state.nodes.iter() {
        let Some(stored) = entry.claim.filter(|claim| names.contains(&claim.name)) else {
            continue;
        };
        let pool = state.pool(stored.node_pool.as_str());
        let Some((_, drift)) = pool.and_then(|pool| conditions::drift(state, entry, pool)) else {
            continue;
        };
        if plan.changes.iter().all(|change| change.name != stored.name) {
            if stored.conditions.drifted.is_some() {
                continue;
            }
            plan.changes.push(stored.following());
        }
        for change in plan.changes.iter_mut().filter(|change| change.name == stored.name) {
            change.conditions.drifted = Some(drift.clone());
            change.conditions.drifted_since.get_or_insert(state.now);
        }
    }
}

/// The conditions of `claim` with what it shows now, where that is news.
fn shown(
    claim: &NodeClaim,
    node: &Node,
    pool: Option<&NodePool>,
    (pods, drifted): (&[&Pod], Option<String>),
    facts: &Facts,
) -> Option<ClaimConditions> {
    let before = &claim.conditions;
    let is_consolidatable = pool.is_some_and(|pool| is_consolidatable(claim, pool, pods, facts));
    let consolidatable_since =
        is_consolidatable.then(|| before.consolidatable_since.unwrap_or(facts.now));
    let inconsistent = inconsistency(claim, node);
    let drifted_since = drifted.as_ref().map(|_| before.drifted_since.unwrap_or(facts.now));
    let is_news = consolidatable_since != before.consolidatable_since
        || inconsistent.is_some() != before.inconsistent.is_some()
        || drifted != before.drifted;
    is_news.then(|| ClaimConditions {
        consolidatable_since,
        inconsistent,
        drifted,
        drifted_since,
        ..before.clone()
    })
}

fn is_consolidatable(claim: &NodeClaim, pool: &NodePool, pods: &[&Pod], facts: &Facts) -> bool {
    let after = pool.disruption.consolidate_after.filter(|_| pool.replicas.is_none());
    let Some(after) = after else { return false };
    match claim.conditions.is_consolidatable {
        Some(is_consolidatable) => is_consolidatable,
        None => after <= facts.now.duration_since(quiet_since(claim, pods, facts.now, false)),
    }
}

/// What `node` lacks of what was expected of it, in words.
fn inconsistency(claim: &NodeClaim, node: &Node) -> Option<String> {
    let lacks = |(name, _): (&str, u64)| {
        let (expected, present) = (claim.capacity.get(name), node.capacity.get(name));
        let is_less =
            u128::from(present) * 100 < u128::from(expected) * u128::from(EXPECTED_PERCENT);
        is_less.then(|| format!("expected {expected} of {name}, and the node has {present}"))
    };
    let requested = claim.requests.iter().filter(|(_, amount)| 0 < *amount);
    let problems: Vec<String> = requested.filter_map(lacks).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

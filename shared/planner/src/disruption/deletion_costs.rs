//! Which pods a ReplicaSet is to delete first when it is scaled down: those on nodes that go, or would go next, so that
//! nodes become empty by themselves. Gate `PodDeletionCostManagement`.
//!
//! Karpenter 1.15: `pkg/controllers/pod/deletioncost`.

use std::collections::BTreeMap;

use model::{
    NodePoolName, Pod, disruption::DisruptionReason, facts::Facts, labels, pod::DeletionCost,
};

use super::{
    Options,
    budgets::Remaining,
    candidate::Candidate,
    conditions,
    nodes::{State, StateNode},
    search::Field,
};
use crate::{
    eviction::is_active,
    index::id::{CandidateId, NodeId},
};

/// Nodes whose pods are written in one pass, beside those that go.
///
/// Karpenter 1.15: `pkg/controllers/pod/deletioncost/controller.go`.
const NODES_PER_PASS: usize = 50;
/// The cost of pods on nodes that go.
const GOING: i32 = i32::MIN;
/// Kinds whose pods come back by themselves, and may be moved by a node's end.
const OWNERS: [&str; 3] = ["DaemonSet", "Job", "ReplicaSet"];
const REPLICA_SET: &str = "ReplicaSet";
const SYSTEM: &str = "kube-system";

/// What is written to pods in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionCosts {
    /// What changes, in the order in which it is written: pods of nodes that go, pods of ranked nodes, and last those
    /// that lose the annotation.
    pub writes: Vec<DeletionCost>,
    /// How many nodes of each NodePool are left for the next pass.
    pub pending: BTreeMap<NodePoolName, u64>,
}

/// What the pods of ReplicaSets are to cost. Empty where the gate is closed. Pods that cost that already, and pods on nodes
/// that are not managed, are not named.
#[must_use]
pub fn deletion_costs(facts: &Facts, options: &Options) -> DeletionCosts {
    if !facts.policies.pod_deletion_cost_management {
        return DeletionCosts::default();
    }
    let state = State::of(facts, facts.now, options);
    let field = Field::of(&state);
    let ranked = ranked(&state, &field);
    let lowest = -i32::try_from(ranked.len()).unwrap_or(i32::MAX);
    let ranks: BTreeMap<NodeId, i32> = ranked.into_iter().zip(lowest..0).collect();
    let managed =
        state.nodes.entries().filter(|(_, entry)| entry.claim.is_some() && entry.node.is_some());
    let mut written: Vec<(NodeId, Option<i32>, Vec<DeletionCost>)> = managed
        .map(|(id, entry)| {
            let cost = if is_going(entry) { Some(GOING) } else { ranks.get(&id).copied() };
            (id, cost, changed(entry, cost))
        })
        .filter(|(_, _, writes)| !writes.is_empty())
        .collect();
    written.sort_by_key(|(id, cost, _)| (cost.is_none(), *cost, *id));
    let mut costs = DeletionCosts::default();
    let mut more = NODES_PER_PASS;
    for (id, cost, writes) in written {
        if cost != Some(GOING) {
            let Some(left) = more.checked_sub(1) else {
                if let Some(claim) = state.nodes[id].claim {
                    *costs.pending.entry(claim.node_pool.clone()).or_default() += 1;
                }
                continue;
            };
            more = left;
        }
        costs.writes.extend(writes);
    }
    costs
}

/// The nodes that would go next, the first of them first: those that have drifted, then the others in the order of
/// consolidation, each as far as the budgets of its reason reach.
fn ranked(state: &State<'_>, field: &Field<'_>) -> Vec<NodeId> {
    let may_go = field.candidates.entries().filter(|(_, candidate)| may_go(state, candidate));
    let (drifted, others): (Vec<CandidateId>, Vec<CandidateId>) =
        may_go.map(|(id, _)| id).partition(|id| has_drifted(state, &field.candidates[*id]));
    let mut ranked = Vec::new();
    for (ids, reason) in
        [(drifted, DisruptionReason::Drifted), (others, DisruptionReason::Underutilized)]
    {
        let mut remaining = Remaining::of(state, reason);
        let mut sorted = field.by_savings(&ids);
        sorted.retain(|id| remaining.take(&field.candidates[*id].pool.name));
        ranked.extend(sorted.into_iter().map(|id| field.candidates[id].number));
    }
    ranked
}

/// Whether `candidate` may be disrupted by Karpenter, and its pods come back elsewhere.
fn may_go(state: &State<'_>, candidate: &Candidate<'_>) -> bool {
    let is_allowed = candidate.refused.is_none() && candidate.blocked.is_none();
    let is_known = candidate.instance_type.is_some();
    let is_ever = candidate.pool.disruption.consolidate_after.is_some();
    let comes_back = |pod: &&Pod| {
        pod.key.namespace.as_str() == SYSTEM
            || pod.owner.as_ref().is_some_and(|owner| OWNERS.contains(&owner.kind.as_str()))
    };
    let entry = &state.nodes[candidate.number];
    let mut pods = entry.pods.iter().copied().filter(|pod| is_active(pod));
    is_allowed
        && is_known
        && !is_going(entry)
        && (is_ever || has_drifted(state, candidate))
        && pods.all(|pod| comes_back(&pod))
}

fn has_drifted(state: &State<'_>, candidate: &Candidate<'_>) -> bool {
    conditions::drift(state, &state.nodes[candidate.number], candidate.pool).is_some()
}

fn is_going(entry: &StateNode<'_>) -> bool {
    let is_tainted = entry
        .node
        .is_some_and(|node| node.taints.iter().any(|taint| taint.key == labels::DISRUPTED_TAINT));
    is_tainted || entry.is_marked_for_deletion()
}

/// The pods of ReplicaSets on the node that do not say that they cost `cost`.
fn changed(entry: &StateNode<'_>, cost: Option<i32>) -> Vec<DeletionCost> {
    let wanted = cost.map(|cost| cost.to_string());
    let of_replica_sets = entry.pods.iter().filter(|pod| {
        is_active(pod)
            && !pod.is_unreadable()
            && pod.owner.as_ref().is_some_and(|owner| owner.kind == REPLICA_SET)
    });
    let says_otherwise = of_replica_sets
        .filter(|pod| pod.spec.annotations.get(labels::POD_DELETION_COST) != wanted.as_ref());
    says_otherwise.map(|pod| DeletionCost { pod: pod.key.clone(), cost }).collect()
}

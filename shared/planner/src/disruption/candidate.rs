//! Which nodes could be given up, and why the others cannot.
//!
//! Karpenter: `pkg/controllers/disruption/types.go`, `NewCandidate`, and
//! `pkg/controllers/state/statenode.go`, `ValidateNodeDisruptable`, `ValidatePodsDisruptable`.

use std::{cmp::Ordering, sync::Arc};

use model::{
    CapacityType, InstanceType, NodeClaim, Pod, disruption::Method, labels, node::Node,
    node_pool::NodePool,
};

use super::{
    nodes::{State, StateNode},
    price::{self, Exact},
};
use crate::{
    eviction::{self, COST_UNIT},
    index::id::NodeId,
};

/// A node that could be given up.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    /// Its number among the nodes.
    pub(crate) number: NodeId,
    pub(crate) node: &'a Node,
    pub(crate) claim: &'a NodeClaim,
    pub(crate) pool: &'a NodePool,
    pub(crate) instance_type: Option<Arc<InstanceType>>,
    pub(crate) capacity_type: Option<CapacityType>,
    pub(crate) has_zone: bool,
    /// Pods that would need another node.
    pub(crate) pods: Vec<&'a Pod>,
    pub(crate) price: Exact,
    /// What moving its pods costs, in units of `eviction::COST_UNIT`.
    pub(crate) cost: u64,
    /// Why its pods forbid it for now, if they do.
    pub(crate) blocked: Option<String>,
}

impl Candidate<'_> {
    /// Whether no pod needs it, or none that matters.
    pub(crate) fn is_empty(&self) -> bool {
        self.cost <= COST_UNIT.unsigned_abs()
    }

    /// Why its pods keep it from what `method` does, if so. Drift goes on where its claim says how
    /// long pods may take to leave.
    pub(crate) fn blocked_for(&self, method: Method) -> Option<&str> {
        let waived = method.is_eventual() && self.claim.termination_grace_period.is_some();
        self.blocked.as_deref().filter(|_| !waived)
    }
}

/// What makes a node worth giving up first: the price that is saved for what moving its pods costs.
/// Ties go to the name.
pub(crate) fn by_savings(a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let ratio = |one: &Candidate<'_>, other: &Candidate<'_>| {
        one.price.0.saturating_mul(u128::from(other.cost))
    };
    ratio(b, a).cmp(&ratio(a, b)).then_with(|| a.node.name.cmp(&b.node.name))
}

/// The candidate that the node `number` is, whatever its pods say; or why it can be none.
pub(crate) fn candidate<'a>(
    state: &State<'a>,
    number: NodeId,
    entry: &StateNode<'a>,
) -> Result<Candidate<'a>, String> {
    let no = |reason: &str| Err(reason.to_owned());
    let Some(claim) = entry.claim else { return no("it has no NodeClaim: nobody manages it") };
    let Some(node) = entry.node else { return no("its node did not join yet") };
    if !node.is_initialized() {
        return no("it is not initialized");
    }
    if entry.is_marked_for_deletion() {
        return no("it is being given up already");
    }
    if state.is_nominated(&node.name) {
        return no("pending pods were promised to it");
    }
    if entry.annotation(labels::DO_NOT_DISRUPT) == Some("true") {
        return Err(format!("its annotation {} protects it", labels::DO_NOT_DISRUPT));
    }
    let Some(pool) = entry.pool_name() else {
        return Err(format!("it has no label {}", labels::NODE_POOL));
    };
    let Some(pool) = state.pool(pool) else {
        return Err(format!("its NodePool {pool} does not exist"));
    };
    if state.knows_offers() && state.types(pool).is_empty() {
        return Err(format!("its NodePool {} has no instance types", pool.name));
    }
    let moving = || entry.pods.iter().copied().filter(|pod| pod.is_reschedulable());
    Ok(Candidate {
        number,
        node,
        claim,
        pool,
        instance_type: entry
            .label(labels::INSTANCE_TYPE)
            .and_then(|name| state.instance_type(pool, name).cloned()),
        capacity_type: entry.label(labels::CAPACITY_TYPE).and_then(CapacityType::parse),
        has_zone: entry.label(labels::ZONE).is_some(),
        pods: moving().collect(),
        price: price::of_node(state, entry),
        cost: eviction::reschedule_cost(moving()),
        blocked: blocked(state, entry),
    })
}

fn blocked(state: &State<'_>, entry: &StateNode<'_>) -> Option<String> {
    let protected = entry.pods.iter().find(|pod| pod.is_protected(state.now));
    if let Some(pod) = protected {
        let annotation = labels::DO_NOT_DISRUPT;
        return Some(format!("the annotation {annotation} of pod {} protects it", pod.key));
    }
    entry.pods.iter().find_map(|pod| state.budgets.objection(pod, state.now))
}

#[cfg(test)]
mod tests;

//! Which nodes could be disrupted, and why the others cannot.
//!
//! Karpenter: `pkg/controllers/disruption/types.go`, `NewCandidate`, and
//! `pkg/controllers/state/statenode.go`, `ValidateNodeDisruptable`, `ValidatePodsDisruptable`.

use std::{cmp::Ordering, sync::Arc};

use model::{
    CapacityType, InstanceType, NodeClaim, Pod,
    disruption::Method,
    labels,
    node::Node,
    node_pool::NodePool,
    repair::{self, Due, RepairAction},
};

use super::{
    nodes::{State, StateNode},
    objection::Objection,
    price::{self, Exact},
};
use crate::{
    eviction::{self, COST_UNIT, Immovable},
    index::id::NodeId,
};

/// A node that could be disrupted.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Its number among the nodes.
    pub(crate) number: NodeId,
    /// The node.
    pub node: &'a Node,
    pub(crate) claim: &'a NodeClaim,
    pub(crate) pool: &'a NodePool,
    pub(crate) instance_type: Option<Arc<InstanceType>>,
    pub(crate) capacity_type: Option<CapacityType>,
    pub(crate) has_zone: bool,
    /// Pods that would need another node.
    pub(crate) pods: Vec<&'a Pod>,
    /// Price per hour of its offering; zero if the offering is not known.
    pub price: Exact,
    /// What moving its pods costs, in units of `eviction::COST_UNIT`.
    pub(crate) cost: u64,
    /// Why its pods forbid it for now, if they do.
    pub(crate) blocked: Option<Immovable>,
    /// Why it is a candidate for repair alone, if so.
    pub(crate) refused: Option<Objection>,
    /// What is due for it, where ill nodes are repaired.
    pub(crate) due: Option<Due>,
}

impl Candidate<'_> {
    /// Whether its instance is rebooted, and nothing comes in its place.
    pub(crate) fn is_to_be_rebooted(&self) -> bool {
        self.due.as_ref().is_some_and(|due| due.action == RepairAction::Reboot)
    }
}

impl<'a> Candidate<'a> {
    /// The capacity reservation that it runs in, if it does.
    pub(crate) fn reservation(&self) -> Option<&'a str> {
        let is_reserved = self.capacity_type == Some(CapacityType::Reserved);
        let id = self.node.labels.get(labels::RESERVATION_ID).filter(|_| is_reserved)?;
        Some(id)
    }

    /// Whether no pod needs it, or none that matters.
    pub(crate) fn is_empty(&self) -> bool {
        self.cost <= COST_UNIT.unsigned_abs()
    }

    /// Why its pods keep it from what `method` does, if so. Drift goes on where its claim says how
    /// long pods may take to leave, and repair always: its policies say it.
    pub(crate) fn blocked_for(&self, method: Method) -> Option<&Immovable> {
        let is_bounded = self.claim.termination_grace_period.is_some();
        let waived = method == Method::Repair || method.is_eventual() && is_bounded;
        self.blocked.as_ref().filter(|_| !waived)
    }
}

/// What makes a node worth disrupting first: the price that is saved for what moving its pods costs.
/// Ties go to the name.
pub(crate) fn by_savings(a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let ratio = |candidate: &Candidate<'_>, other: &Candidate<'_>| {
        candidate.price.0.saturating_mul(u128::from(other.cost))
    };
    ratio(b, a).cmp(&ratio(a, b)).then_with(|| a.node.name.cmp(&b.node.name))
}

/// The candidate that the node `number` is, whatever its pods say; or why it can be none.
pub(crate) fn candidate<'a>(
    state: &State<'a>,
    number: NodeId,
    entry: &StateNode<'a>,
) -> Result<Candidate<'a>, Objection> {
    let Some(claim) = entry.claim else {
        let is_of_auto_mode = entry.node.is_some_and(|node| {
            node.labels.get(labels::COMPUTE_TYPE).is_some_and(|value| value == "auto")
        });
        return Err(if is_of_auto_mode { Objection::OfAutoMode } else { Objection::Unmanaged });
    };
    let Some(node) = entry.node else { return Err(Objection::NotJoined) };
    // An unhealthy node is disrupted although it never became ready, and although it is protected.
    let due = due(state, entry, node);
    let refused = if !node.is_initialized() {
        Some(Objection::NotInitialized)
    } else if entry.annotation(labels::DO_NOT_DISRUPT) == Some("true") {
        Some(Objection::Protected)
    } else {
        None
    };
    let stays = refused.as_ref().filter(|_| due.is_none());
    if let Some(Objection::NotInitialized) = stays {
        return Err(Objection::NotInitialized);
    }
    if entry.is_marked_for_deletion() {
        return Err(Objection::AlreadyGoing);
    }
    if state.is_nominated(&node.name) {
        return Err(Objection::Nominated);
    }
    if let Some(reason) = stays {
        return Err(reason.clone());
    }
    let Some(pool) = entry.pool_name() else {
        return Err(Objection::NoLabel(labels::NODE_POOL));
    };
    let Some(pool) = state.pool(pool) else {
        return Err(Objection::NoNodePool(pool.to_owned()));
    };
    if state.knows_offers() && state.types(pool).is_empty() {
        return Err(Objection::NoInstanceTypes(pool.name.clone(), state.why_not_ready(pool)));
    }
    if let Some(pod) = &state.facts.unlocated_pod {
        return Err(Objection::UnlocatedPod(pod.clone()));
    }
    let mut pods = entry.pods.iter();
    if let Some(pod) = pods.find(|pod| pod.is_reschedulable() && pod.is_unreadable()) {
        return Err(Objection::UnreadablePod(pod.key.clone()));
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
        cost: eviction::reschedule_cost(moving(), &state.facts.policies),
        blocked: blocked(state, entry),
        refused,
        due,
    })
}

/// What is due for `node`, which is registered, if unhealthy nodes are repaired and nothing forbids it.
fn due(state: &State<'_>, entry: &StateNode<'_>, node: &Node) -> Option<Due> {
    if !state.facts.policies.repairs_nodes()
        || !node.is_registered()
        || entry.annotation(labels::DO_NOT_REPAIR) == Some("true")
    {
        return None;
    }
    let from = repair::counted_from(node.created_at, entry.claim);
    let due = repair::due(&node.ill_conditions, from, state.now)?;
    let may_reboot = state.facts.policies.reboot_for_repair
        && node.is_initialized()
        // It distinguishes another boot from this one.
        && !node.boot_id.is_empty()
        && entry.claim.is_some_and(|claim| !claim.conditions.is_rebooted_enough(state.now));
    let action = if may_reboot { due.action } else { RepairAction::Replace };
    Some(Due { action, ..due })
}

fn blocked(state: &State<'_>, entry: &StateNode<'_>) -> Option<Immovable> {
    let protected = entry.pods.iter().find_map(|pod| Immovable::protection(pod, state.now));
    protected.or_else(|| entry.pods.iter().find_map(|pod| state.budgets.objection(pod, state.now)))
}

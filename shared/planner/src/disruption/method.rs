//! The methods of giving nodes up, and which nodes each of them looks at.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,drift,staticdrift,consolidation}.go`,
//! `ShouldDisrupt`.

use std::fmt;

use model::node_pool::{BudgetReason, ConsolidationPolicy};

use super::{
    candidate::Candidate,
    conditions,
    nodes::{State, StateNode},
};

/// A method of giving nodes up for being idle, drifted or dearer than need be. In the order in
/// which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Nodes without pods of their own.
    Emptiness,
    /// Nodes of static pools that no longer look like them.
    StaticDrift,
    /// Nodes that no longer look like their pool.
    Drift,
    /// Several nodes whose pods fit elsewhere, or onto one new node, for less.
    MultiNode,
    /// One such node.
    SingleNode,
}

impl Method {
    /// All of them, in the order in which they are asked. The first that finds something acts.
    pub const ALL: [Self; 5] =
        [Self::Emptiness, Self::StaticDrift, Self::Drift, Self::MultiNode, Self::SingleNode];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Emptiness => "emptiness",
            Self::StaticDrift => "static-drift",
            Self::Drift => "drift",
            Self::MultiNode => "multi-node-consolidation",
            Self::SingleNode => "single-node-consolidation",
        }
    }

    /// Which budgets hold it back.
    pub const fn reason(self) -> BudgetReason {
        match self {
            Self::Emptiness => BudgetReason::Empty,
            Self::StaticDrift | Self::Drift => BudgetReason::Drifted,
            Self::MultiNode | Self::SingleNode => BudgetReason::Underutilized,
        }
    }

    /// Whether it goes on, where a claim has a termination grace period, although pods forbid it.
    pub(crate) const fn is_eventual(self) -> bool {
        matches!(self, Self::StaticDrift | Self::Drift)
    }

    /// Whether it weighs prices.
    pub(crate) const fn is_consolidation(self) -> bool {
        matches!(self, Self::MultiNode | Self::SingleNode)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why `method` does not look at `candidate`, if so.
pub(crate) fn objection(
    state: &State<'_>,
    method: Method,
    candidate: &Candidate<'_>,
) -> Option<String> {
    if let Some(reason) = candidate.blocked_for(method) {
        return Some(reason.to_owned());
    }
    let is_static = candidate.pool.replicas.is_some();
    match method {
        Method::StaticDrift if !is_static => Some(not_static(candidate)),
        Method::StaticDrift => not_drifted(state, candidate),
        _ if is_static => Some(format!("NodePool {} is static", candidate.pool.name)),
        Method::Drift => not_drifted(state, candidate),
        Method::Emptiness => not_idle(state, candidate),
        Method::MultiNode | Method::SingleNode => not_comparable(state, candidate),
    }
}

fn not_static(candidate: &Candidate<'_>) -> String {
    format!("NodePool {} is not static", candidate.pool.name)
}

fn not_drifted(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let entry: &StateNode<'_> = state.nodes.get(candidate.place)?;
    let drift = conditions::drift(state, entry, candidate.pool);
    drift.is_none().then(|| "it has not drifted".to_owned())
}

fn not_idle(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let pool = candidate.pool;
    if pool.disruption.consolidate_after.is_none() {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    }
    if state.hosts_buffers.contains(&candidate.node.name) {
        return Some("room for a CapacityBuffer is kept on it".to_owned());
    }
    if !candidate.is_empty() {
        let count = candidate.pods.len();
        return Some(format!("{} would need another node", super::counted(count, "pod")));
    }
    conditions::not_consolidatable(state, candidate)
}

fn not_comparable(state: &State<'_>, candidate: &Candidate<'_>) -> Option<String> {
    let pool = candidate.pool;
    if candidate.instance_type.is_none() {
        return Some("its instance type is not known, so neither is its price".to_owned());
    }
    if candidate.capacity_type.is_none() {
        return Some("it has no label karpenter.sh/capacity-type".to_owned());
    }
    if !candidate.has_zone {
        return Some("it has no label topology.kubernetes.io/zone".to_owned());
    }
    if pool.disruption.consolidate_after.is_none() {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    }
    if candidate.is_empty() {
        return Some("it is empty: emptiness looks after it".to_owned());
    }
    if pool.disruption.policy == ConsolidationPolicy::WhenEmpty {
        return Some(format!("NodePool {} gives up only empty nodes", pool.name));
    }
    conditions::not_consolidatable(state, candidate)
}

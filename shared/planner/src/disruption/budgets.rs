//! How many more nodes of each pool may be given up for each reason.
//!
//! Karpenter: `pkg/controllers/disruption/helpers.go`, `BuildDisruptionBudgetMapping`.

pub mod allowed;

use std::collections::BTreeMap;

use model::{NodePoolName, disruption::DisruptionReason, node_pool::NodePool};

use super::{nodes::State, objection::Objection};

/// What the budgets leave for one reason.
#[derive(Clone, Debug, Default)]
pub struct Remaining<'a> {
    /// `None` is unlimited.
    by_pool: BTreeMap<&'a NodePoolName, Option<u64>>,
    node_pools: &'a [NodePool],
}

impl<'a> Remaining<'a> {
    /// Nodes that are going already, for whatever reason, and nodes that are not ready are spent. For
    /// giving ill nodes up it is no matter which are not ready.
    pub fn of(state: &State<'a>, reason: DisruptionReason) -> Self {
        let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let filter = state.nodes.iter().filter(|entry| {
            entry.is_initialized()
                && entry.claim.is_some_and(|claim| !claim.is_instance_terminating())
        });
        for (entry, pool) in filter.filter_map(|entry| Some((entry, entry.pool_name()?))) {
            let (total, disrupting) = counts.entry(pool).or_default();
            *total += 1;
            let is_ready = entry.node.is_some_and(|node| node.is_ready);
            let is_spent = !is_ready && reason != DisruptionReason::Unhealthy;
            *disrupting += u64::from(is_spent || entry.is_marked_for_deletion());
        }
        let node_pools = &state.facts.node_pools;
        let by_pool = node_pools.iter().map(|pool| {
            let (total, disrupting) = counts.get(pool.name.as_str()).copied().unwrap_or_default();
            let allowed = allowed::allowed(pool, reason, total, state.now);
            (&pool.name, allowed.map(|allowed| allowed.saturating_sub(disrupting)))
        });
        Self { by_pool: by_pool.collect(), node_pools }
    }

    /// Why no more nodes of `pool` may go, of a pool of which none may.
    pub(crate) fn objection(&self, pool: &NodePoolName) -> Objection {
        let pool = self.node_pools.iter().find(|node_pool| node_pool.name == *pool);
        let unreadable = pool.and_then(|pool| pool.unreadable_budgets().next());
        unreadable
            .map_or(Objection::BudgetSpent, |why| Objection::UnreadableBudget(why.to_string()))
    }

    /// What is left for `pool`; `None` is unlimited.
    pub fn left(&self, pool: &NodePoolName) -> Option<u64> {
        self.by_pool.get(pool).copied().unwrap_or(Some(0))
    }

    pub(crate) fn is_spent(&self, pool: &NodePoolName) -> bool {
        self.left(pool) == Some(0)
    }

    /// Takes one node of `pool`, if that is allowed.
    pub(crate) fn take(&mut self, pool: &NodePoolName) -> bool {
        match self.by_pool.get_mut(pool) {
            Some(Some(0)) | None => false,
            Some(Some(left)) => {
                *left -= 1;
                true
            }
            Some(None) => true,
        }
    }
}

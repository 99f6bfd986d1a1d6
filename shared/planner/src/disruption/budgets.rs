//! How many more nodes of each pool may be disrupted for each reason.
//!
//! Karpenter: `pkg/controllers/disruption/helpers.go`, `BuildDisruptionBudgetMapping`.

pub mod allowed;

use std::collections::BTreeMap;

use model::{NodePoolName, disruption::DisruptionReason, node_pool::NodePool, words};

use super::{nodes::State, objection::Objection};

/// What the budgets leave for one reason.
#[derive(Clone, Debug)]
pub struct Remaining<'a> {
    /// `None` is unlimited.
    by_pool: BTreeMap<&'a NodePoolName, Option<u64>>,
    spent: BTreeMap<&'a NodePoolName, Spent<'a>>,
    node_pools: &'a [NodePool],
    reason: DisruptionReason,
}

/// How much a budget allows, and the nodes that take it.
#[derive(Clone, Debug, Default)]
struct Spent<'a> {
    allowed: Option<u64>,
    not_ready: Vec<&'a str>,
    leaving: Vec<&'a str>,
    /// Nodes that a look takes.
    taken: usize,
}

/// Nodes that are named at most.
const NAMED_MAX: usize = 3;

impl Spent<'_> {
    /// `at most 1 node may be disrupted, and n1 is not ready`.
    fn in_words(&self) -> String {
        let allowed = match self.allowed {
            None => return "other nodes are disrupted".to_owned(),
            Some(0) => return "none may be disrupted now".to_owned(),
            Some(allowed) => usize::try_from(allowed).unwrap_or(usize::MAX),
        };
        let named = |names: &[&str], what: &str| {
            let others = names.len().saturating_sub(NAMED_MAX);
            let shown = names.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            let verb = if names.len() == 1 { "is" } else { "are" };
            (!names.is_empty()).then(|| format!("{shown}{more} {verb} {what}"))
        };
        let taken = match self.taken {
            0 => None,
            1 => Some("1 other is disrupted first".to_owned()),
            taken => Some(format!("{} others are disrupted first", words::many(taken))),
        };
        let by = [named(&self.not_ready, "not ready"), named(&self.leaving, "disrupted"), taken];
        let by: Vec<String> = by.into_iter().flatten().collect();
        let nodes = words::counted(allowed, "node");
        format!("at most {nodes} may be disrupted, and {}", by.join(", "))
    }
}

impl<'a> Remaining<'a> {
    /// Nodes that are going already, for whatever reason, and nodes that are not ready are spent. For
    /// disrupting ill nodes it is no matter which are not ready.
    pub fn of(state: &State<'a>, reason: DisruptionReason) -> Self {
        let mut counts: BTreeMap<&str, (u64, Spent<'a>)> = BTreeMap::new();
        let filter = state.nodes.iter().filter(|entry| {
            entry.is_initialized()
                && entry.claim.is_some_and(|claim| !claim.is_instance_terminating())
        });
        for (entry, pool) in filter.filter_map(|entry| Some((entry, entry.pool_name()?))) {
            let (total, spent) = counts.entry(pool).or_default();
            *total += 1;
            let is_ready = entry.node.is_some_and(|node| node.is_ready);
            if entry.is_marked_for_deletion() {
                spent.leaving.push(entry.name());
            } else if !is_ready && reason != DisruptionReason::Unhealthy {
                spent.not_ready.push(entry.name());
            }
        }
        let node_pools = &state.facts.node_pools;
        let (by_pool, spent) = (BTreeMap::new(), BTreeMap::new());
        let mut remaining = Self { by_pool, spent, node_pools, reason };
        for pool in node_pools {
            let (total, mut spent) = counts.remove(pool.name.as_str()).unwrap_or_default();
            spent.allowed = allowed::allowed(pool, reason, total, state.now);
            let disrupting = spent.not_ready.len() + spent.leaving.len();
            let disrupting = u64::try_from(disrupting).unwrap_or(u64::MAX);
            let left = spent.allowed.map(|allowed| allowed.saturating_sub(disrupting));
            remaining.by_pool.insert(&pool.name, left);
            remaining.spent.insert(&pool.name, spent);
        }
        remaining
    }

    /// Why no more nodes of `pool` may go, of a pool of which none may.
    pub(crate) fn objection(&self, pool: &NodePoolName) -> Objection {
        let of_name = self.node_pools.iter().find(|node_pool| node_pool.name == *pool);
        if let Some(why) = of_name.and_then(|pool| pool.unreadable_budgets().next()) {
            return Objection::UnreadableBudget(why.to_string());
        }
        let spent = self.spent.get(pool).cloned().unwrap_or_default();
        Objection::BudgetSpent(self.reason, spent.in_words())
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
                if let Some(spent) = self.spent.get_mut(pool) {
                    spent.taken += 1;
                }
                true
            }
            Some(None) => true,
        }
    }
}

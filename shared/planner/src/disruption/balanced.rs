//! Whether a move saves enough for the pods that it moves: the policy `Balanced`.
//!
//! A move is weighed by the share of its pool's cost that it saves over the share of its pool's
//! disruption that it takes; one half is enough.
//!
//! Karpenter: `pkg/controllers/disruption/balanced.go`.

use std::collections::BTreeMap;

use model::{NodePoolName, node_pool::ConsolidationPolicy};

use super::{
    candidate::Candidate,
    nodes::State,
    price::{self, Exact},
};
use crate::{
    eviction,
    index::{
        id::{NodeId, kind},
        table::Table,
    },
};

/// How many times the share of disruption may be the share of savings.
///
/// Karpenter: `balanced.go`, k.
const DISRUPTION_PER_SAVING: u128 = 2;

/// What candidates cost and what moving their pods costs, in sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    /// Price per hour.
    pub cost: Exact,
    /// Cost of moving the pods, in thousandths of a pod.
    pub disruption: u64,
}

/// What each pool costs, and what disrupting all of it would cost.
#[derive(Debug, Default)]
pub struct Totals<'a> {
    /// One total for each NodePool, by name.
    pub by_pool: BTreeMap<&'a str, Total>,
}

impl<'a> Totals<'a> {
    /// Of the pools that have a candidate.
    pub fn of(state: &State<'a>, candidates: &Table<kind::Candidate, Candidate<'a>>) -> Self {
        let mut by_pool: BTreeMap<&str, Total> = BTreeMap::new();
        let mut costs: BTreeMap<NodeId, u64> = BTreeMap::new();
        for candidate in candidates.iter().filter(|candidate| candidate.refused.is_none()) {
            by_pool.entry(candidate.pool.name.as_str()).or_default();
            costs.insert(candidate.number, candidate.cost);
        }
        for (number, entry) in state.nodes.entries() {
            let Some(total) = entry.pool_name().and_then(|pool| by_pool.get_mut(pool)) else {
                continue;
            };
            if entry.claim.is_some_and(|claim| claim.instance.is_some()) {
                total.cost = total.cost.plus(price::of_node(state, entry));
            }
            let of_others = || {
                let copied = entry.pods.iter().copied();
                let filter =
                    copied.filter(|pod| !pod.is_terminal() && !pod.is_owned_by_daemon_set());
                eviction::reschedule_cost(filter, &state.facts.policies)
            };
            let cost = costs.get(&number).copied().unwrap_or_else(of_others);
            total.disruption = total.disruption.saturating_add(cost);
        }
        Self { by_pool }
    }

    /// Whether every `Balanced` pool among `nodes` gains enough from `saving`, which is shared by
    /// what the nodes of each pool cost. Other pools take any gain.
    pub fn approves(&self, nodes: &[&Candidate<'_>], saving: Exact) -> bool {
        let mut by_pool: BTreeMap<&NodePoolName, Vec<&Candidate<'_>>> = BTreeMap::new();
        for node in nodes {
            by_pool.entry(&node.pool.name).or_default().push(node);
        }
        let before = price::of_all(nodes);
        let several = by_pool.len() > 1;
        by_pool.into_iter().all(|(pool, candidates)| {
            let is_balanced = candidates
                .iter()
                .any(|n| n.pool.disruption.policy == ConsolidationPolicy::Balanced);
            if !is_balanced {
                return true;
            }
            let price = price::of_all(&candidates);
            let share = if several { shared(saving, price, before) } else { saving };
            let disruption =
                candidates.iter().fold(0_u64, |sum, node| sum.saturating_add(node.cost));
            self.scores(pool, share, disruption)
        })
    }

    /// Whether disrupting `node` without a replacement would save enough: no better move exists.
    pub fn may_approve(&self, node: &Candidate<'_>) -> bool {
        self.approves(&[node], node.price)
    }

    /// Whether a move with this saving and this disruption is worth it in `pool`.
    pub fn scores(&self, pool: &NodePoolName, saving: Exact, disruption: u64) -> bool {
        let Some(total) = self.by_pool.get(pool.as_str()) else { return false };
        if saving.0 == 0 || total.cost.0 == 0 || total.disruption == 0 {
            return false;
        }
        // (saving / cost) / (disruption / all disruption) ≥ 1 / k, without dividing.
        let gain = saving.0.saturating_mul(u128::from(total.disruption));
        let loss = total.cost.0.saturating_mul(u128::from(disruption));
        loss <= gain.saturating_mul(DISRUPTION_PER_SAVING)
    }
}

/// The part of `saving` that goes to nodes of `price` among all that cost `before`.
pub fn shared(saving: Exact, price: Exact, before: Exact) -> Exact {
    let parts = u128::from(price.rounded().nanos());
    let total = u128::from(before.rounded().nanos()).max(1);
    Exact(saving.0.saturating_mul(parts) / total)
}

//! How many nodes of a pool may be given up at once.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `GetAllowedDisruptionsByReason`.

use jiff::Timestamp;
use model::{
    disruption::DisruptionReason,
    node_pool::{Budget, BudgetNodes, NodePool},
};

/// How many of the `total` nodes of `pool` its budgets allow to be disrupted at once for `reason`;
/// `None` is unlimited. The least of the budgets that apply counts. A budget that cannot be read
/// allows nothing, for any reason.
pub fn allowed(
    pool: &NodePool,
    reason: DisruptionReason,
    total: u64,
    now: Timestamp,
) -> Option<u64> {
    if pool.unreadable_budgets().next().is_some() {
        return Some(0);
    }
    let mut least = None;
    for budget in &pool.disruption.budgets {
        let is_active = is_active(budget, now);
        let applies = budget.reasons.is_empty() || budget.reasons.contains(&reason);
        if is_active && applies {
            let value = match budget.nodes {
                BudgetNodes::Count(count) => u64::from(count),
                BudgetNodes::Percent(percent) => {
                    total.saturating_mul(u64::from(percent)).div_ceil(100)
                }
            };
            least = Some(least.map_or(value, |least: u64| least.min(value)));
        }
    }
    least
}

fn is_active(budget: &Budget, now: Timestamp) -> bool {
    let Some(window) = &budget.window else { return true };
    window.read_schedule().is_ok_and(|schedule| schedule.is_active(window.duration, now))
}

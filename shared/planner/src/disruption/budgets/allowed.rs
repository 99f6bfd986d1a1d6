//! How many nodes of a pool may be disrupted at once.
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
    let mut least = None;
    for budget in &pool.disruption.budgets {
        let Some(is_active) = is_active(budget, now) else { return Some(0) };
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

/// Whether `budget` applies at `now`; `None` if it cannot be read.
fn is_active(budget: &Budget, now: Timestamp) -> Option<bool> {
    let Some(window) = &budget.window else { return Some(true) };
    let schedule = window.read_schedule().ok()?;
    Some(schedule.is_active(window.duration, now))
}

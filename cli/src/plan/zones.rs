//! Schedules of budgets in the time of a zone, which Karpenter cannot read.

use std::borrow::Cow;

use model::{
    facts::Facts,
    node_pool::{BudgetWindow, NodePool},
};

/// What Karpenter puts before the text of each schedule.
///
/// Karpenter: `Budget.IsActive` of `pkg/apis/v1/nodepool.go`.
const KARPENTERS_ZONE: &str = "TZ=UTC ";

/// The zone of a schedule that is valid but for Karpenter.
fn zone_of(window: &BudgetWindow) -> Option<&str> {
    window.zone().filter(|_| window.read_schedule().is_ok())
}

/// A line for each schedule that is in the time of a zone.
pub(super) fn in_words(pools: &[NodePool]) -> impl Iterator<Item = String> {
    let windows = pools.iter().flat_map(|pool| {
        pool.budget_windows().map(move |(field, window)| (&pool.name, field, window))
    });
    windows.filter_map(|(pool, field, window)| {
        let zone = zone_of(window)?;
        Some(format!(
            "NodePool {pool}: {field} is in the time of {zone}: Karpenter cannot read it, and disrupts no node of \
             this NodePool"
        ))
    })
}

/// `facts` with the schedules as Karpenter reads them: none that has a zone of its own is valid.
pub(super) fn as_karpenter_reads(facts: &Facts) -> Cow<'_, Facts> {
    let mut facts = Cow::Borrowed(facts);
    let is_zoned =
        |pool: &NodePool| pool.budget_windows().any(|(_, window)| zone_of(window).is_some());
    if !facts.node_pools.iter().any(is_zoned) {
        return facts;
    }
    let pools = facts.to_mut().node_pools.iter_mut();
    let windows = pools.flat_map(|pool| &mut pool.disruption.budgets);
    for window in windows.filter_map(|budget| budget.window.as_mut()) {
        if zone_of(window).is_some() {
            window.schedule.insert_str(0, KARPENTERS_ZONE);
        }
    }
    facts
}

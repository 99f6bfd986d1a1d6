//! `spec.disruption` of a NodePool as the model has it.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `Disruption` and `Budget`.

use model::{
    duration,
    node_pool::{Budget, BudgetNodes, BudgetWindow, Disruption},
};

use crate::karpenter::{
    node_pool::{BudgetSpec, DisruptionSpec},
    pattern::without_seconds,
};

/// The block, which breaks no rule of its schema. What it leaves out has the API's defaults.
pub(super) fn read(spec: DisruptionSpec) -> Option<Disruption> {
    let default = Disruption::default();
    Some(Disruption {
        consolidate_after: match spec.consolidate_after {
            Some(text) => duration::parse_nillable(&text).ok()?,
            None => default.consolidate_after,
        },
        policy: spec.consolidation_policy.map(|policy| policy.0).unwrap_or_default(),
        budgets: match spec.budgets {
            Some(budgets) => budgets.into_iter().map(budget).collect::<Option<_>>()?,
            None => default.budgets,
        },
    })
}

fn budget(spec: BudgetSpec) -> Option<Budget> {
    let nodes = spec.nodes.as_deref().unwrap_or("10%");
    let window = match (spec.schedule, spec.duration) {
        (Some(schedule), Some(text)) => {
            let duration = duration::parse_groups(without_seconds(&text)).ok()?;
            Some(BudgetWindow { schedule, duration })
        }
        _ => None,
    };
    Some(Budget {
        nodes: match nodes.strip_suffix('%') {
            Some(percent) => BudgetNodes::Percent(percent.parse().ok()?),
            // The schema lets digits alone through: what is above every count is no limit.
            None => BudgetNodes::Count(nodes.parse().unwrap_or(u32::MAX)),
        },
        reasons: spec.reasons.into_iter().flatten().map(|reason| reason.0).collect(),
        window,
    })
}

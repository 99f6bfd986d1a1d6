//! PodDisruptionBudgets: what the disruption controller counts, and what an eviction asks of it.
//!
//! The controller counts at once: here no status lags.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>
//! Kubernetes: `pkg/controller/disruption/disruption.go` (`getExpectedPodCount`, `countHealthyPods`,
//! `updatePdbStatus`), `pkg/registry/core/pod/storage/eviction.go`.

use model::{
    Pod,
    eviction::{CountOrPercent, PodDisruptionBudget},
    pod::PodPhase,
};

use super::{ClusterState, Controller, PodEntry};
use crate::{Sim, story::StoryWorkloadKind};

/// What the controller writes into a budget's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    current_healthy: u32,
    desired_healthy: u32,
    disruptions_allowed: u32,
}

impl ClusterState {
    /// The budgets as they are listed, with what each allows now.
    pub(crate) fn disruption_budgets(&self) -> Vec<PodDisruptionBudget> {
        let counted = self.budgets.values().map(|budget| {
            let disruptions_allowed = self.count(budget).disruptions_allowed;
            PodDisruptionBudget { disruptions_allowed, ..budget.clone() }
        });
        counted.collect()
    }

    /// Whether the budgets of a pod let it be evicted now.
    pub(crate) fn is_eviction_allowed(&self, pod: &Pod) -> bool {
        // What ended, ends or never began was disrupted already.
        if pod.is_terminal() || pod.is_terminating() || pod.phase == PodPhase::Pending {
            return true;
        }
        let mut budgets = self.budgets.values().filter(|budget| selects(budget, pod));
        let Some(budget) = budgets.next() else { return true };
        // The API server does not weigh two of them, and refuses.
        if budgets.next().is_some() {
            return false;
        }
        let count = self.count(budget);
        let is_enough_without =
            count.current_healthy >= count.desired_healthy && count.desired_healthy > 0;
        let may_go_unhealthy = budget.always_allows_unhealthy || is_enough_without;
        (!pod.is_ready && may_go_unhealthy) || count.disruptions_allowed > 0
    }

    fn count(&self, budget: &PodDisruptionBudget) -> Count {
        let pods: Vec<&PodEntry> =
            self.pods.values().filter(|entry| selects(budget, &entry.pod)).collect();
        let is_healthy = |entry: &&&PodEntry| entry.pod.is_ready && !entry.pod.is_terminating();
        let current_healthy = number(pods.iter().filter(is_healthy).count());
        let (expected, desired_healthy) = match (budget.max_unavailable, budget.min_available) {
            (Some(max), _) => {
                let expected = self.expected(&pods);
                (expected, expected.map(|number| number.saturating_sub(scaled(max, number))))
            }
            (None, Some(CountOrPercent::Count(min))) => (Some(number(pods.len())), Some(min)),
            (None, Some(share)) => {
                let expected = self.expected(&pods);
                (expected, expected.map(|number| scaled(share, number)))
            }
            (None, None) => (Some(0), Some(0)),
        };
        // If the expected number of pods is unknown, nothing is allowed.
        let (Some(expected), Some(desired_healthy)) = (expected, desired_healthy) else {
            return Count { current_healthy, desired_healthy: 0, disruptions_allowed: 0 };
        };
        let allowed =
            if expected == 0 { 0 } else { current_healthy.saturating_sub(desired_healthy) };
        Count { current_healthy, desired_healthy, disruptions_allowed: allowed }
    }

    /// How many pods the controllers of `pods` want; `None` where one of them has no scale to ask.
    fn expected(&self, pods: &[&PodEntry]) -> Option<u32> {
        let mut owners: Vec<_> = pods.iter().map(|entry| &entry.controller).collect();
        owners.sort();
        owners.dedup();
        let mut expected = 0_u32;
        for owner in owners {
            let Controller::Workload(key) = owner else { return None };
            let workload = &self.workloads.get(key)?.workload;
            match workload.kind {
                StoryWorkloadKind::Deployment | StoryWorkloadKind::StatefulSet => {
                    expected = expected.saturating_add(workload.replicas);
                }
                // A pod without a controller does not count.
                StoryWorkloadKind::Pod => {}
                StoryWorkloadKind::Job => return None,
            }
        }
        Some(expected)
    }
}

fn selects(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    budget.key.namespace == pod.key.namespace
        && budget.selector.as_ref().is_some_and(|selector| selector.selects(&pod.spec.labels))
}

impl Sim {
    /// The PodDisruptionBudgets with what each allows now, by namespace and name.
    pub fn disruption_budgets(&self) -> Vec<PodDisruptionBudget> {
        self.with(|world| world.cluster.disruption_budgets())
    }

    /// Those of them that select `pod`.
    pub fn disruption_budgets_of(&self, pod: &Pod) -> Vec<PodDisruptionBudget> {
        let mut budgets = self.disruption_budgets();
        budgets.retain(|budget| selects(budget, pod));
        budgets
    }
}

/// A share of `all`, rounded up.
fn scaled(amount: CountOrPercent, number: u32) -> u32 {
    match amount {
        CountOrPercent::Count(count) => count,
        CountOrPercent::Percent(percent) => {
            let share = (u64::from(number) * u64::from(percent)).div_ceil(100);
            u32::try_from(share).unwrap_or(u32::MAX)
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

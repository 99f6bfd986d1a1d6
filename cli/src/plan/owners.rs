//! Pods as people think of them: a workload and a number.

use std::collections::{BTreeMap, BTreeSet};

use model::{Pod, PodKey};
use report::output::{many, natural, thousands};

use crate::workloads::owner;

/// Workloads that a line names.
const GROUPS_SHOWN: usize = 6;

/// Which workload a pod belongs to.
pub(super) struct Owners<'a>(BTreeMap<&'a PodKey, &'a Pod>);

impl<'a> Owners<'a> {
    /// The workloads of `pods`.
    pub(super) fn of(pods: &'a [Pod]) -> Self {
        Self(pods.iter().map(|pod| (&pod.key, pod)).collect())
    }

    /// How many workloads `pods` belong to. A pod without an owner is a workload.
    pub(super) fn count<'p>(&self, pods: impl IntoIterator<Item = &'p PodKey>) -> usize {
        let owner =
            |pod: &PodKey| self.0.get(pod).map_or_else(|| pod.to_string(), |pod| owner(pod));
        pods.into_iter().map(owner).collect::<BTreeSet<String>>().len()
    }

    /// `default/web ×12, default/db-0`.
    pub(super) fn in_words<'p>(&self, pods: impl IntoIterator<Item = &'p PodKey>) -> String {
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        for pod in pods {
            let group = self.0.get(pod).map_or_else(|| pod.to_string(), |pod| owner(pod));
            *groups.entry(group).or_default() += 1;
        }
        let more = groups.len().saturating_sub(GROUPS_SHOWN);
        let mut groups: Vec<(String, u64)> = groups.into_iter().collect();
        groups.sort_by(|(a, _), (b, _)| natural(a, b));
        let shown = groups.into_iter().take(GROUPS_SHOWN).map(|(name, number)| match number {
            1 => name,
            number => format!("{name} ×{}", thousands(number.into())),
        });
        let mut shown: Vec<String> = shown.collect();
        if more > 0 {
            shown.push(format!("{} more workloads", many(more)));
        }
        shown.join(", ")
    }
}

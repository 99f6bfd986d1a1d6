//! Which pods Services and workloads select, and what kube-scheduler's default spread makes of that.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    Namespace, Pod, PodSpec,
    default_spread::{DefaultSpread, PodSelectors},
    pod::Owner,
};
use ports::FoundSelectors;

use super::{ClusterState, WorkloadEntry};
use crate::{
    story::{StoryWorkload, StoryWorkloadKind},
    world::World,
};

/// The spec of pods of one controller, and what they are scheduled by in its place.
pub(crate) type SpreadSpecs =
    BTreeMap<(Namespace, Option<Owner>), (Arc<PodSpec>, Option<Arc<PodSpec>>)>;

/// Kinds of which a list of selectors is made.
const KINDS: [&str; 4] = ["ReplicaSet", "ReplicationController", "Service", "StatefulSet"];

impl WorkloadEntry {
    /// What its pods name as their controller.
    pub(super) fn owner(&self) -> Option<Owner> {
        let owner = |api_version: &str, kind: &str, name: String| {
            Some(Owner { api_version: api_version.to_owned(), kind: kind.to_owned(), name })
        };
        let StoryWorkload { kind, name, .. } = &self.workload;
        match kind {
            StoryWorkloadKind::Deployment => {
                owner("apps/v1", "ReplicaSet", format!("{name}-{}", self.hash))
            }
            StoryWorkloadKind::StatefulSet => owner("apps/v1", "StatefulSet", name.to_string()),
            StoryWorkloadKind::Job => owner("batch/v1", "Job", name.to_string()),
            StoryWorkloadKind::Pod => None,
        }
    }
}

impl ClusterState {
    /// How many workloads there are.
    pub(crate) fn workloads_number(&self) -> usize {
        self.workloads.len()
    }

    fn pod_selectors(&self) -> PodSelectors {
        let mut selectors = PodSelectors::default();
        for (key, labels) in &self.services {
            selectors.add_service(key.namespace.clone(), labels.clone());
        }
        for entry in self.workloads.values() {
            let StoryWorkload { namespace, selector, .. } = &entry.workload;
            if let Some(owner) = entry.owner().filter(|owner| owner.kind != "Job") {
                selectors.add_controller(namespace.clone(), owner, selector.clone());
            }
        }
        selectors
    }

    /// What kube-scheduler with `default_spread` schedules `pod` by.
    pub(super) fn scheduled_spec(
        &mut self,
        pod: &Pod,
        default_spread: &DefaultSpread,
    ) -> Arc<PodSpec> {
        if default_spread.constraints.is_empty() || !pod.spec.spread.is_empty() {
            return Arc::clone(&pod.spec);
        }
        let key = (pod.key.namespace.clone(), pod.owner.as_deref().cloned());
        if let Some((spec, spread)) = self.spread_specs.get(&key)
            && Arc::ptr_eq(spec, &pod.spec)
        {
            return Arc::clone(spread.as_ref().unwrap_or(spec));
        }
        let (namespace, owner) = (&pod.key.namespace, pod.owner.as_deref());
        let spread = default_spread.spread(&pod.spec, namespace, owner, &self.pod_selectors());
        let scheduled = Arc::clone(spread.as_ref().unwrap_or(&pod.spec));
        self.spread_specs.insert(key, (Arc::clone(&pod.spec), spread));
        scheduled
    }
}

impl World {
    /// Which pods are selected, and what cannot be read of that.
    pub(crate) fn found_selectors(&self) -> FoundSelectors {
        let malformed = KINDS.iter().flat_map(|kind| self.reported(kind)).collect();
        FoundSelectors { selectors: self.cluster.pod_selectors(), malformed }
    }
}

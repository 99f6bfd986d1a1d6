//! What DaemonSets put onto nodes: for each, the pod that stands for all of its pods.
//!
//! Karpenter: `pkg/controllers/provisioning/provisioner.go`, `getDaemonSetPods`, and
//! `pkg/controllers/state/cluster.go`, `updateDaemonSet`.

use std::{collections::BTreeMap, sync::Arc};

use super::{DaemonSet, Facts};
use crate::{ObjectName, Pod, PodKey, PodSpec};

/// A DaemonSet by one of its pods.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// What each of its pods asks for.
    pub spec: Arc<PodSpec>,
}

/// The DaemonSets that nodes need room for, each as its newest pod, or else as its template says. Where the template
/// has a required node affinity it counts, because that of a pod names its node. A DaemonSet whose pods ask for what
/// is not supported is left out, and so is one whose pods have ResourceClaims while these are ignored, as in Karpenter.
pub fn daemons(facts: &Facts) -> Vec<Daemon> {
    let mut newest: BTreeMap<PodKey, &Pod> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| pod.is_owned_by_daemon_set()) {
        let Some(owner) = &pod.owner else { continue };
        let Ok(name) = ObjectName::new(&owner.name) else { continue };
        let key = PodKey { namespace: pod.key.namespace.clone(), name };
        let newest = newest.entry(key).or_insert(pod);
        if (newest.created_at, &newest.key) < (pod.created_at, &pod.key) {
            *newest = pod;
        }
    }
    let daemon = |daemon_set: &DaemonSet| {
        let template = &daemon_set.spec;
        let spec = newest.get(&daemon_set.key).map_or_else(
            || Arc::clone(template),
            |pod| {
                let mut spec = PodSpec::clone(&pod.spec);
                if !template.required_terms.is_empty() || spec.has_match_fields {
                    spec.required_terms.clone_from(&template.required_terms);
                }
                spec.has_match_fields = template.has_match_fields;
                Arc::new(spec)
            },
        );
        Daemon { spec }
    };
    let specs = facts.daemon_sets.iter().map(daemon);
    let counts = |Daemon { spec }: &Daemon| {
        spec.problems.is_empty() && (spec.claims.is_empty() || facts.devices.is_some())
    };
    specs.filter(counts).collect()
}

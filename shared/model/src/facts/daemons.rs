//! What DaemonSets put onto nodes: for each, the pod that stands for all of its pods.
//!
//! Karpenter: `pkg/controllers/provisioning/provisioner.go`, `getDaemonSetPods`, and
//! `pkg/controllers/state/cluster.go`, `updateDaemonSet`.

use std::{collections::BTreeMap, sync::Arc};

use model::{Pod, PodKey, PodSpec, facts::Facts};

/// A DaemonSet by one of its pods.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) spec: Arc<PodSpec>,
}

/// The newest pod of each DaemonSet, else its template. Where the template has a required node
/// affinity it counts, because that of a pod names its node.
pub(crate) fn daemons(facts: &Facts) -> Vec<Daemon> {
    let mut newest: BTreeMap<PodKey, &Pod> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| pod.is_owned_by_daemon_set()) {
        let Some(owner) = &pod.owner else { continue };
        let Ok(name) = model::ObjectName::new(&owner.name) else { continue };
        let key = PodKey { namespace: pod.key.namespace.clone(), name };
        let newest = newest.entry(key).or_insert(pod);
        if (newest.created_at, &newest.key) < (pod.created_at, &pod.key) {
            *newest = pod;
        }
    }
    let daemon = |daemon_set: &model::facts::DaemonSet| {
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
    let map = facts.daemon_sets.iter().map(daemon);
    // What one asks for that is not supported yet (resource claims) is not set aside, as in
    // Karpenter.
    map.filter(|daemon| daemon.spec.problems.is_empty()).collect()
}

//! What records of decisions say beside what the ledger says.

use std::collections::BTreeMap;

use model::{NodeName, PodKey, facts::Facts, ledger::Decision};

/// `decision` with the pods that are on its nodes now.
pub(crate) fn with_pods(mut decision: Decision, facts: &Facts) -> Decision {
    name_pods(std::slice::from_mut(&mut decision), facts);
    decision
}

/// Names the pods that are on the nodes of `decisions` now in place of those that they were launched for; pods of
/// DaemonSets go with any node, and are left out. All pods are gone through once, however many decisions there are.
pub(crate) fn name_pods(decisions: &mut [Decision], facts: &Facts) {
    let subjects = decisions.iter().flat_map(|decision| &decision.subjects);
    let nodes = subjects.filter_map(|subject| subject.node.clone());
    let mut pods: BTreeMap<NodeName, Vec<PodKey>> = nodes.map(|node| (node, Vec::new())).collect();
    if pods.is_empty() {
        return;
    }
    for pod in facts.pods.iter().filter(|pod| !pod.is_terminal() && !pod.is_owned_by_daemon_set()) {
        if let Some(on_it) = pod.node.as_ref().and_then(|node| pods.get_mut(node)) {
            on_it.push(pod.key.clone());
        }
    }
    for subject in decisions.iter_mut().flat_map(|decision| &mut decision.subjects) {
        let on_it = subject.node.as_ref().and_then(|node| pods.remove(node));
        subject.pods = on_it.unwrap_or_else(|| std::mem::take(&mut subject.pods));
    }
}

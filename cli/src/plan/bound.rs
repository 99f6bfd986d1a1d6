//! The pods that kube-scheduler binds to nodes that are there: no function sees these as unschedulable.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    NodeName, Pod, PodKey,
    facts::Facts,
    plan::{Placement, Target},
    pod::PodPhase,
};
use simulator::Bindings;

use super::{owners::Owners, pods};

/// Whether kube-scheduler has not looked at `pod` yet, which waits for a node.
pub(super) fn is_unseen(pod: &Pod) -> bool {
    pod.unschedulable_at.is_none()
        && pod.node.is_none()
        && pod.nominated_node.is_none()
        && pod.phase == PodPhase::Pending
        && !pod.is_terminating()
        && !pod.is_owned_by_daemon_set()
        && !pod.is_mirror()
        && !pod.is_unreadable()
}

/// `facts` after kube-scheduler has looked at every pod, and the pods that it binds then. It has no node for the others.
pub(super) fn after_kube_scheduler(facts: &Facts) -> (Cow<'_, Facts>, BTreeSet<PodKey>) {
    let unseen = facts.pods.iter().filter(|pod| is_unseen(pod)).map(|pod| pod.key.clone());
    let unseen: BTreeSet<PodKey> = unseen.collect();
    if unseen.is_empty() {
        return (Cow::Borrowed(facts), BTreeSet::new());
    }
    let Bindings { nodes, storage, device_claims } = simulator::bindings(facts, &unseen);
    let mut facts = facts.clone();
    facts.surroundings.storage = storage;
    if let Some(devices) = &mut facts.devices {
        Arc::make_mut(devices).claims = device_claims;
    }
    for pod in facts.pods.iter_mut().filter(|pod| unseen.contains(&pod.key)) {
        pod.node = nodes.get(&pod.key).cloned();
        // Kubelet takes a pod as soon as it is bound.
        let seen_at = Some(facts.now);
        (pod.started_at, pod.unschedulable_at) =
            if pod.node.is_some() { (seen_at, None) } else { (None, seen_at) };
    }
    let bound_to: BTreeSet<&NodeName> = nodes.values().collect();
    for claim in facts.ledger.claims.values_mut() {
        if claim.node.as_ref().is_some_and(|node| bound_to.contains(node)) {
            claim.conditions.last_pod_event_at = Some(facts.now);
            claim.conditions.is_consolidatable = None;
            claim.empty_since = None;
        }
    }
    (Cow::Owned(facts), nodes.into_keys().collect())
}

/// Where the pods of `facts` that were `bound` are, by node.
pub(super) fn placements(facts: &Facts, bound: &BTreeSet<PodKey>) -> Vec<Placement> {
    let mut by_node: BTreeMap<&NodeName, Vec<PodKey>> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| bound.contains(&pod.key)) {
        if let Some(node) = &pod.node {
            by_node.entry(node).or_default().push(pod.key.clone());
        }
    }
    let placement =
        |(node, pods): (&NodeName, _)| Placement { target: Target::Node(node.clone()), pods };
    by_node.into_iter().map(placement).collect()
}

/// That pods are `bound` before nodes are disrupted; `None` if there are none.
pub(super) fn in_words(facts: &Facts, bound: &BTreeSet<PodKey>) -> Option<String> {
    let workloads = || Owners::of(&facts.pods).in_words(bound);
    (!bound.is_empty()).then(|| {
        let number = pods(bound.len());
        format!("kube-scheduler binds {number} to nodes that are there before: {}", workloads())
    })
}

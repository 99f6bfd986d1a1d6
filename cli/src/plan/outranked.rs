//! Pods without a node that kube-scheduler takes before those for which a node is launched: they have a higher priority,
//! by which Karpenter's order does not go.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeClaim, NodeName, Plan, Pod, PodKey,
    facts::Facts,
    ledger::RejectionReason,
    node::Node,
    plan::{Reason, Unplaced},
};

use super::{owners::Owners, rounds};

/// Says of each pod without a place in `plan` that takes the place of others once the nodes of `plan` are there.
pub(super) fn note(facts: &Facts, plan: &mut Plan) {
    let pods: BTreeMap<&PodKey, &Pod> = facts.pods.iter().map(|pod| (&pod.key, pod)).collect();
    let priority = |key: &PodKey| pods.get(key).map(|pod| pod.spec.priority);
    let unplaced = || plan.unplaced.iter().map(|unplaced| &unplaced.pod);
    let planned = || plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let (highest, lowest) =
        (unplaced().filter_map(priority).max(), planned().filter_map(priority).min());
    if highest.zip(lowest).is_none_or(|(highest, lowest)| highest <= lowest) {
        return;
    }
    let placed = plan.placements.iter().flat_map(|placement| &placement.pods);
    let queue: BTreeSet<PodKey> = unplaced().chain(planned()).chain(placed).cloned().collect();
    let claims = plan.new_claims.iter().enumerate();
    let claims = claims.filter_map(|(place, new)| rounds::launched(facts, new, 0, place));
    let nodes: BTreeMap<NodeName, NodeClaim> = claims
        .filter_map(|claim| Some((NodeName::new(claim.name.as_str()).ok()?, claim)))
        .collect();
    let mut then = facts.clone();
    then.nodes.extend(nodes.iter().map(|(name, claim)| (name.clone(), node(name, claim))));
    let bound = simulator::bindings(&then, &queue).nodes;
    let owners = Owners::of(&facts.pods);
    for Unplaced { pod, reasons } in &mut plan.unplaced {
        let Some(claim) = bound.get(pod).and_then(|node| nodes.get(node)) else { continue };
        let left: Vec<&PodKey> =
            claim.pods.iter().filter(|key| !bound.contains_key(*key)).collect();
        if !left.is_empty() {
            let text = format!(
                "for its higher priority, kube-scheduler binds it to the node that is launched for {}, which waits then",
                owners.in_words(left)
            );
            let reason = RejectionReason::LeftForNextPlan;
            reasons.push(Reason { node_pool: None, reason, text });
        }
    }
}

/// The node of `claim` once pods can be scheduled to it.
fn node(name: &NodeName, claim: &NodeClaim) -> Node {
    Node {
        name: name.clone(),
        provider_id: None,
        created_at: claim.created_at,
        is_deleting: false,
        labels: claim.labels.clone(),
        annotations: BTreeMap::new(),
        finalizers: BTreeSet::new(),
        taints: claim.taints.clone(),
        capacity: claim.capacity.clone(),
        allocatable: claim.allocatable.clone(),
        is_ready: true,
        boot_id: String::new(),
        ill_conditions: Vec::new(),
    }
}

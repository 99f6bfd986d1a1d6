//! The same pods without the nodes that they run on, as if all of them had to be bought anew.

use std::collections::BTreeSet;

use model::{NodeClaimName, facts::Facts, pod::PodPhase};

use super::{
    cluster::{self, Machine},
    counted,
};

/// `facts` without the machines that can be replaced: their pods wait, but for pods that come with any node.
pub(super) fn emptied(facts: &Facts, machines: &[Machine<'_>]) -> Facts {
    let replaced = || machines.iter().filter(|machine| machine.is_replaceable());
    let nodes = cluster::nodes(replaced());
    let claims: BTreeSet<&NodeClaimName> =
        replaced().filter_map(|machine| Some(&machine.claim?.name)).collect();
    let mut emptied = facts.clone();
    emptied.nodes.retain(|name, _| !nodes.contains(name));
    emptied.ledger.claims.retain(|name, _| !claims.contains(name));
    emptied.pods.retain_mut(|pod| {
        if pod.node.as_ref().is_none_or(|node| !nodes.contains(node)) {
            return true;
        }
        let is_moved = pod.is_reschedulable();
        pod.node = None;
        pod.nominated_node = None;
        pod.phase = PodPhase::Pending;
        pod.unschedulable_at = Some(facts.now);
        is_moved
    });
    emptied
}

/// What stays as it is although nodes are bought anew.
pub(super) fn notes(machines: &[Machine<'_>]) -> Option<String> {
    let number = machines.iter().filter(|machine| !machine.is_replaceable()).count();
    (0 < number).then(|| {
        let nodes = counted(number, "node");
        format!(
            "{nodes} and the pods there, which stay: of static NodePools, on capacity reservations, or without a \
             known price"
        )
    })
}

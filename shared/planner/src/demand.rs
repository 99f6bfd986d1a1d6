//! Which pods need a place, in the order in which they get one, grouped by what decides it.
//!
//! Pods with equal specs are one class: whatever was found out about one holds for all of them.
//!
//! Karpenter: `pkg/controllers/provisioning/provisioner.go`, `GetPendingPods`, and
//! `scheduling/queue.go`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{NodeName, Pod, PodSpec, facts::Facts, labels, limits};

/// Pods with equal specs.
#[derive(Debug)]
pub(crate) struct Class<'a> {
    pub(crate) spec: &'a PodSpec,
    /// Why its pods are not looked at further, if so.
    pub(crate) refused: Option<String>,
}

/// The pods that need a place.
#[derive(Debug, Default)]
pub(crate) struct Demand<'a> {
    /// In the order in which they are placed, each with its class.
    pub(crate) pods: Vec<(&'a Pod, usize)>,
    /// The classes.
    pub(crate) classes: Vec<Class<'a>>,
    /// Pods beyond the most that one plan considers.
    pub(crate) left_out: Vec<&'a Pod>,
}

/// Pending pods and those of `leaving` nodes, whose claims are being given up: by CPU, then memory,
/// largest first, then age, then uid.
pub(crate) fn demand<'a>(facts: &'a Facts, leaving: &BTreeSet<&NodeName>) -> Demand<'a> {
    let wanted =
        facts.pods.iter().filter(|pod| pod.is_provisionable() || moves(pod, leaving, facts.now));
    let mut pods: Vec<&Pod> = wanted.collect();
    let key = |pod: &&'a Pod| -> (Reverse<u64>, Reverse<u64>, Timestamp, &'a model::PodUid) {
        let pod: &'a Pod = pod;
        let requests = &pod.spec.requests;
        (Reverse(requests.cpu.0), Reverse(requests.memory.0), pod.created_at, &pod.uid)
    };
    pods.sort_by_key(key);
    let left_out = pods.split_off(pods.len().min(limits::PODS_PER_PLAN_MAX));
    let mut all = Demand { left_out, ..Demand::default() };
    // Pods of one workload often share the very spec: its address answers without comparing. The
    // addresses order nothing but this map, which is only asked.
    let mut by_address: BTreeMap<*const PodSpec, usize> = BTreeMap::new();
    let mut by_spec: BTreeMap<&PodSpec, usize> = BTreeMap::new();
    for pod in pods {
        let class = *by_address.entry(Arc::as_ptr(&pod.spec)).or_insert_with(|| {
            *by_spec.entry(&pod.spec).or_insert_with(|| {
                all.classes.push(Class { spec: &pod.spec, refused: refused(&pod.spec) });
                all.classes.len() - 1
            })
        });
        all.pods.push((pod, class));
    }
    all
}

/// Whether a pod must move because its node goes away. One that forbids to be disturbed gets no new
/// place: nobody knows when it will leave.
fn moves(pod: &Pod, leaving: &BTreeSet<&NodeName>, now: Timestamp) -> bool {
    pod.node.as_ref().is_some_and(|node| leaving.contains(node))
        && pod.is_reschedulable()
        && !pod.is_protected(now)
}

/// Why no node can be found for pods with this spec, whatever there is.
///
/// Karpenter: `provisioner.go`, `Validate`.
fn refused(spec: &PodSpec) -> Option<String> {
    if !spec.unsupported.is_empty() {
        return Some(format!("not supported yet: {}", spec.unsupported.join(", ")));
    }
    let first = spec.requirements(0);
    let pool = first.get(labels::NODE_POOL);
    if pool.is_some_and(|pool| pool.operator() == model::Operator::DoesNotExist) {
        return Some(format!("it asks for a node without the label {}", labels::NODE_POOL));
    }
    let all = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
    let mut keys = all.map(|requirement| requirement.key().as_str());
    let restricted = keys.find(|key| labels::is_restricted(key))?;
    Some(format!("it may not ask for the label {restricted}, which is restricted"))
}

//! What kube-scheduler binds at once in a cluster that is known by facts: for previews.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceId, NodeName, ObjectName, Pod, PodKey, dynamic_resources::ResourceClaim, facts::Facts,
    labels, node::Node, storage::Storage,
};

use super::{Controller, NodeEntry, PodEntry};
use crate::{
    made_up,
    settings::{Trace, WorldSettings},
    world::World,
};

/// The pods that got a node, and what that changed.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// The node of each pod.
    pub nodes: BTreeMap<PodKey, NodeName>,
    /// What there is for volumes then: claims that waited for these pods have volumes where the pods are.
    pub storage: Storage,
    /// The ResourceClaims then: those of these pods have devices.
    pub device_claims: Vec<ResourceClaim>,
}

/// What kube-scheduler binds if it looks once at the pods of `facts` that are called in `queue`. The pods that DaemonSets
/// lack are bound before these. Pods of `facts` without a node that are not in `queue` stay without one.
#[must_use]
pub fn bindings(facts: &Facts, queue: &BTreeSet<PodKey>) -> Bindings {
    let mut world = World::of_facts(facts);
    let mut queued = Vec::new();
    for pod in facts.pods.iter().filter(|pod| !pod.is_terminal()) {
        let entry = PodEntry {
            pod: pod.clone(),
            controller: controller(pod),
            pinned: None,
            runs_for: None,
            deletion: None,
        };
        if pod.node.is_some() {
            world.runs_already(entry);
        } else if queue.contains(&pod.key) {
            queued.push(entry);
        }
    }
    world.reconcile_daemons();
    world.schedule_pods();
    for entry in queued {
        world.create_pod(entry);
    }
    world.schedule_pods();
    let node = |key: &PodKey| Some((key.clone(), world.cluster.pods.get(key)?.pod.node.clone()?));
    let nodes = queue.iter().filter_map(node).collect();
    let device_claims = world.cluster.devices.claims.into_values().collect();
    Bindings { nodes, storage: world.cluster.storage, device_claims }
}

/// What made `pod`; what made a pod that no DaemonSet made does not matter here.
fn controller(pod: &Pod) -> Controller {
    let daemon_set = pod.owner.as_ref().filter(|_| pod.is_owned_by_daemon_set());
    let name = daemon_set.and_then(|owner| ObjectName::new(&owner.name).ok());
    match name {
        Some(name) => Controller::DaemonSet(PodKey { namespace: pod.key.namespace.clone(), name }),
        None => Controller::Workload(pod.key.clone()),
    }
}

/// Every kubelet gives its node this label; nodes that are written by hand may lack it.
fn with_hostname(node: &Node) -> Node {
    let mut node = node.clone();
    node.labels.entry(labels::HOSTNAME.to_owned()).or_insert_with(|| node.name.to_string());
    node
}

impl World {
    /// The cluster of `facts` without its pods.
    fn of_facts(facts: &Facts) -> Self {
        let settings = WorldSettings {
            start: facts.now,
            has_schedules: false,
            ledger_is_open: false,
            trace: Trace::Dropped,
            ..WorldSettings::default()
        };
        let mut world = Self::new(settings, std::sync::Arc::default());
        let cluster = &mut world.cluster;
        cluster.namespaces.clone_from(&facts.surroundings.namespaces);
        cluster.storage = facts.surroundings.storage.clone();
        if let Some(found) = facts.devices.as_deref().cloned() {
            let slices = found.slices.into_iter().map(|slice| (slice.name.clone(), slice));
            cluster.devices.slices = slices.collect();
            let classes = found.classes.into_iter().map(|class| (class.name.clone(), class));
            cluster.devices.classes = classes.collect();
            let claims = found.claims.into_iter().map(|claim| (claim.key.clone(), claim));
            cluster.devices.claims = claims.collect();
        }
        let daemon_sets = facts.daemon_sets.iter().cloned();
        cluster.daemon_sets = daemon_sets.map(|daemon| (daemon.key.clone(), daemon)).collect();
        // Nodes that no instance is known of are nodes for kube-scheduler.
        let instance = made_up(InstanceId::new("i-00000000"));
        let entry = |node: &Node| NodeEntry::empty(with_hostname(node), instance.clone());
        cluster.nodes =
            facts.nodes.iter().map(|(name, node)| (name.clone(), entry(node))).collect();
        world
    }

    /// A pod that has its node. One whose node is gone takes room of none.
    fn runs_already(&mut self, entry: PodEntry) {
        let node = entry.pod.node.as_ref().and_then(|name| self.cluster.nodes.get_mut(name));
        if let Some(node) = node {
            node.take(&entry.pod);
            if let Controller::DaemonSet(key) = &entry.controller {
                node.daemons.insert(key.clone());
            }
        }
        self.admit(entry);
    }
}

//! What runs before a story starts: nodes of another cluster, with their instances and their pods.
//!
//! They are there as Karpenter would have left them: the NodeClaim objects have no manager yet, and the
//! instances have the tags by which they are found and adopted. That is done before anything is decided.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    CapacityType, InstanceId, InstanceTypeName, NodeClaim, NodeName, OfferingKey, PodKey,
    ProviderId, Resources, Taint, Zone, labels, node::Node, pod::PodPhase, taint::is_ephemeral,
};

use super::{Controller, NodeClaimObject, NodeEntry, PodEntry};
use crate::{
    account::Inherited,
    story::{StoryNode, StoryWorkload},
    world::{Event, World},
};

/// An instance that was there before.
struct Before<'n> {
    id: InstanceId,
    offering: OfferingKey,
    architecture: Option<&'n String>,
    launched_at: Timestamp,
    capacity: &'n Resources,
}

impl World {
    /// Puts a node into the cluster and its instance into the account. One whose provider id names no
    /// instance, or whose labels no type and zone, is left out. One of a NodePool that is not initialized goes on becoming
    /// so.
    pub(super) fn add_node(&mut self, story: StoryNode) {
        let StoryNode { node, claim } = story;
        let Some(instance) = node.provider_id.as_ref().and_then(ProviderId::instance) else {
            return;
        };
        let Some(offering) = offering(&node) else { return };
        let before = Before {
            id: instance.clone(),
            offering,
            architecture: node.labels.get(labels::ARCH),
            launched_at: claim.as_ref().map_or(node.created_at, |claim| claim.created_at),
            capacity: &node.capacity,
        };
        self.inherit_instance(before, claim.as_deref());
        let is_starting = claim.is_some() && !node.is_initialized();
        if let Some(claim) = claim {
            self.inherit_claim(*claim);
        }
        self.cluster.node_of_instance.insert(instance.clone(), node.name.clone());
        let name = node.name.clone();
        let entry = NodeEntry::empty(node, instance);
        self.cluster.nodes.insert(name.clone(), entry);
        self.plan_devices(&name);
        if is_starting {
            let ready_after = self.chances.cluster.within(self.settings.node_ready_after);
            self.after(ready_after, Event::NodeStarted(name));
        }
    }

    /// A node that was not initialized at the start is ready, and taints that a starting node loses are gone.
    pub(crate) fn node_started(&mut self, name: &NodeName) {
        if !self.is_kubelet_alive(name) {
            return;
        }
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        let is_left = |taint: &Taint| taint.key == labels::UNREGISTERED_TAINT;
        entry.node.taints.retain(|taint| is_left(taint) || !is_ephemeral(taint));
        if let Some(claim) = self.ledger.claim_of(&entry.instance) {
            register_devices(&mut entry.node.capacity, &claim.capacity);
            register_devices(&mut entry.node.allocatable, &claim.allocatable);
        }
        self.node_ready(name);
    }

    /// Puts a claim into the cluster and its instance into the account: its node joins as if it were launched now.
    pub(super) fn add_node_claim(&mut self, claim: NodeClaim) {
        let Some(launched) = &claim.instance else { return };
        let instance = launched.id.clone();
        let before = Before {
            id: instance.clone(),
            offering: launched.offering(),
            architecture: claim.labels.get(labels::ARCH),
            launched_at: claim.created_at,
            capacity: &claim.capacity,
        };
        self.inherit_instance(before, Some(&claim));
        self.inherit_claim(claim);
        let joins_after = self.chances.account.within(self.settings.node_joins_after);
        self.after(joins_after, Event::NodeJoins(instance));
    }

    fn inherit_claim(&mut self, claim: NodeClaim) {
        let name = claim.name.clone();
        let object = NodeClaimObject { foreign: Some(claim), ..NodeClaimObject::default() };
        self.cluster.node_claims.insert(name, object);
        self.await_adoption();
    }

    /// Puts the instance of `claim` into the account, or of a node without one.
    fn inherit_instance(&mut self, before: Before<'_>, claim: Option<&NodeClaim>) {
        let Before { id, offering, architecture, launched_at, capacity } = before;
        let class = claim.and_then(|claim| self.cluster.node_classes.get(&claim.node_class));
        let class = class.cloned();
        let (subnets, images) = match &class {
            Some(class) => {
                let version = self.settings.kubernetes_version.clone();
                (self.subnets(&class.subnet_terms), self.images(&class.image_terms, &version))
            }
            None => (Vec::new(), Vec::new()),
        };
        // Where it is not known which images there are, it runs on one of them.
        let of_claim = claim.and_then(|claim| claim.instance.as_ref()?.image.clone());
        let is_listed = class.is_some_and(|class| self.knows_images(&class.image_terms));
        let of_claim = of_claim.filter(|_| is_listed);
        let architecture = architecture.map_or("amd64", String::as_str);
        let runs_on = |image: &&model::node_class::Image| {
            image.requirements.get(labels::ARCH).is_none_or(|asked| asked.has(architecture))
        };
        let cluster = self.settings.cluster.to_string();
        let mut tags = BTreeMap::from([(labels::CLUSTER_NAME_TAG.to_owned(), cluster.clone())]);
        if let Some(claim) = claim {
            tags.insert(format!("{}/{cluster}", labels::CLUSTER_TAG_PREFIX), "owned".to_owned());
            tags.insert(labels::NODE_POOL.to_owned(), claim.node_pool.to_string());
            tags.insert(labels::NODE_CLASS.to_owned(), claim.node_class.to_string());
            tags.insert(labels::NODE_CLAIM_TAG.to_owned(), claim.name.to_string());
        }
        self.inherit(Inherited {
            id,
            subnet: subnets.iter().find(|s| s.zone == offering.zone).map(|s| s.id.clone()),
            image: of_claim.or_else(|| images.iter().find(runs_on).map(|image| image.id.clone())),
            offering,
            launched_at,
            capacity: capacity.clone(),
            tags,
        });
    }

    /// Lets the pods of a workload run that already do, on the nodes that are there.
    pub(super) fn run_before(&mut self, workload: &StoryWorkload) {
        let key = workload.key();
        for started in &workload.started {
            let pod = PodKey { namespace: workload.namespace.clone(), name: started.name.clone() };
            if self.cluster.nodes.contains_key(&started.node)
                && !self.cluster.pods.contains_key(&pod)
            {
                self.run_one_before(&key, &pod, &started.node);
            }
        }
    }

    fn run_one_before(&mut self, workload: &PodKey, key: &PodKey, node: &NodeName) {
        let Some(mut pod) = self.workload_pod(workload, key) else { return };
        self.allocate_devices(&pod, node);
        pod.node = Some(node.clone());
        pod.phase = PodPhase::Running;
        pod.started_at = Some(self.now);
        pod.is_ready = true;
        if let Some(target) = self.cluster.nodes.get_mut(node) {
            target.take(&pod);
        }
        if !pod.volumes.is_empty() {
            self.cluster.provision_volumes(&pod, node);
        }
        let controller = Controller::Workload(workload.clone());
        let entry = PodEntry { pod, controller, pinned: None, runs_for: None, deletion: None };
        self.admit(entry);
    }
}

/// Adds to `registered` what device plugins register of the resources that are `expected`.
fn register_devices(registered: &mut Resources, expected: &Resources) {
    for (name, amount) in &expected.extended {
        let before = registered.extended.entry(name.clone()).or_default();
        *before = (*amount).max(*before);
    }
}

/// What a node's labels say of how it was bought.
fn offering(node: &Node) -> Option<OfferingKey> {
    let label = |key: &str| node.labels.get(key).map(String::as_str);
    Some(OfferingKey {
        instance_type: InstanceTypeName::new(label(labels::INSTANCE_TYPE)?).ok()?,
        zone: Zone::new(label(labels::ZONE)?).ok()?,
        capacity_type: label(labels::CAPACITY_TYPE)
            .and_then(CapacityType::parse)
            .unwrap_or(CapacityType::OnDemand),
    })
}

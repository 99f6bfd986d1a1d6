//! What runs before a story starts: nodes of another cluster, with their instances and their pods.
//!
//! They are there as Karpenter would have left them: the NodeClaim objects have no manager yet, and the
//! instances have the tags by which they are found and adopted.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CapacityType, InstanceTypeName, NodeName, OfferingKey, PodKey, ProviderId, Resources, Zone,
    labels, node::Node, pod::PodPhase,
};

use super::{Controller, NodeClaimObject, NodeEntry, PodEntry};
use crate::{
    account::Inherited,
    story::{StoryNode, StoryWorkload},
    world::World,
};

impl World {
    /// Puts a node into the cluster and its instance into the account. One whose provider id names no
    /// instance, or whose labels no type and zone, is left out.
    pub(super) fn add_node(&mut self, story: StoryNode) {
        let StoryNode { node, claim } = story;
        let Some(instance) = node.provider_id.as_ref().and_then(ProviderId::instance) else {
            return;
        };
        let Some(offering) = offering(&node) else { return };
        let class = claim
            .as_ref()
            .and_then(|claim| self.cluster.node_classes.get(&claim.node_class))
            .cloned();
        let (subnets, images) = match &class {
            Some(class) => {
                let version = self.settings.kubernetes_version.clone();
                (self.subnets(&class.subnet_terms), self.images(&class.image_terms, &version))
            }
            None => (Vec::new(), Vec::new()),
        };
        let architecture = node.labels.get(labels::ARCH).map_or("amd64", String::as_str);
        let runs_on = |image: &&model::node_class::Image| {
            image.requirements.get(labels::ARCH).is_none_or(|asked| asked.has(architecture))
        };
        let cluster = self.settings.cluster.to_string();
        let mut tags = BTreeMap::from([(labels::CLUSTER_NAME_TAG.to_owned(), cluster.clone())]);
        if let Some(claim) = &claim {
            tags.insert(format!("{}/{cluster}", labels::CLUSTER_TAG_PREFIX), "owned".to_owned());
            tags.insert(labels::NODE_POOL.to_owned(), claim.node_pool.to_string());
            tags.insert(labels::NODE_CLASS.to_owned(), claim.node_class.to_string());
            tags.insert(labels::NODE_CLAIM_TAG.to_owned(), claim.name.to_string());
        }
        self.inherit(Inherited {
            id: instance.clone(),
            subnet: subnets.iter().find(|s| s.zone == offering.zone).map(|s| s.id.clone()),
            image: images.iter().find(runs_on).map(|image| image.id.clone()),
            offering,
            launched_at: claim.as_ref().map_or(node.created_at, |claim| claim.created_at),
            capacity: node.capacity.clone(),
            tags,
        });
        if let Some(claim) = claim {
            let name = claim.name.clone();
            let foreign = Some(*claim);
            let object = NodeClaimObject { foreign, ..NodeClaimObject::default() };
            self.cluster.node_claims.insert(name, object);
        }
        self.cluster.node_of_instance.insert(instance.clone(), node.name.clone());
        let entry = NodeEntry {
            instance,
            used: Resources::default(),
            pods: BTreeSet::new(),
            daemons: BTreeSet::new(),
            node,
        };
        self.cluster.nodes.insert(entry.node.name.clone(), entry);
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
        pod.node = Some(node.clone());
        pod.phase = PodPhase::Running;
        pod.started_at = Some(self.now);
        pod.is_ready = true;
        if let Some(target) = self.cluster.nodes.get_mut(node) {
            target.used = target.used.saturating_add(&pod.spec.requests);
            target.pods.insert(key.clone());
        }
        if !pod.volumes.is_empty() {
            self.cluster.provision_volumes(&pod, node);
        }
        let controller = Controller::Workload(workload.clone());
        let entry = PodEntry { pod, controller, pinned: None, runs_for: None, deletion: None };
        self.admit(entry);
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

//! What objects of a running cluster say about what runs there: nodes, claims, pods on nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{InstanceId, NodeClaim, NodeName, PodKey, ProviderId, node::Node};
use simulator::{ClusterObject, StartedPod, StoryNode};

use super::Loaded;

/// What runs in a cluster whose objects were saved.
#[derive(Debug, Default)]
pub(super) struct Dump {
    pub(super) nodes: Vec<Node>,
    pub(super) claims: Vec<NodeClaim>,
    /// By workload.
    pub(super) started: BTreeMap<PodKey, Vec<StartedPod>>,
}

impl Dump {
    /// Adds the nodes, each with its claim, to what is played, and lets the workloads' pods run.
    pub(super) fn play(mut self, loaded: &mut Loaded) {
        let nodes = self.nodes.iter().map(|node| node.created_at);
        loaded.saved_at = nodes.chain(self.claims.iter().map(latest)).max();
        for object in &mut loaded.objects {
            if let ClusterObject::Workload(workload) = object {
                workload.started = self.started.remove(&workload.key()).unwrap_or_default();
            }
        }
        let mut by_node: BTreeMap<NodeName, NodeClaim> = BTreeMap::new();
        let mut by_instance: BTreeMap<InstanceId, NodeClaim> = BTreeMap::new();
        for claim in self.claims {
            if let Some(node) = &claim.node {
                by_node.insert(node.clone(), claim);
            } else if let Some(instance) = &claim.instance {
                by_instance.insert(instance.id.clone(), claim);
            } else {
                loaded
                    .ignored
                    .push(format!("NodeClaim {}: is left out: it has no instance yet", claim.name));
            }
        }
        for node in self.nodes {
            let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
            let Some(instance) = instance else {
                let why = "is left out: its spec.providerID names no EC2 instance";
                loaded.ignored.push(format!("Node {}: {why}", node.name));
                continue;
            };
            let claim = by_node.remove(&node.name).or_else(|| by_instance.remove(&instance));
            let node = StoryNode { node, claim: claim.map(Box::new) };
            loaded.objects.push(ClusterObject::Node(Box::new(node)));
        }
        for claim in by_node.into_values().chain(by_instance.into_values()) {
            let why = "is left out: its node is not among the objects";
            loaded.ignored.push(format!("NodeClaim {}: {why}", claim.name));
        }
        // Nodes are of classes, and pods are on nodes.
        loaded.objects.sort_by_key(|object| match object {
            ClusterObject::Node(_) => 1,
            ClusterObject::Workload(_) => 2,
            _ => 0,
        });
    }
}

/// The latest moment that a claim tells of.
fn latest(claim: &NodeClaim) -> Timestamp {
    claim.created_at.max(claim.phase_since)
}

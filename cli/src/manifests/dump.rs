//! What objects of a running cluster say about what runs there: nodes, claims, pods on nodes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    InstanceId, NodeClaim, NodeClassName, NodeName, PodKey, ProviderId, node::Node,
    static_hash::NODE_CLASS,
};
use simulator::{ClusterObject, StartedPod, StoryNode, WorldSettings};

use super::{Loaded, claims::ClaimTemplates};
use crate::hashes::{Authority, ClassHashes, ToHash};

/// What runs in a cluster whose objects were saved.
#[derive(Debug, Default)]
pub(super) struct Dump {
    pub(super) nodes: Vec<Node>,
    pub(super) claims: Vec<NodeClaim>,
    pub(super) classes: Vec<ToHash<NodeClassName>>,
    /// By workload.
    pub(super) started: BTreeMap<PodKey, Vec<StartedPod>>,
    /// What ResourceClaims of pods are made from.
    pub(super) templates: ClaimTemplates,
}

impl Dump {
    /// Adds the nodes, each with its claim, and claims whose node has not joined yet to what is played, and lets the
    /// workloads' pods run.
    pub(super) fn play(mut self, loaded: &mut Loaded) {
        let nodes = self.nodes.iter().map(|node| node.created_at);
        loaded.saved_at = nodes.chain(self.claims.iter().map(latest)).max();
        let classes = std::mem::take(&mut self.classes);
        loaded.ignored.extend(translate_hashes(classes, &mut self.claims));
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
        let joining = by_instance.into_values().map(Box::new).map(ClusterObject::NodeClaim);
        loaded.objects.extend(joining);
        for claim in by_node.into_values() {
            let why = "is left out: its node is not among the objects";
            loaded.ignored.push(format!("NodeClaim {}: {why}", claim.name));
        }
        // Nodes are of classes, and pods are on nodes.
        loaded.objects.sort_by_key(|object| match object {
            ClusterObject::Node(_) | ClusterObject::NodeClaim(_) => 1,
            ClusterObject::Workload(_) => 2,
            _ => 0,
        });
    }
}

/// Gives `claims` that have not drifted from their class, as far as the input tells, the hash that the class has in a
/// simulated cluster: that cluster has another certificate authority, which is a part of the hash. Says how it is known of
/// each of these classes.
fn translate_hashes(classes: Vec<ToHash<NodeClassName>>, claims: &mut [NodeClaim]) -> Vec<String> {
    let simulated = WorldSettings::with_seed(0).ca_bundle;
    let of_spec = |class: &ToHash<NodeClassName>| {
        Some((class.name.clone(), class.of_spec?.with_ca_bundle(&simulated).to_string()))
    };
    let simulated: BTreeMap<NodeClassName, String> = classes.iter().filter_map(of_spec).collect();
    let of_claims = claims.iter().map(|claim| (&claim.node_class, &claim.annotations));
    let hashes = ClassHashes::of(Authority::Unknown, classes, of_claims);
    let mut translated = BTreeSet::new();
    for claim in claims {
        let class = &claim.node_class;
        let Some(new) = simulated.get(class) else { continue };
        if !NODE_CLASS.differs(&claim.annotations, new) {
            continue;
        }
        let has_drifted = match hashes.known.get(class) {
            Some(hash) => NODE_CLASS.differs(&claim.annotations, hash),
            None => hashes.stored_difference(class, &claim.annotations).is_some(),
        };
        if !has_drifted {
            translated.insert(class.clone());
            claim.annotations.extend(NODE_CLASS.annotations(new));
        }
    }
    let note = |class: NodeClassName| {
        if hashes.known.contains_key(&class) {
            return format!(
                "EC2NodeClass {class}: nodes with its stored hash have not drifted from its spec: to play another spec, \
                 apply it in a scenario"
            );
        }
        format!(
            "whether nodes have drifted from the spec of EC2NodeClass {class} is unknown, and none is taken to have: an \
             EC2NodeClass with its annotations and its status (kubectl get ec2nodeclass {class} -o json) tells it"
        )
    };
    translated.into_iter().map(note).collect()
}

/// The latest moment that a claim tells of.
fn latest(claim: &NodeClaim) -> Timestamp {
    claim.created_at.max(claim.phase_since)
}

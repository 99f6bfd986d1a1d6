//! What goes wrong around the cluster: webhooks that refuse, objects that nobody can read.

use std::sync::Arc;

use model::{
    NodeName, Pod, PodKey, PodSpec, Problem, Resources,
    node::{Eviction, EvictionRequest, IllCondition, IllStatus, Node},
    problem::{Rule, Weight},
};
use ports::{Fault, Listing, Malformed, PodSelection, PortError};

use crate::world::World;

impl World {
    /// A webhook refuses every eviction of `pod` from now on. It does not see deletions.
    pub(super) fn refuse_evictions(&mut self, pod: PodKey) {
        self.cluster.refused_evictions.insert(pod);
    }

    /// `node` is ill by these conditions, or well again.
    pub(super) fn set_ill(&mut self, node: &NodeName, conditions: Vec<String>) {
        let now = self.now;
        let Some(entry) = self.cluster.nodes.get_mut(node) else { return };
        entry.node.is_ready = !conditions.iter().any(|kind| kind == "Ready");
        let ill = |condition: String| {
            let (kind, reason) = condition.split_once('=').unwrap_or((&condition, "Simulated"));
            IllCondition {
                kind: kind.to_owned(),
                status: IllStatus::False,
                reason: reason.to_owned(),
                since: Some(now),
            }
        };
        entry.node.ill_conditions = conditions.into_iter().map(ill).collect();
    }

    /// The API server's answer to an eviction, after its webhooks were asked.
    ///
    /// <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>: what
    /// a webhook denies is answered with 403, or with 400 when it says nothing of it.
    pub(crate) fn admit_eviction(
        &mut self,
        request: &EvictionRequest,
    ) -> Result<Eviction, PortError> {
        let is_refused = self.cluster.refused_evictions.contains(&request.pod);
        if is_refused && request.grace_seconds.is_none() {
            let why = "admission webhook \"evictions.example.com\" denied the request";
            return Err(PortError::because("evict a pod", Fault::Permanent, why));
        }
        Ok(self.evict(request))
    }

    /// The pods that `selection` selects. Of one that cannot be read there is what could be read; one that
    /// is not in the cluster stands for a pod of which nobody can say where it is.
    pub(crate) fn listed_pods(&self, selection: &PodSelection) -> Listing<Pod> {
        let selected = self.cluster.selected(selection);
        let unreadable = self.unreadable("Pod");
        if unreadable.is_empty() {
            return Listing { items: selected.cloned().collect(), malformed: Vec::new() };
        }
        let is_unlocated = |malformed: &&Malformed| {
            !self.cluster.pods.keys().any(|key| format!("Pod {key}") == malformed.object)
        };
        let mut malformed: Vec<Malformed> =
            unreadable.iter().filter(is_unlocated).cloned().collect();
        let listed = selected.map(|pod| {
            let object = format!("Pod {}", pod.key);
            let Some(known) = unreadable.iter().find(|malformed| malformed.object == object) else {
                return pod.clone();
            };
            malformed.push(known.clone());
            rest_of(pod, &known.problem)
        });
        let mut items: Vec<Pod> = listed.collect();
        if self.settings.sabotage.hide_unreadable {
            items.retain(|pod| !pod.is_unreadable());
            malformed.clear();
        }
        Listing { items, malformed }
    }

    /// All nodes, without those that cannot be read: the listing says so.
    pub(crate) fn listed_nodes(&self) -> Listing<Node> {
        let unreadable = self.unreadable("Node");
        let nodes = self.cluster.nodes.values().map(|entry| &entry.node);
        let readable = nodes.filter(|node| !is_node(&unreadable, &node.name));
        Listing { items: readable.cloned().collect(), malformed: self.told("Node") }
    }

    /// Whether the node called `name` cannot be read: whoever looks for it does not find it.
    pub(crate) fn is_node_unreadable(&self, name: &NodeName) -> bool {
        is_node(&self.unreadable("Node"), name)
    }

    /// Whether the object of `kind` called `name` cannot be read.
    pub(crate) fn is_unreadable(&self, kind: &str, name: impl std::fmt::Display) -> bool {
        let unreadable = self.unreadable(kind);
        !unreadable.is_empty() && is_named(&unreadable, &format!("{kind} {name}"))
    }
}

/// What is left of a pod that cannot be read.
fn rest_of(pod: &Pod, why: &str) -> Pod {
    let rule = Rule::Unreadable(why.to_owned());
    let spec = PodSpec {
        labels: pod.spec.labels.clone(),
        requests: Resources { pods: 1, ..Resources::default() },
        problems: vec![Problem { weight: Weight::Unusable, field: String::new(), rule }],
        ..PodSpec::default()
    };
    Pod { volumes: Vec::new(), spec: Arc::new(spec), ..pod.clone() }
}

fn is_node(unreadable: &[Malformed], name: &NodeName) -> bool {
    !unreadable.is_empty() && is_named(unreadable, &format!("Node {name}"))
}

fn is_named(unreadable: &[Malformed], object: &str) -> bool {
    unreadable.iter().any(|malformed| malformed.object == object)
}

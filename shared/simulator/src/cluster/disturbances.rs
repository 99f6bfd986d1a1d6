//! What goes wrong around the cluster: webhooks that refuse, objects that nobody can read.

use model::{
    NodeName, Pod, PodKey,
    node::{Eviction, EvictionRequest, Node},
};
use ports::{Fault, Listing, Malformed, PodSelection, PortError};

use crate::world::World;

impl World {
    /// A webhook refuses every eviction of `pod` from now on. It does not see deletions.
    pub(super) fn refuse_evictions(&mut self, pod: PodKey) {
        self.cluster.refused_evictions.insert(pod);
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

    /// The pods that `selection` selects. One that cannot be read is not among them: the listing says
    /// that it could not be read.
    pub(crate) fn listed_pods(&self, selection: &PodSelection) -> Listing<Pod> {
        let unreadable = self.unreadable("Pod");
        let is_unreadable = |pod: &Pod| is_named(&unreadable, &format!("Pod {}", pod.key));
        let mut listing = Listing { items: Vec::new(), malformed: Vec::new() };
        for pod in self.cluster.selected(selection) {
            if unreadable.is_empty() || !is_unreadable(pod) {
                listing.items.push(pod.clone());
            }
        }
        // The API server selects before anybody reads: what is elsewhere is not in the answer.
        let selected: Vec<String> = if unreadable.is_empty() {
            Vec::new()
        } else {
            self.cluster.selected(selection).map(|pod| format!("Pod {}", pod.key)).collect()
        };
        let is_there = |object: &str| {
            selected.iter().any(|name| name == object)
                || !self.cluster.pods.keys().any(|key| format!("Pod {key}") == object)
        };
        listing.malformed = unreadable;
        listing.malformed.retain(|malformed| is_there(&malformed.object));
        listing
    }

    /// All nodes, without those that cannot be read: the listing says so.
    pub(crate) fn listed_nodes(&self) -> Listing<Node> {
        let unreadable = self.unreadable("Node");
        let nodes = self.cluster.nodes.values().map(|entry| &entry.node);
        let readable = nodes.filter(|node| !is_node(&unreadable, &node.name));
        Listing { items: readable.cloned().collect(), malformed: unreadable }
    }

    /// Whether the node called `name` cannot be read: whoever looks for it does not find it.
    pub(crate) fn is_node_unreadable(&self, name: &NodeName) -> bool {
        is_node(&self.unreadable("Node"), name)
    }
}

fn is_node(unreadable: &[Malformed], name: &NodeName) -> bool {
    !unreadable.is_empty() && is_named(unreadable, &format!("Node {name}"))
}

fn is_named(unreadable: &[Malformed], object: &str) -> bool {
    unreadable.iter().any(|malformed| malformed.object == object)
}

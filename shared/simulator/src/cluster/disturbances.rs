//! What goes wrong around the cluster: webhooks that refuse, unreadable objects.

use std::sync::Arc;

use model::{
    NodeName, Pod, PodKey, PodSpec, Problem, Resources,
    node::{Eviction, EvictionRequest, IllCondition, IllStatus, Node},
    problem::{Rule, Weight},
    storage::VolumeAttachment,
};
use ports::{Fault, Listing, PodSelection, PortError};

use super::lists::find;
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
    /// is not in the cluster stands for a pod of unknown place: it is in lists of all pods.
    pub(crate) fn listed_pods(&self, selection: &PodSelection) -> Listing<Pod> {
        let selected = self.cluster.selected(selection);
        let mut unreadable = self.unreadable("Pod");
        if unreadable.is_empty() {
            return Listing { items: selected.cloned().collect(), malformed: Vec::new() };
        }
        let mut malformed = Vec::new();
        let listed = selected.map(|pod| {
            let Some(why) = find(&unreadable, "Pod", &pod.key) else { return pod.clone() };
            malformed.push(why.clone());
            rest_of(pod, &why.problem)
        });
        let mut items: Vec<Pod> = listed.collect();
        if *selection == PodSelection::All {
            unreadable.retain(|pod| !malformed.contains(pod));
            malformed.append(&mut unreadable);
        }
        if self.settings.sabotage.hide_unreadable {
            items.retain(|pod| !pod.is_unreadable());
            malformed.clear();
        }
        Listing { items, malformed }
    }

    /// All VolumeAttachments. Of one that cannot be read there is what could be read.
    pub(crate) fn listed_attachments(&self) -> Listing<VolumeAttachment> {
        let kind = "VolumeAttachment";
        let unreadable = self.unreadable(kind);
        let is_hidden = self.settings.sabotage.hide_unreadable;
        let listed = self.cluster.attachments.values().filter_map(|attachment| {
            let name = &attachment.name;
            match find(&unreadable, kind, name) {
                None => Some(attachment.clone()),
                Some(_) if is_hidden => None,
                Some(_) => {
                    Some(VolumeAttachment { volume: Some(name.clone()), ..attachment.clone() })
                }
            }
        });
        Listing { items: listed.collect(), malformed: self.reported(kind) }
    }

    /// All nodes that can be read.
    pub(crate) fn listed_nodes(&self) -> Listing<Node> {
        let nodes = self.cluster.nodes.iter();
        let mut listing =
            self.list_of("Node", nodes.map(|(name, entry)| (name, entry.node.clone())));
        for malformed in &mut listing.malformed {
            let mut nodes = self.cluster.nodes.values().map(|entry| &entry.node);
            let node = nodes.find(|node| malformed.object == format!("Node {}", node.name));
            malformed.provider_id =
                node.map_or_else(|| malformed.provider_id.take(), |node| node.provider_id.clone());
        }
        listing
    }

    /// Nodes without the label that says that they are initialized, whether or not they can be read. One that is not in the cluster has
    /// none.
    pub(crate) fn uninitialized_nodes(&self) -> Listing<Node> {
        let Listing { mut items, mut malformed } = self.listed_nodes();
        items.retain(|node| !node.is_initialized());
        let nodes = self.cluster.nodes.values().map(|entry| &entry.node);
        for node in nodes.filter(|node| node.is_initialized()) {
            malformed.retain(|malformed| malformed.object != format!("Node {}", node.name));
        }
        Listing { items, malformed }
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

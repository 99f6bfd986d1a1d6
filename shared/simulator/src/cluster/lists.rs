//! Lists as the API server sends them: what is there, and what of it cannot be read.

use model::{api_version, facts::Surroundings, policies::Policies};
use ports::{Listing, Malformed, Surrounded};

use crate::world::World;

/// A kind of Karpenter's and the version of its API.
pub(crate) const NODE_POOL: (&str, &str) = ("NodePool", api_version::KARPENTER_V1);
pub(crate) const NODE_CLASS: (&str, &str) = ("EC2NodeClass", api_version::AWS_V1);
const NODE_OVERLAY: (&str, &str) = ("NodeOverlay", api_version::KARPENTER_V1ALPHA1);
const CAPACITY_BUFFER: (&str, &str) = ("CapacityBuffer", "autoscaling.x-k8s.io/v1beta1");

impl World {
    /// A list of a kind that every cluster knows.
    pub(crate) fn list_of<T>(&self, kind: &str, items: impl Iterator<Item = T>) -> Listing<T> {
        Listing { items: items.collect(), malformed: self.told(kind) }
    }

    /// A list of a kind that a cluster knows once its definition is installed.
    pub(crate) fn list_of_custom<T>(
        &self,
        kind: (&str, &str),
        items: impl Iterator<Item = T>,
    ) -> Listing<T> {
        match self.unknown(kind) {
            Some(unknown) => Listing { items: Vec::new(), malformed: vec![unknown] },
            None => self.list_of(kind.0, items),
        }
    }

    /// What surrounds the cluster's pods.
    pub(crate) fn surroundings(&self, policies: Policies) -> Surrounded {
        let cluster = &self.cluster;
        let mut surroundings = Surroundings {
            namespaces: cluster.namespaces.clone(),
            storage: cluster.storage.clone(),
            disruption_budgets: cluster.disruption_budgets(),
            ..Surroundings::default()
        };
        let always = [
            "Namespace",
            "StorageClass",
            "PersistentVolumeClaim",
            "PersistentVolume",
            "CSINode",
            "PodDisruptionBudget",
        ];
        let mut malformed: Vec<Malformed> =
            always.iter().flat_map(|kind| self.unreadable(kind)).collect();
        if policies.node_overlay {
            let overlays = cluster.node_overlays.values().cloned();
            let listing = self.list_of_custom(NODE_OVERLAY, overlays);
            surroundings.node_overlays = listing.items;
            malformed.extend(listing.malformed);
        }
        if policies.capacity_buffer {
            let buffers = cluster.capacity_buffers.values().cloned();
            let listing = self.list_of_custom(CAPACITY_BUFFER, buffers);
            surroundings.capacity_buffers = listing.items;
            malformed.extend(listing.malformed);
        }
        Surrounded { surroundings, malformed }
    }

    /// What a list of `kind` says of objects that cannot be read.
    pub(super) fn told(&self, kind: &str) -> Vec<Malformed> {
        if self.settings.sabotage.hide_unreadable { Vec::new() } else { self.unreadable(kind) }
    }

    pub(super) fn unreadable(&self, kind: &str) -> Vec<Malformed> {
        let unreadable = self.cluster.unreadable.iter();
        let is_of_kind = |malformed: &&Malformed| {
            malformed.object.split(' ').next().is_some_and(|first| first == kind)
        };
        unreadable.filter(is_of_kind).cloned().collect()
    }

    fn unknown(&self, (kind, api_version): (&str, &str)) -> Option<Malformed> {
        let problem = format!("the cluster does not know {api_version} {kind}: install the CRDs");
        let unknown = Malformed { object: kind.to_owned(), problem };
        (!self.settings.has_definitions).then_some(unknown)
    }
}

//! Lists as the API server sends them: what is there, and what of it cannot be read.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use model::{
    api_version,
    buffer::{BufferTarget, CapacityBuffer},
    facts::Surroundings,
    overlay::{NodeOverlay, ObservedOverlay},
    policies::Policies,
    storage::{Storage, VolumeClaimKey},
};
use ports::{Fault, Listing, Malformed, PortError, Surrounded};

use super::ClusterState;
use crate::{
    story::{BufferReferent, StoryWorkload},
    world::World,
};

/// A kind of Karpenter's and the version of its API.
pub(crate) const NODE_POOL: (&str, &str) = ("NodePool", api_version::KARPENTER_V1);
pub(crate) const NODE_CLASS: (&str, &str) = ("EC2NodeClass", api_version::AWS_V1);
const NODE_OVERLAY: (&str, &str) = ("NodeOverlay", api_version::KARPENTER_V1ALPHA1);
const CAPACITY_BUFFER: (&str, &str) = ("CapacityBuffer", api_version::AUTOSCALING_V1BETA1);

/// What a CapacityBuffer may refer to: listed where there is one.
const REFERABLE: [&str; 4] = ["PodTemplate", "Deployment", "StatefulSet", "ReplicaSet"];

/// Lists, and keeps what cannot be read.
struct Reader<'a> {
    world: &'a World,
    malformed: Vec<Malformed>,
}

impl Reader<'_> {
    fn kept<T>(&mut self, listing: Listing<T>) -> Vec<T> {
        self.malformed.extend(listing.malformed);
        listing.items
    }

    /// Objects of `kind` by what `name` makes of their keys.
    fn map<K: Clone + Ord, V: Clone, N: Display>(
        &mut self,
        kind: &str,
        objects: &BTreeMap<K, V>,
        name: impl Fn(&K) -> N,
    ) -> BTreeMap<K, V> {
        let named = objects.iter().map(|(key, object)| (name(key), (key.clone(), object.clone())));
        self.kept(self.world.list_of(kind, named)).into_iter().collect()
    }
}

impl ClusterState {
    /// `buffer` with what it refers to now.
    fn with_target(
        &self,
        buffer: &CapacityBuffer,
        refers_to: Option<&BufferReferent>,
    ) -> CapacityBuffer {
        let target = match refers_to {
            Some(BufferReferent::Template(key)) => {
                let template = self.pod_templates.get(key);
                template.map(|(spec, _)| BufferTarget::Template(Arc::clone(spec)))
            }
            Some(BufferReferent::Workload(key)) => self.workloads.get(key).map(|entry| {
                let StoryWorkload { spec, replicas, .. } = &entry.workload;
                BufferTarget::Workload(Arc::clone(spec), *replicas)
            }),
            None => None,
        };
        let mut buffer = buffer.clone();
        buffer.target = target.unwrap_or(buffer.target);
        buffer
    }
}

impl World {
    /// A list of a kind that every cluster knows: of `items`, each with the name of its object, those that can
    /// be read.
    pub(crate) fn list_of<T, N: Display>(
        &self,
        kind: &str,
        items: impl Iterator<Item = (N, T)>,
    ) -> Listing<T> {
        let unreadable = self.unreadable(kind);
        let readable = items.filter(|(name, _)| find(&unreadable, kind, name).is_none());
        let items = readable.map(|(_, item)| item).collect();
        Listing { items, malformed: self.reported(kind) }
    }

    /// A list of a kind that a cluster knows once its definition is installed.
    pub(crate) fn list_of_custom<T, N: Display>(
        &self,
        kind: (&str, &str),
        items: impl Iterator<Item = (N, T)>,
    ) -> Listing<T> {
        match self.unknown(kind) {
            Some(unknown) => Listing { items: Vec::new(), malformed: vec![unknown] },
            None => self.list_of(kind.0, items),
        }
    }

    /// NodeOverlays, by name.
    pub(crate) fn listed_overlays(&self) -> Listing<NodeOverlay> {
        let overlays = self.cluster.node_overlays.iter();
        self.list_of_custom(NODE_OVERLAY, overlays.map(|(name, overlay)| (name, overlay.clone())))
    }

    /// NodeOverlays, by name, each with which spec it is.
    pub(crate) fn observed_overlays(&self) -> Listing<ObservedOverlay> {
        let overlays = self.cluster.observed_overlays();
        self.list_of_custom(NODE_OVERLAY, overlays.map(|seen| (seen.overlay.name.clone(), seen)))
    }

    /// What surrounds the cluster's pods.
    pub(crate) fn surroundings(&self, policies: Policies) -> Surrounded {
        let cluster = &self.cluster;
        let mut reader = Reader { world: self, malformed: Vec::new() };
        let Storage { claims, volumes, classes, attach_limits } = &cluster.storage;
        let in_namespace = |VolumeClaimKey { namespace, name }: &_| format!("{namespace}/{name}");
        let budgets = cluster.disruption_budgets().into_iter();
        let budgets = budgets.map(|budget| (budget.key.clone(), budget));
        let mut surroundings = Surroundings {
            namespaces: reader.map("Namespace", &cluster.namespaces, ToString::to_string),
            storage: Storage {
                classes: reader.map("StorageClass", classes, ToString::to_string),
                claims: reader.map("PersistentVolumeClaim", claims, in_namespace),
                volumes: reader.map("PersistentVolume", volumes, ToString::to_string),
                attach_limits: reader.map("CSINode", attach_limits, ToString::to_string),
            },
            disruption_budgets: reader.kept(self.list_of("PodDisruptionBudget", budgets)),
            ..Surroundings::default()
        };
        let mut observed_buffers = Vec::new();
        if policies.node_overlay {
            surroundings.node_overlays = reader.kept(self.listed_overlays());
        }
        if policies.capacity_buffer {
            let buffers = cluster.capacity_buffers.values().map(|(buffer, refers_to)| {
                let buffer = cluster.with_target(buffer, refers_to.as_ref());
                (format!("{}/{}", buffer.namespace, buffer.name), buffer)
            });
            let observed = cluster.observed_buffers().map(|seen| (seen.key.clone(), seen));
            observed_buffers = self.list_of_custom(CAPACITY_BUFFER, observed).items;
            let buffers = reader.kept(self.list_of_custom(CAPACITY_BUFFER, buffers));
            let referable = REFERABLE.iter().filter(|_| !buffers.is_empty());
            reader.malformed.extend(referable.flat_map(|kind| self.reported(kind)));
            surroundings.capacity_buffers = buffers;
        }
        Surrounded { surroundings, buffers: observed_buffers, malformed: reader.malformed }
    }

    /// What a list of `kind` says of objects that cannot be read.
    pub(super) fn reported(&self, kind: &str) -> Vec<Malformed> {
        if self.settings.sabotage.hide_unreadable { Vec::new() } else { self.unreadable(kind) }
    }

    /// The objects of `kind` that cannot be read.
    pub(super) fn unreadable(&self, kind: &str) -> Vec<Malformed> {
        let unreadable = self.cluster.unreadable.iter();
        let is_of_kind = |malformed: &&Malformed| {
            malformed.object.split(' ').next().is_some_and(|first| first == kind)
        };
        unreadable.filter(is_of_kind).cloned().collect()
    }

    /// What the object of `kind` called `name` answers to those who ask for it by its name, if it cannot be read: an
    /// error, unless that is hidden.
    pub(crate) fn unreadable_object<T>(
        &self,
        operation: &'static str,
        kind: &str,
        name: impl Display,
    ) -> Option<Result<Option<T>, PortError>> {
        let unreadable = self.unreadable(kind);
        let malformed = find(&unreadable, kind, name)?;
        if self.settings.sabotage.hide_unreadable {
            return Some(Ok(None));
        }
        let problem = format!("{}: {}", malformed.object, malformed.problem);
        Some(Err(PortError::because(operation, Fault::Permanent, problem)))
    }

    fn unknown(&self, (kind, api_version): (&str, &str)) -> Option<Malformed> {
        let problem = format!("the cluster does not know {api_version} {kind}: install the CRDs");
        let unknown = Malformed::new(kind, problem);
        (!self.settings.has_definitions).then_some(unknown)
    }
}

/// Why the object of `kind` called `name` cannot be read, if it is among `unreadable`.
pub(super) fn find<'a>(
    unreadable: &'a [Malformed],
    kind: &str,
    name: impl Display,
) -> Option<&'a Malformed> {
    if unreadable.is_empty() {
        return None;
    }
    let object = format!("{kind} {name}");
    unreadable.iter().find(|malformed| malformed.object == object)
}

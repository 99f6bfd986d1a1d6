//! What else decides where pods may go: volumes, namespaces, budgets; overlays and buffers behind
//! their gates.

use std::collections::BTreeMap;

use api::{
    lists,
    objects::{BufferManifest, Referable, StorageClassManifest, Workload},
};
use futures_util::future::try_join5;
use model::{
    Namespace, NodeName, api_version,
    buffer::{CapacityBuffer, ObservedBuffer},
    eviction::PodDisruptionBudget,
    facts::Surroundings,
    overlay::NodeOverlay,
    policies::Policies,
    storage::{Volume, VolumeClaim, VolumeClaimKey},
};
use ports::{Listing, Malformed, PortError, Surrounded};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, or_not_installed},
};

const NAMESPACES: Kind<(Namespace, BTreeMap<String, String>)> =
    kind("list namespaces", "/api/v1/namespaces", lists::namespace_list);
const VOLUMES: Kind<(String, Volume)> =
    kind("list PersistentVolumes", "/api/v1/persistentvolumes", lists::volume_list);
const VOLUME_CLAIMS: Kind<(VolumeClaimKey, VolumeClaim)> =
    kind("list PersistentVolumeClaims", "/api/v1/persistentvolumeclaims", lists::volume_claim_list);
const STORAGE_CLASSES: Kind<StorageClassManifest> = kind(
    "list StorageClasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    lists::storage_class_list,
);
const CSI_NODES: Kind<(NodeName, BTreeMap<String, u32>)> =
    kind("list CSINodes", "/apis/storage.k8s.io/v1/csinodes", lists::csi_node_list);
const BUDGETS: Kind<PodDisruptionBudget> = kind(
    "list PodDisruptionBudgets",
    "/apis/policy/v1/poddisruptionbudgets",
    lists::disruption_budget_list,
);
/// Where NodeOverlays are.
pub(crate) const OVERLAYS_PATH: &str = "/apis/karpenter.sh/v1alpha1/nodeoverlays";
const OVERLAYS: Kind<NodeOverlay> =
    kind("list NodeOverlays", OVERLAYS_PATH, lists::node_overlay_list);
const BUFFERS: Kind<(BufferManifest, ObservedBuffer)> = kind(
    "list CapacityBuffers",
    "/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers",
    lists::capacity_buffer_list,
);
const POD_TEMPLATES: Kind<lists::PodTemplate> =
    kind("list PodTemplates", "/api/v1/podtemplates", lists::pod_template_list);
const DEPLOYMENTS: Kind<Workload> =
    kind("list Deployments", "/apis/apps/v1/deployments", lists::deployment_list);
pub(crate) const STATEFUL_SETS: Kind<Workload> =
    kind("list StatefulSets", "/apis/apps/v1/statefulsets", lists::stateful_set_list);
pub(crate) const REPLICA_SETS: Kind<Workload> =
    kind("list ReplicaSets", "/apis/apps/v1/replicasets", lists::replica_set_list);

pub(crate) const fn kind<T>(
    operation: &'static str,
    path: &'static str,
    read: fn(&[u8]) -> Result<lists::Page<T>, lists::Error>,
) -> Kind<T> {
    Kind { operation, path, read, at_most: AtMost::Unlimited }
}

/// Lists, and keeps what could not be read.
struct Reader<'a> {
    cluster: &'a KubeCluster,
    malformed: Vec<Malformed>,
}

impl Reader<'_> {
    async fn all<T>(&mut self, kind: &Kind<T>) -> Result<Vec<T>, PortError> {
        let listing = self.cluster.list(kind).await?;
        Ok(self.kept(listing))
    }

    fn kept<T>(&mut self, listing: Listing<T>) -> Vec<T> {
        self.malformed.extend(listing.malformed);
        listing.items
    }

    async fn buffers(&mut self) -> Result<(Vec<CapacityBuffer>, Vec<ObservedBuffer>), PortError> {
        let listing = self.cluster.list(&BUFFERS).await;
        let listing =
            or_not_installed(listing, "CapacityBuffer", api_version::AUTOSCALING_V1BETA1)?;
        let written = self.kept(listing);
        let mut referable = Referable::default();
        if !written.is_empty() {
            for (key, spec, generation) in self.all(&POD_TEMPLATES).await? {
                referable.generations.extend(generation.map(|counted| (key.clone(), counted)));
                referable.templates.insert(key, spec);
            }
            for kind in [&DEPLOYMENTS, &STATEFUL_SETS, &REPLICA_SETS] {
                self.all(kind).await?.iter().for_each(|workload| referable.add(workload));
            }
        }
        let resolved = written.into_iter().map(|(buffer, observed)| {
            (referable.resolved(buffer), referable.with_generation(observed))
        });
        let (mut buffers, observed): (Vec<CapacityBuffer>, Vec<ObservedBuffer>) = resolved.unzip();
        buffers.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok((buffers, observed))
    }
}

/// NodeOverlays, by name.
pub(crate) async fn overlays(cluster: &KubeCluster) -> Result<Listing<NodeOverlay>, PortError> {
    let listing = cluster.list(&OVERLAYS).await;
    let mut listing = or_not_installed(listing, "NodeOverlay", api_version::KARPENTER_V1ALPHA1)?;
    listing.items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

/// Reads all of it, the kinds side by side.
pub(crate) async fn read(
    cluster: &KubeCluster,
    policies: &Policies,
) -> Result<Surrounded, PortError> {
    let mut reader = Reader { cluster, malformed: Vec::new() };
    let storage = async {
        let claims = cluster.list(&VOLUME_CLAIMS).await?;
        // After the claims: what they are bound to is there.
        Ok((claims, cluster.list(&VOLUMES).await?))
    };
    let (namespaces, classes, (claims, volumes), attach_limits, budgets) = Box::pin(try_join5(
        cluster.list(&NAMESPACES),
        cluster.list(&STORAGE_CLASSES),
        storage,
        cluster.list(&CSI_NODES),
        cluster.list(&BUDGETS),
    ))
    .await?;
    let namespaces = reader.kept(namespaces).into_iter().collect();
    let mut surroundings = Surroundings { namespaces, ..Surroundings::default() };
    let classes = reader.kept(classes).into_iter();
    surroundings.storage.classes = classes.map(|read| (read.name, read.class)).collect();
    surroundings.storage.claims = reader.kept(claims).into_iter().collect();
    surroundings.storage.volumes = reader.kept(volumes).into_iter().collect();
    surroundings.storage.attach_limits = reader.kept(attach_limits).into_iter().collect();
    surroundings.disruption_budgets = reader.kept(budgets);
    surroundings.disruption_budgets.sort_by(|a, b| a.key.cmp(&b.key));
    let mut buffers = Vec::new();
    if policies.node_overlay {
        surroundings.node_overlays = reader.kept(overlays(cluster).await?);
    }
    if policies.capacity_buffer {
        (surroundings.capacity_buffers, buffers) = reader.buffers().await?;
    }
    Ok(Surrounded { surroundings, buffers, malformed: reader.malformed })
}

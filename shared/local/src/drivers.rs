//! Stand-ins for the drivers of devices, which DaemonSets run: they publish what a node has, once it takes pods.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams},
    core::GroupVersionKind,
};
use model::{
    InstanceId, InstanceTypeName, NodeClaim, NodeClassName, NodeName,
    dynamic_resources::GpuSharing, labels, launch::Instance,
};
use simulator::{DeviceDrivers, published_slices};

use crate::{machines::CONFLICT, slices};

/// From a node that takes pods to its ResourceSlices: longer than schedules, so that functions see a node without them.
const STARTS_IN: SignedDuration = SignedDuration::from_secs(12);

/// The drivers of all nodes.
#[derive(Debug)]
pub(crate) struct Drivers {
    /// Which of them the cluster has.
    installed: DeviceDrivers,
    nodes: Api<Node>,
    slices: Api<DynamicObject>,
    node_classes: Api<DynamicObject>,
    /// Instances that have joined, whose devices are not published.
    starting: BTreeMap<InstanceId, Starting>,
}

/// A node whose drivers do not run yet.
#[derive(Debug)]
struct Starting {
    node: NodeName,
    instance_type: InstanceTypeName,
    node_class: NodeClassName,
    /// Since when the node takes pods.
    since: Option<Timestamp>,
}

impl Drivers {
    /// The drivers that `installed` names, in the cluster of `client`.
    pub(crate) fn of(installed: DeviceDrivers, client: &Client) -> Self {
        let objects = |group: &str, kind: &str, plural: &str| {
            let kind = GroupVersionKind::gvk(group, "v1", kind);
            Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
        };
        Self {
            installed,
            nodes: Api::all(client.clone()),
            slices: objects("resource.k8s.io", "ResourceSlice", "resourceslices"),
            node_classes: objects("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses"),
            starting: BTreeMap::new(),
        }
    }

    /// The node called `name` has joined: an instance with devices gets the drivers for them.
    pub(crate) fn expect(&mut self, name: &str, instance: &Instance, claim: &NodeClaim) {
        let Ok(node) = NodeName::new(name) else { return };
        let instance_type = instance.instance_type.clone();
        if !published_slices(&node, &instance_type, &self.installed).is_empty() {
            let node_class = claim.node_class.clone();
            let starting = Starting { node, instance_type, node_class, since: None };
            self.starting.insert(instance.id.clone(), starting);
        }
    }

    /// Publishes the devices of nodes whose drivers have started by `now`. None starts on an instance that is not
    /// among `working`. The garbage collector deletes ResourceSlices with their nodes.
    pub(crate) async fn publish(&mut self, now: Timestamp, working: &[Instance]) {
        self.starting.retain(|id, _| working.iter().any(|instance| instance.id == *id));
        let ids: Vec<InstanceId> = self.starting.keys().cloned().collect();
        for id in ids {
            let Some(starting) = self.starting.get_mut(&id) else { continue };
            // What fails now is tried again.
            let Ok(node) = self.nodes.get(starting.node.as_str()).await else { continue };
            if !takes_pods(&node) {
                continue;
            }
            let since = *starting.since.get_or_insert(now);
            if STARTS_IN <= now.duration_since(since) && self.publish_all(&id, &node).await {
                self.starting.remove(&id);
            }
        }
    }

    /// Whether there is nothing left to publish of `node`.
    async fn publish_all(&self, id: &InstanceId, node: &Node) -> bool {
        let Some(Starting { node: name, instance_type, node_class, .. }) = self.starting.get(id)
        else {
            return true;
        };
        let Ok(sharing) = self.sharing(node_class).await else { return false };
        let drivers = DeviceDrivers { sharing, ..self.installed };
        for slice in published_slices(name, instance_type, &drivers) {
            let Ok(object) = serde_json::from_value(slices::object(&slice, node)) else { continue };
            match self.slices.create(&PostParams::default(), &object).await {
                Ok(_) => tracing::info!("{} publishes the devices of {name}", slice.driver),
                // The answer to an earlier try was lost.
                Err(kube::Error::Api(status)) if status.code == CONFLICT => {}
                Err(error) => {
                    tracing::warn!(
                        "{} cannot publish the devices of {name}: {error}",
                        slice.driver
                    );
                    // An API server that does not know such objects, or refuses this one, does so again.
                    return matches!(error, kube::Error::Api(status)
                        if status.is_not_found() || status.is_invalid() || status.is_forbidden());
                }
            }
        }
        true
    }

    /// What NVIDIA's driver shares of GPUs, as the EC2NodeClass called `name` says that it was configured.
    async fn sharing(&self, name: &NodeClassName) -> kube::Result<Option<GpuSharing>> {
        let class = self.node_classes.get_metadata_opt(name.as_str()).await?;
        let annotations = class.and_then(|class| class.metadata.annotations).unwrap_or_default();
        let mode = annotations.get(labels::NVIDIA_CONSUMABLE_CAPACITY);
        Ok(mode.and_then(|mode| GpuSharing::parse(mode).ok()).flatten())
    }
}

/// Whether pods of DaemonSets start on `node`: it is registered and ready.
fn takes_pods(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let is_registered =
        !taints.into_iter().flatten().any(|taint| taint.key == labels::UNREGISTERED_TAINT);
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    is_registered && conditions.any(|known| known.type_ == "Ready" && known.status == "True")
}

//! What is listed of devices when a real kube-scheduler has allocated them, and where there is no such API.

use std::{collections::BTreeSet, path::PathBuf};

use cluster::KubeCluster;
use k8s_openapi::api::core::v1 as core;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use model::{
    NodeName,
    dynamic_resources::{ClaimConsumer, DeviceId, NodeSelector, NodeSelectorTerm, ResourceClaim},
};
use ports::{Cluster as _, FoundDevices, Listing, Nodes as _, PodSelection};
use serde_json::{Value, json};
use testkit::ClusterWorld as _;

use super::{
    definitions::{DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE, RESOURCE_SLICE, objects},
    world::World,
};

/// The kubeconfig of an API server as it was before Kubernetes 1.34.
#[expect(clippy::disallowed_methods, reason = "a test that an environment variable starts")]
#[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
fn kubeconfig_of_old() -> Option<PathBuf> {
    let path = std::env::var_os("JOURNEYMAN_OLD_KUBECONFIG");
    if path.is_none() {
        eprintln!("skipped: JOURNEYMAN_OLD_KUBECONFIG names no kubeconfig");
    }
    path.map(PathBuf::from)
}

async fn make(world: &World, kind: (&str, &str), name: &str, spec: Value, owners: Value) {
    let object = json!({ "apiVersion": kind.1, "kind": kind.0, "spec": spec,
                         "metadata": { "name": name, "ownerReferences": owners } });
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    drop(objects(world, kind).await.create(&PostParams::default(), &object).await.unwrap());
}

/// Two devices of `node`, as a driver publishes them, and what claims one of them.
async fn publish(world: &World, node: &NodeName) {
    let name = node.as_str();
    let made: core::Node = world.all().get(name).await.unwrap();
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "controller": true,
                         "name": name, "uid": made.metadata.uid }]);
    let device = |name| {
        json!({ "name": name, "attributes": { "model": { "string": "T4" } },
                "capacity": { "memory": { "value": "15Gi" } } })
    };
    let pool = json!({ "name": name, "generation": 1, "resourceSliceCount": 1 });
    let slice = json!({ "driver": "gpu.example", "pool": pool, "nodeName": name,
                        "devices": [device("gpu-0"), device("gpu-1")] });
    make(world, RESOURCE_SLICE, name, slice, owner).await;
    let expression = json!({ "expression": "device.driver == 'gpu.example'" });
    let class = json!({ "selectors": [{ "cel": expression }] });
    make(world, DEVICE_CLASS, name, class, json!([])).await;
    let request = json!({ "name": "gpu", "exactly": { "deviceClassName": name } });
    let claim = json!({ "devices": { "requests": [request] } });
    make(world, RESOURCE_CLAIM, "own", claim.clone(), json!([])).await;
    make(world, RESOURCE_CLAIM_TEMPLATE, "each", json!({ "spec": claim }), json!([])).await;
}

async fn claims(world: &World) -> Vec<ResourceClaim> {
    let read = world.cluster.devices().await.unwrap();
    let is_own = |claim: &ResourceClaim| claim.key.namespace.as_str() == world.namespace;
    read.claims.into_iter().filter(is_own).collect()
}

#[tokio::test]
async fn what_kube_scheduler_allocates_is_read_until_it_is_released() {
    let Some(world) = World::open().await else { return };
    let (node, _) = world.join("devices").await;
    publish(&world, &node).await;
    let spec = json!({
        "nodeSelector": { "kubernetes.io/hostname": node.as_str() },
        "resourceClaims": [{ "name": "mine", "resourceClaimName": "own" },
                           { "name": "made", "resourceClaimTemplateName": "each" }],
        "containers": [{ "name": "main", "image": "none",
                         "resources": { "claims": [{ "name": "mine" }, { "name": "made" }] } }],
    });
    let uid = world.create_pod("trains", spec).await.metadata.uid.unwrap();
    let pods = world.namespaced::<core::Pod>();
    let runs = |pod: Option<&core::Pod>| {
        let status = pod.and_then(|pod| pod.status.as_ref());
        status.and_then(|status| status.phase.as_deref()) == Some("Running")
    };
    world.until(&pods, "trains", "running", runs).await;

    let allocated = claims(&world).await;
    let term = NodeSelectorTerm { nodes: Some([node.clone()].into()), ..Default::default() };
    for claim in &allocated {
        assert_eq!(claim.reserved_for, [ClaimConsumer::Pod(uid.parse().unwrap())]);
        let selector = claim.allocation.as_ref().unwrap().selector.clone();
        assert_eq!(selector, Some(NodeSelector { terms: vec![term.clone()] }));
    }
    let devices = allocated.iter().flat_map(|claim| &claim.allocation.as_ref().unwrap().devices);
    let devices: BTreeSet<DeviceId> = devices.map(|(device, _)| device.clone()).collect();
    let device = |device: &str| DeviceId {
        driver: "gpu.example".into(),
        pool: node.as_str().into(),
        device: device.into(),
    };
    assert_eq!(devices, [device("gpu-0"), device("gpu-1")].into());
    let bound = world.cluster.pods(&PodSelection::OnNode(node.clone())).await.unwrap();
    let made = bound.items[0].made_claims["made"].clone();
    assert!(allocated.iter().any(|claim| Some(&claim.key.name) == made.as_ref()), "{made:?}");

    drop(pods.delete("trains", &DeleteParams::default()).await.unwrap());
    let resource_claims = objects(&world, RESOURCE_CLAIM).await;
    let made = made.unwrap();
    world.until(&resource_claims, made.as_str(), "gone", |claim| claim.is_none()).await;
    let is_released = |claim: Option<&DynamicObject>| {
        claim.is_some_and(|claim| claim.data["status"]["allocation"].is_null())
    };
    world.until(&resource_claims, "own", "released", is_released).await;
    let [released] = claims(&world).await.try_into().unwrap();
    assert_eq!((released.allocation, released.reserved_for), (None, vec![]));

    world.delete_node(&node).await;
    let slices = objects(&world, RESOURCE_SLICE).await;
    world.until(&slices, node.as_str(), "gone with its node", |slice| slice.is_none()).await;
}

#[tokio::test]
async fn an_older_cluster_has_no_devices() {
    let Some(path) = kubeconfig_of_old() else { return };
    let cluster = KubeCluster::from_kubeconfig(&path).await.unwrap();
    assert_eq!(cluster.nodes().await.unwrap(), Listing::default());
    assert_eq!(cluster.devices().await.unwrap(), FoundDevices::default());
    assert_eq!(cluster.resource_slices().await.unwrap(), Listing::default());
}

//! Lists are whole, and select what they should.

use std::collections::BTreeSet;

use k8s_openapi::api::{apps::v1 as apps, core::v1 as core};
use kube::api::DeleteParams;
use model::Pod;
use ports::{Cluster as _, Listing, PodSelection};
use serde_json::{Value, json};

use super::world::World;

fn own(world: &World, listing: &Listing<Pod>) -> BTreeSet<String> {
    let is_own = |pod: &&Pod| pod.key.namespace.as_str() == world.namespace;
    listing.items.iter().filter(is_own).map(|pod| pod.key.name.to_string()).collect()
}

#[tokio::test]
async fn a_list_of_many_pages_is_whole_and_selected() {
    let Some(world) = World::open().await else { return };
    world.create_waiting_pods("waiting", 1_001).await;
    let node = world.create_node("h", json!({})).await;
    world.create_pod("bound", json!({ "nodeName": node.as_str() })).await;

    let texts = own(&world, &world.cluster.pods(&PodSelection::All).await.unwrap());
    assert_eq!(texts.len(), 1_002);
    let waiting = world.cluster.pods(&PodSelection::Waiting).await.unwrap();
    assert_eq!(waiting.malformed, []);
    let waiting = own(&world, &waiting);
    assert_eq!(waiting.len(), 1_001);
    assert!(!waiting.contains("bound"));
    let on_node = world.cluster.pods(&PodSelection::OnNode(node.clone())).await.unwrap();
    assert_eq!(own(&world, &on_node).into_iter().collect::<Vec<_>>(), ["bound"]);

    let everything = kube::api::ListParams::default();
    let now = DeleteParams::default().grace_period(0);
    drop(world.namespaced::<core::Pod>().delete_collection(&now, &everything).await.unwrap());
    world.delete_node(&node).await;
}

#[tokio::test]
async fn what_selects_pods_is_read_of_services_and_controllers() {
    let Some(world) = World::open().await else { return };
    let of_app = json!({ "matchLabels": { "app": "web" } });
    let labels = json!({ "app": "web" });
    let pod = json!({ "metadata": { "labels": labels },
                      "spec": { "containers": [{ "name": "main", "image": "none" }] } });
    let object = |name: &str, spec: Value| json!({ "metadata": { "name": name }, "spec": spec });
    let service = object("web", json!({ "selector": labels, "ports": [{ "port": 80 }] }));
    world.create::<core::Service>(&world.namespaced(), service).await;
    let old = json!({ "replicas": 0, "selector": labels, "template": pod });
    world.create::<core::ReplicationController>(&world.namespaced(), object("old", old)).await;
    let set = json!({ "replicas": 0, "selector": of_app, "template": pod });
    world.create::<apps::ReplicaSet>(&world.namespaced(), object("set", set.clone())).await;
    world.create::<apps::StatefulSet>(&world.namespaced(), object("stateful", set)).await;

    let read = world.cluster.pod_selectors().await.unwrap();
    assert_eq!(read.malformed, []);
    let services = read.selectors.services.get(world.namespace.as_str()).map(Vec::len);
    let controllers = read.selectors.controllers.get(world.namespace.as_str());
    let kinds: Vec<&str> =
        controllers.into_iter().flatten().map(|(owner, _)| owner.kind.as_str()).collect();
    assert_eq!(services, Some(1));
    assert_eq!(kinds, ["ReplicaSet", "StatefulSet", "ReplicationController"]);
}

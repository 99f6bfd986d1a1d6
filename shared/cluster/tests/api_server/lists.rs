//! Lists are whole, and select what they should.

use std::collections::BTreeSet;

use k8s_openapi::{
    api::{apps::v1::DaemonSet, core::v1 as core},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use model::Pod;
use ports::{Cluster as _, Listing, Nodes as _, PodSelection};
use serde_json::{Value, json};

use super::world::World;

fn own(world: &World, listing: &Listing<Pod>) -> BTreeSet<String> {
    let is_own = |pod: &&Pod| pod.key.namespace.as_str() == world.namespace;
    listing.items.iter().filter(is_own).map(|pod| pod.key.name.to_string()).collect()
}

#[tokio::test]
async fn a_list_of_many_pages_is_whole_and_selected() {
    let Some(world) = World::open().await else { return };
    world.create_waiting_pods(1_001).await;
    let node = world.create_node("h", json!({})).await;
    world.create_pod("bound", json!({ "nodeName": node.as_str() })).await;

    let all = own(&world, &world.cluster.pods(&PodSelection::All).await.unwrap());
    assert_eq!(all.len(), 1_002);
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
    world.cluster.delete(&node).await.unwrap();
}

#[tokio::test]
async fn what_the_scheduler_gives_up_can_be_provisioned_for() {
    let Some(world) = World::open().await else { return };
    world.create_pod("impossible", json!({ "nodeSelector": { "no-such": "node" } })).await;
    let is_given_up = |pod: Option<&core::Pod>| {
        let conditions = pod.and_then(|pod| pod.status.as_ref()?.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|c| c.reason.as_deref() == Some("Unschedulable"))
    };
    world.until(&world.namespaced(), "impossible", "given up", is_given_up).await;
    let waiting = world.cluster.pods(&PodSelection::Waiting).await.unwrap();
    let pod = waiting.items.iter().find(|pod| pod.key.namespace.as_str() == world.namespace);
    assert!(pod.unwrap().is_provisionable(), "{pod:#?}");
}

#[tokio::test]
async fn daemon_sets_are_listed() {
    let Some(world) = World::open().await else { return };
    let template = json!({
        "metadata": { "labels": { "app": "agent" } },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    });
    let spec = json!({ "selector": { "matchLabels": { "app": "agent" } }, "template": template });
    let daemon_set = json!({ "metadata": { "name": "agent" }, "spec": spec });
    world.create(&world.namespaced::<DaemonSet>(), daemon_set).await;
    let listing = world.cluster.daemon_sets().await.unwrap();
    assert_eq!(listing.malformed, []);
    assert!(listing.items.iter().any(|set| set.key.namespace.as_str() == world.namespace));
}

/// As much of a CRD as the list needs: Karpenter's own schemas are tested where ours are made.
fn crd(group: &str, kind: &str, plural: &str) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": open, "status": open } });
    let version = json!({ "name": "v1", "served": true, "storage": true,
                          "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                        "singular": kind.to_lowercase() });
    json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": { "group": group, "names": names, "scope": "Cluster", "versions": [version] },
    })
}

async fn install(world: &World, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let crds = world.all::<CustomResourceDefinition>();
    world.create(&crds, crd(group, kind, plural)).await;
    let is_served = |crd: Option<&CustomResourceDefinition>| {
        let conditions = crd.and_then(|crd| crd.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|c| c.type_ == "Established" && c.status == "True")
    };
    world.until(&crds, &format!("{plural}.{group}"), "served", is_served).await;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    Api::all_with(world.client.clone(), &resource)
}

#[tokio::test]
async fn pools_and_classes_are_there_once_their_crds_are() {
    let Some(world) = World::open().await else { return };
    let pools = world.cluster.node_pools().await.unwrap();
    let classes = world.cluster.node_classes().await.unwrap();
    assert_eq!((pools.items.len(), pools.malformed.len()), (0, 1), "{pools:?}");
    assert_eq!((classes.items.len(), classes.malformed.len()), (0, 1), "{classes:?}");

    let pool_api = install(&world, "karpenter.sh", "NodePool", "nodepools").await;
    let class_api = install(&world, "karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses").await;
    let class_ref =
        json!({ "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" });
    let template = json!({ "spec": { "nodeClassRef": class_ref, "requirements": [] } });
    world
        .create(
            &pool_api,
            json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
                "metadata": { "name": "default" }, "spec": { "template": template },
            }),
        )
        .await;
    let tags = json!([{ "tags": { "karpenter.sh/discovery": "one" } }]);
    world
        .create(
            &class_api,
            json!({
                "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
                "metadata": { "name": "default" },
                "spec": { "role": "node", "amiSelectorTerms": [{ "alias": "al2023@latest" }],
                          "subnetSelectorTerms": tags, "securityGroupSelectorTerms": tags },
            }),
        )
        .await;

    let pools = world.cluster.node_pools().await.unwrap();
    let classes = world.cluster.node_classes().await.unwrap();
    assert_eq!((pools.malformed, classes.malformed), (Vec::new(), Vec::new()));
    let names: Vec<_> = pools.items.iter().map(|pool| pool.name.as_str()).collect();
    assert_eq!(names, ["default"]);
    let names: Vec<_> = classes.items.iter().map(|listed| listed.class.name.as_str()).collect();
    assert_eq!(names, ["default"]);
}

//! Pods are evicted as budgets allow.

use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use model::{
    PodKey, labels,
    node::{Eviction, EvictionRequest},
    pod::DeletionCost,
};
use ports::{Cluster as _, Fault, Nodes as _, PodSelection, PortError};
use serde_json::json;

use super::world::World;

/// Evicts, which has to be answered at once whatever the answer is.
async fn evict(world: &World, request: &EvictionRequest) -> Result<Eviction, PortError> {
    let answer = world.cluster.evict(request);
    tokio::time::timeout(Duration::from_secs(3), answer).await.expect("it hangs")
}

#[tokio::test]
async fn a_pod_ends_within_the_grace_that_it_is_given() {
    let Some(world) = World::open().await else { return };
    let node = world.create_node("g", json!({})).await;
    let spec = json!({ "nodeName": node.as_str(), "terminationGracePeriodSeconds": 3_600 });
    let mut finalized = world.create_pod("slow", spec).await;
    // So that it can be looked at while it ends.
    let hold = json!({ "metadata": { "finalizers": ["test/hold"] } });
    let pods = world.namespaced::<core::Pod>();
    let params = kube::api::PatchParams::default();
    finalized = pods
        .patch(finalized.metadata.name.as_ref().unwrap(), &params, &kube::api::Patch::Merge(hold))
        .await
        .unwrap();
    let request = world.eviction(&finalized, Some(7));
    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Accepted);
    let grace = pods.get("slow").await.unwrap().metadata.deletion_grace_period_seconds.unwrap();
    assert!(grace <= 7, "{grace}");
    // It is being deleted and stays so.
    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Accepted);
    let listed = world.cluster.pods(&PodSelection::OnNode(node.clone())).await.unwrap();
    assert!(listed.items.iter().all(model::Pod::is_terminating), "{listed:#?}");

    let release = json!({ "metadata": { "finalizers": null } });
    drop(pods.patch("slow", &params, &kube::api::Patch::Merge(release)).await.unwrap());
    world.until(&pods, "slow", "gone", |pod| pod.is_none()).await;
    world.delete_node(&node).await;
}

#[tokio::test]
async fn a_namespace_that_goes_takes_its_pods_with_it() {
    let Some(world) = World::open().await else { return };
    let pod = world.create_pod("web", json!({ "schedulerName": "none" })).await;
    let request = world.eviction(&pod, None);
    let namespaces = world.all::<core::Namespace>();
    drop(namespaces.delete(&world.namespace, &kube::api::DeleteParams::default()).await.unwrap());
    // The pod may be gone already; an eviction never fails for good.
    match evict(&world, &request).await {
        Ok(Eviction::Accepted | Eviction::Gone) => {}
        Ok(Eviction::Blocked) => panic!("no budget is there"),
        Err(error) => assert_eq!(error.fault, Fault::Transient, "{error:?}"),
    }
}

#[tokio::test]
async fn a_pod_says_what_deleting_it_costs() {
    let Some(world) = World::open().await else { return };
    let pod = world.create_pod("costly", json!({ "schedulerName": "none" })).await;
    let key = world.eviction(&pod, None).pod;
    let pods = world.namespaced::<core::Pod>();
    for cost in [Some(-7), Some(-7), None] {
        let wanted = DeletionCost { pod: key.clone(), cost };
        world.cluster.set_deletion_cost(&wanted).await.unwrap();
        let stored = pods.get("costly").await.unwrap();
        let said = stored.metadata.annotations.unwrap_or_default();
        let said = said.get(labels::POD_DELETION_COST).map(String::as_str);
        assert_eq!(said, cost.map(|_| "-7"));
    }
    let gone = DeletionCost { pod: PodKey { name: "gone".parse().unwrap(), ..key }, cost: None };
    let answer = world.cluster.set_deletion_cost(&gone).await;
    assert_eq!(answer.unwrap_err().fault, Fault::NotFound);
}

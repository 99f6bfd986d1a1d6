//! Pods are evicted as budgets allow.

use std::time::Duration;

use k8s_openapi::api::{core::v1 as core, policy::v1::PodDisruptionBudget};
use model::{
    NodeName,
    node::{Eviction, EvictionRequest},
};
use ports::{Cluster as _, Fault, Nodes as _, PodSelection, PortError};
use serde_json::json;

use super::world::World;

/// Evicts, which has to be answered at once whatever the answer is.
async fn evict(world: &World, request: &EvictionRequest) -> Result<Eviction, PortError> {
    let answer = world.cluster.evict(request);
    tokio::time::timeout(Duration::from_secs(3), answer).await.expect("it hangs")
}

/// A node and a running pod on it.
async fn running_pod(world: &World, suffix: &str, name: &str) -> (NodeName, core::Pod) {
    let node = world.create_node(suffix, json!({})).await;
    let pod = world.create_pod(name, json!({ "nodeSelector": { "test": node.as_str() } })).await;
    let is_ready = |pod: Option<&core::Pod>| {
        let conditions = pod.and_then(|pod| pod.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True")
    };
    world.until(&world.namespaced(), name, "ready", is_ready).await;
    (node, pod)
}

async fn create_budget(world: &World, name: &str, min_available: u32, allowed: i32) {
    let spec =
        json!({ "minAvailable": min_available, "selector": { "matchLabels": { "app": "web" } } });
    let budget = json!({ "metadata": { "name": name }, "spec": spec });
    let budgets = world.namespaced::<PodDisruptionBudget>();
    world.create(&budgets, budget).await;
    let is_counted = |budget: Option<&PodDisruptionBudget>| {
        let status = budget.and_then(|budget| budget.status.as_ref());
        status.is_some_and(|status| {
            status.current_healthy == 1 && status.disruptions_allowed == allowed
        })
    };
    world.until(&budgets, name, "counted", is_counted).await;
}

async fn delete_budget(world: &World, name: &str) {
    let budgets = world.namespaced::<PodDisruptionBudget>();
    drop(budgets.delete(name, &kube::api::DeleteParams::default()).await.unwrap());
    world.until(&budgets, name, "gone", |budget| budget.is_none()).await;
}

#[tokio::test]
async fn a_budget_refuses_an_eviction_at_once_and_then_grants_it() {
    let Some(world) = World::open().await else { return };
    let (node, pod) = running_pod(&world, "e", "web").await;
    let request = world.eviction(&pod, None);

    create_budget(&world, "strict", 1, 0).await;
    for _ in 0..3 {
        assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Blocked);
    }
    // Two budgets for one pod are more than the API server can weigh.
    create_budget(&world, "another", 0, 1).await;
    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Blocked);
    delete_budget(&world, "strict").await;

    let pods = world.cluster.pods_on(&node).await.unwrap();
    assert_eq!(pods.malformed, []);
    let on_node: Vec<_> =
        pods.items.iter().map(|pod| (pod.key.name.as_str(), pod.is_terminating())).collect();
    assert_eq!(on_node, [("web", false)]);

    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Accepted);
    world.until(&world.namespaced::<core::Pod>(), "web", "gone", |pod| pod.is_none()).await;
    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Gone);
    world.cluster.delete(&node).await.unwrap();
}

#[tokio::test]
async fn a_namesake_is_left_alone() {
    let Some(world) = World::open().await else { return };
    let (node, pod) = running_pod(&world, "f", "web").await;
    let mut request = world.eviction(&pod, None);
    request.uid = "00000000-0000-0000-0000-000000000000".parse().unwrap();
    assert_eq!(evict(&world, &request).await.unwrap(), Eviction::Gone);
    let pods = world.cluster.pods_on(&node).await.unwrap();
    assert!(pods.items.iter().all(|pod| !pod.is_terminating()), "{pods:#?}");
    world.cluster.delete(&node).await.unwrap();
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
    world.cluster.delete(&node).await.unwrap();
}

#[tokio::test]
async fn a_namespace_that_goes_takes_its_pods_with_it() {
    let Some(world) = World::open().await else { return };
    let pod = world.create_pod("web", json!({ "schedulerName": "nobody" })).await;
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

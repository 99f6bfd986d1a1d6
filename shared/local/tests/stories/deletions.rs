//! A user deletes a node, a NodeClaim, a NodePool.

use k8s_openapi::api::core::v1 as core;
use kube::api::ListParams;
use model::labels;
use serde_json::{Value, json};

use super::story::{Claim, Story};

fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What was deleted is emptied and ended, and its pods run on another node.
async fn is_replaced(story: &Story, before: &Claim) {
    let shown = story.until_condition(before, "InstanceTerminating", "True").await;
    assert!(shown["metadata"]["deletionTimestamp"].is_string(), "{shown:#}");
    assert_eq!(finalizers(&shown), [labels::TERMINATION_FINALIZER]);
    story.until_gone(before).await;
    let after = story.initialized().await;
    assert_ne!(after.instance, before.instance);
    story.until_ready_on(&after, 2).await;
    let pods = story.namespaced::<core::Pod>().list(&ListParams::default()).await.unwrap();
    // A pod that kube-scheduler binds before the first look gets no event; of two, one waits.
    let mut told = Vec::new();
    for pod in &pods.items {
        told.push(story.told(pod.metadata.name.as_ref().unwrap()).await);
    }
    assert!(told.iter().any(|told| told.contains("Nominated")), "{told:?}");
    story.nothing_leaks().await;
}

#[tokio::test]
async fn a_node_that_a_user_deletes_is_emptied_first() {
    let Some(story) = Story::begin("node", json!({})).await else { return };
    story.deploy(2).await;
    let before = story.initialized().await;
    let node = serde_json::to_value(story.node(&before).await.unwrap()).unwrap();
    assert_eq!(finalizers(&node), [labels::TERMINATION_FINALIZER]);
    story.delete(&story.all::<core::Node>(), &before.node).await;
    is_replaced(&story, &before).await;
}

#[tokio::test]
async fn a_node_claim_that_a_user_deletes_is_emptied_first() {
    let Some(story) = Story::begin("nodeclaim", json!({})).await else { return };
    story.deploy(2).await;
    let before = story.initialized().await;
    story.delete(&story.claims(), &before.name).await;
    is_replaced(&story, &before).await;
}

#[tokio::test]
async fn a_node_pool_that_a_user_deletes_takes_its_nodes_with_it() {
    let Some(story) = Story::begin("nodepool", json!({})).await else { return };
    story.deploy(2).await;
    let before = story.initialized().await;
    let shown = story.claim(&before).await.unwrap();
    assert_eq!(shown["metadata"]["ownerReferences"][0]["name"], story.name, "{shown:#}");
    story.delete(&story.pools(), story.name).await;
    story.until_gone(&before).await;
    assert!(story.ready().await.is_empty());
    let waiting = story
        .until("its pods wait again", async || {
            let pods = story.namespaced::<core::Pod>().list(&ListParams::default()).await.unwrap();
            let names: Vec<String> = pods
                .items
                .into_iter()
                .filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()))
                .filter_map(|pod| pod.metadata.name)
                .collect();
            (names.len() == 2).then_some(names)
        })
        .await;
    story
        .until("the events say why they wait", async || {
            story.told(&waiting[0]).await.contains("FailedScheduling").then_some(())
        })
        .await;
    assert!(story.shown().await.is_empty());
    story.nothing_leaks().await;
}

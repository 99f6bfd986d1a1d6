//! Machines end, do not join and fall ill, and images grow old.

use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use simulator::{Action, SpotTarget};

use super::story::{Claim, Story, condition, is_so};

/// Waits until the pods run on another node than that of `before`, of which nothing is left.
async fn moves(story: &Story, before: &Claim, pods: usize) -> Claim {
    story.until_gone(before).await;
    let after = story.initialized().await;
    assert_ne!(after.instance, before.instance);
    story.until_ready_on(&after, pods).await;
    story.nothing_leaks().await;
    after
}

#[tokio::test]
async fn an_instance_that_a_user_terminates_is_replaced() {
    let Some(story) = Story::begin("terminated", json!({})).await else { return };
    story.deploy(2).await;
    let before = story.initialized().await;
    story.act(Action::TerminateInstance(SpotTarget::Instance(before.instance_id()))).await;
    // The replacement does not wait for what is left of the node.
    let reason = story.until_reason(&before, "DisruptionReason", "True").await;
    assert_eq!(reason, "InstanceEnded");
    moves(&story, &before, 2).await;
    let told = story.told(&before.name).await;
    assert!(told.contains("InstanceTerminating"), "{told:?}");
}

#[tokio::test]
async fn a_machine_that_does_not_join_is_terminated_after_a_quarter_of_an_hour() {
    let Some(story) = Story::begin("absent", json!({})).await else { return };
    story.stage.let_none_join(story.name);
    story.create_pod(json!({}), json!({})).await;
    let before = story
        .until("an instance is launched", async || {
            let claims = story.shown().await;
            let [claim] = claims.as_slice() else { return None };
            let registered = condition(claim, "Registered")?;
            let is_launched = condition(claim, "Launched")?["status"] == "True";
            assert_eq!(registered["status"], "Unknown", "{claim:#}");
            is_launched.then(|| (Claim::of(claim), registered["reason"].clone()))
        })
        .await;
    assert_eq!(before.1, "NodeNotFound");
    story.stage.half_an_hour().await;
    story.until_gone(&before.0).await;
    story.stage.let_all_join(story.name);
    moves(&story, &before.0, 1).await;
    // One of two launches: that is not half of the latest four.
    story
        .until("registrations are healthy", async || {
            let pool = story.pools().get(story.name).await.unwrap();
            let pool = serde_json::to_value(pool).unwrap();
            is_so(&pool, "NodeRegistrationHealthy", "True").then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_node_that_is_not_ready_for_half_an_hour_is_replaced() {
    let Some(story) = Story::begin("ill", json!({})).await else { return };
    story.deploy(2).await;
    let before = story.initialized().await;
    let ill = json!({ "metadata": { "annotations": { "kubelet.control-plane/ready": "False" } } });
    story.patch(&story.all::<core::Node>(), &before.node, ill).await;
    story.stage.half_an_hour().await;
    let reason = story.until_reason(&before, "DisruptionReason", "True").await;
    assert_eq!(reason, "Unhealthy");
    moves(&story, &before, 2).await;
    let told = story.told(&before.name).await;
    assert!(told.contains("DisruptionTerminating"), "{told:?}");
}

#[tokio::test]
async fn a_node_that_a_reboot_cures_is_rebooted_in_place() {
    let Some(story) = Story::begin("reboot", json!({})).await else { return };
    story.deploy(1).await;
    let claim = story.initialized().await;
    let boot = async || story.node(&claim).await?.status?.node_info.map(|info| info.boot_id);
    let before = boot().await.unwrap();
    let report = async |status: &str, reason: &str| {
        let reported =
            json!({ "type": "AcceleratedHardwareReady", "status": status, "reason": reason });
        let patch = Patch::Strategic(json!({ "status": { "conditions": [reported] } }));
        let nodes = story.all::<core::Node>();
        drop(nodes.patch_status(&claim.node, &PatchParams::default(), &patch).await.unwrap());
    };
    report("False", "NvidiaXID46Error").await;
    story.stage.half_an_hour().await;
    story.until_condition(&claim, "Rebooting", "True").await;
    report("True", "Healthy").await;
    assert_eq!(story.until_reason(&claim, "Rebooting", "False").await, "RebootSucceeded");
    assert_ne!(boot().await.unwrap(), before);
    story.until_ready(1).await;
    story.nothing_leaks().await;
}

#[tokio::test]
async fn nodes_of_an_older_image_are_replaced_one_after_the_other_in_service() {
    let Some(story) = Story::begin("drift", json!({})).await else { return };
    story.deploy(2).await;
    story.protect(1).await;
    let before = story.initialized().await;
    let image = |claim: &serde_json::Value| claim["status"]["imageID"].clone();
    let image_before = image(&story.claim(&before).await.unwrap());
    let newer = json!({ "spec": { "amiSelectorTerms": [{ "alias": "al2023@v20260201" }] } });
    story.patch(&story.classes(), story.name, newer).await;
    let after = story
        .with_ready(1, async {
            let reason = story.until_reason(&before, "DisruptionReason", "True").await;
            assert_eq!(reason, "Drifted");
            story
                .until("its replacement is launched", async || {
                    (story.shown().await.len() == 2).then_some(())
                })
                .await;
            // No pod leaves before there is a node for it.
            assert_eq!(story.ready().await.len(), 2);
            moves(&story, &before, 2).await
        })
        .await;
    let shown = story.claim(&after).await.unwrap();
    assert_ne!(image(&shown), image_before);
    assert!(condition(&shown, "DisruptionReason").is_none(), "{shown:#}");
    let told = story.told(&before.name).await;
    assert!(told.contains("DisruptionTerminating"), "{told:?}");
}

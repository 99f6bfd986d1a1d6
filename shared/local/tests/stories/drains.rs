//! Nodes are emptied: within budgets, until a deadline, and before volumes let go.

use jiff::Timestamp;
use k8s_openapi::api::{core::v1 as core, storage::v1::VolumeAttachment};
use model::labels;
use serde_json::json;

use super::story::{Story, condition, is_so};

fn has_taint(node: &core::Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().any(|taint| taint.key == key)
}

#[tokio::test]
async fn a_drain_keeps_to_disruption_budgets() {
    let Some(story) = Story::begin("budget", json!({})).await else { return };
    story.deploy(3).await;
    story.protect(2).await;
    let before = story.initialized().await;
    story
        .with_ready(2, async {
            story.delete(&story.claims(), &before.name).await;
            assert_eq!(story.until_reason(&before, "Drained", "Unknown").await, "Draining");
            story
                .until("its node takes no pods any more", async || {
                    has_taint(&story.node(&before).await?, labels::DISRUPTED_TAINT).then_some(())
                })
                .await;
            story.until_gone(&before).await;
        })
        .await;
    let after = story.initialized().await;
    story.until_ready_on(&after, 3).await;
    let told = story.told(&before.node).await;
    assert!(told.contains("FailedDraining"), "{told:?}");
    story.nothing_leaks().await;
}

#[tokio::test]
async fn a_pod_that_never_goes_stays_until_the_grace_period_of_its_node_ends() {
    let template = json!({ "terminationGracePeriod": "30s" });
    let Some(story) = Story::begin("deadline", template).await else { return };
    story.create_pod(json!({ "karpenter.sh/do-not-disrupt": "true" }), json!({})).await;
    story.until_ready(1).await;
    let claim = story.initialized().await;
    let pod = story.namespaced::<core::Pod>().get("web").await.unwrap();
    story.delete(&story.claims(), &claim.name).await;
    let deadline: Timestamp = story
        .until("the deadline is shown", async || {
            let shown = story.claim(&claim).await?;
            shown["metadata"]["annotations"][labels::TERMINATION_TIMESTAMP].as_str()?.parse().ok()
        })
        .await;
    let deleted = story.deleted(&pod).await;
    let grace = deleted["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap();
    let ends_at: Timestamp =
        deleted["metadata"]["deletionTimestamp"].as_str().unwrap().parse().unwrap();
    assert!((1..=5).contains(&grace), "{grace}");
    let early = deadline.duration_since(ends_at).as_secs();
    assert!((-2..=3).contains(&early), "the pod ends at {ends_at}, its node at {deadline}");
    story.until_gone(&claim).await;
    let told = story.told(&claim.node).await;
    assert!(told.contains("TerminationGracePeriodExpiring"), "{told:?}");
    assert!(story.told("web").await.contains("Disrupted"), "{:?}", story.told("web").await);
    story.nothing_leaks().await;
}

#[tokio::test]
async fn an_instance_stays_until_its_volumes_are_detached() {
    let Some(story) = Story::begin("volume", json!({})).await else { return };
    story.create_pod(json!({}), json!({})).await;
    story.until_ready(1).await;
    let claim = story.initialized().await;
    let attachments = story.all::<VolumeAttachment>();
    // The attach-detach controller holds it until the volumes are detached.
    let attachment = json!({
        "metadata": { "name": "volume-data", "finalizers": ["stories/attacher"] },
        "spec": { "attacher": "ebs.csi.aws.com", "nodeName": claim.node,
                  "source": { "persistentVolumeName": "data" } },
    });
    story.create(&attachments, attachment).await;
    story.delete(&story.claims(), &claim.name).await;
    let shown = story.until_condition(&claim, "VolumesDetached", "Unknown").await;
    assert_eq!(condition(&shown, "VolumesDetached").unwrap()["reason"], "AwaitingVolumeDetachment");
    assert!(is_so(&shown, "Drained", "True") && !is_so(&shown, "InstanceTerminating", "True"));
    assert!(story.ready().await.is_empty());
    assert!(story.instances().await.contains(&claim.instance));
    story
        .until("the event is there", async || {
            story.told(&claim.node).await.contains("AwaitingVolumeDetachment").then_some(())
        })
        .await;

    story.delete(&attachments, "volume-data").await;
    story.patch(&attachments, "volume-data", json!({ "metadata": { "finalizers": null } })).await;
    story.until_gone(&claim).await;
    story.nothing_leaks().await;
}

//! What Journeyman writes on NodePools, over the wire.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    Millicores, PodKey, Resources,
    node_pool::{ClassReadiness, NodePoolStatus, ObservedNodePool, Registrations},
    wake::WakeFinding,
};
use ports::{Fault, NodePools as _};
use serde_json::{Value, json};

use super::Server;

const LIST: &str = "GET /apis/karpenter.sh/v1/nodepools";
const GET: &str = "GET /apis/karpenter.sh/v1/nodepools/general";
const ANNOTATE: &str = "PATCH /apis/karpenter.sh/v1/nodepools/general";
const PATCH: &str = "PATCH /apis/karpenter.sh/v1/nodepools/general/status";

fn pool(generation: u32) -> Value {
    let metadata = json!({ "name": "general", "uid": "u1", "resourceVersion": "7",
        "generation": generation, "creationTimestamp": "2026-11-21T12:00:00Z" });
    let class = json!({ "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" });
    json!({ "kind": "NodePool", "metadata": metadata,
        "spec": { "template": { "spec": { "requirements": [], "nodeClassRef": class } } } })
}

async fn seen(server: &Server) -> ObservedNodePool {
    let mut listing = server.cluster().observed_pools().await.unwrap();
    assert_eq!(listing.malformed, []);
    listing.items.remove(0)
}

fn list() -> (u16, Value) {
    (200, json!({ "metadata": { "resourceVersion": "9" }, "items": [pool(3)] }))
}

fn status() -> NodePoolStatus {
    NodePoolStatus {
        node_class: ClassReadiness::NotFound,
        node_class_generation: None,
        nodes: 1,
        resources: Resources { cpu: Millicores(2_000), ..Resources::default() },
        registrations: Registrations::default(),
        quotas: BTreeSet::new(),
        types: model::node_pool::TypeMatch::Some,
        wake: WakeFinding::Absent,
        found_at: Timestamp::UNIX_EPOCH,
    }
}

#[tokio::test]
async fn a_pools_status_is_written_under_the_version_that_was_read() {
    let mut annotated = pool(3);
    annotated["metadata"]["resourceVersion"] = json!("8");
    let server = Server::new([list(), (200, pool(3)), (200, annotated), (200, pool(3))]);
    let seen = seen(&server).await;
    server.cluster().update_pool_status(&seen, &status()).await.unwrap();
    server.check_sent(&[LIST, GET, ANNOTATE, PATCH]);
    let (sent, hash) = (&server.sent()[2], &seen.pool.annotations["karpenter.sh/nodepool-hash"]);
    assert_eq!(sent.content_type.as_deref(), Some("application/merge-patch+json"));
    let hash = json!({ "karpenter.sh/nodepool-hash": hash,
        "karpenter.sh/nodepool-hash-version": "v3" });
    let metadata = json!({ "uid": "u1", "resourceVersion": "7", "annotations": hash });
    assert_eq!(sent.body, json!({ "metadata": metadata }));
    let sent = &server.sent()[3];
    assert_eq!(sent.content_type.as_deref(), Some("application/merge-patch+json"));
    assert_eq!(sent.body["metadata"], json!({ "uid": "u1", "resourceVersion": "8" }));
    let update = &sent.body["status"];
    assert_eq!((&update["nodes"], &update["resources"]["cpu"]), (&json!(1), &json!("2")));
    let ready = update["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("False")));
}

#[tokio::test]
async fn a_pool_that_changed_in_between_is_not_updated() {
    let server = Server::new([list(), (200, pool(4))]);
    let seen = seen(&server).await;
    let error = server.cluster().update_pool_status(&seen, &status()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Conflict);
    server.check_sent(&[LIST, GET]);
}

#[tokio::test]
async fn a_pod_of_which_no_call_came_is_a_condition() {
    let mut healthy = pool(3);
    let condition = json!({ "type": "WakeHealthy", "status": "True", "reason": "Answered", "message": "",
        "lastTransitionTime": "2026-11-21T12:00:00Z", "observedGeneration": 3 });
    healthy["status"] = json!({ "nodes": 2, "conditions": [condition] });
    let listed = (200, json!({ "metadata": { "resourceVersion": "9" }, "items": [healthy] }));
    let server = Server::new([listed, (200, healthy.clone()), (200, healthy.clone())]);
    let seen = seen(&server).await;
    let pod = PodKey { namespace: "batch".parse().unwrap(), name: "web-0".parse().unwrap() };
    let now = "2026-11-21T13:00:00Z".parse().unwrap();
    let finding = WakeFinding::PodNotPushed(pod);
    server.cluster().update_wake_condition(&seen, &finding, now).await.unwrap();
    server.check_sent(&[LIST, GET, PATCH]);
    let body = &server.sent()[2].body;
    assert_eq!(body["status"].as_object().unwrap().len(), 1, "{body}");
    let condition = &body["status"]["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("PodsNotPushed"))
    );
    // What it says already is not written again.
    let server = Server::new([
        (200, json!({ "metadata": { "resourceVersion": "9" }, "items": [pool(3)] })),
        (200, pool(3)),
    ]);
    let seen = self::seen(&server).await;
    server.cluster().update_wake_condition(&seen, &finding, now).await.unwrap();
    server.check_sent(&[LIST, GET]);
}

//! What Journeyman writes on EC2NodeClasses, over the wire.

use model::{
    Condition, ConditionKind, ConditionReason,
    node_class::{NodeClassStatus, ObservedNodeClass},
};
use ports::{Fault, NodeClasses as _};
use serde_json::{Value, json};

use super::{Server, refused};

const LIST: &str = "GET /apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const GET: &str = "GET /apis/karpenter.k8s.aws/v1/ec2nodeclasses/default";
const PATCH: &str = "PATCH /apis/karpenter.k8s.aws/v1/ec2nodeclasses/default/status";

fn class(generation: u32) -> Value {
    let metadata = json!({ "name": "default", "uid": "u1", "resourceVersion": "7",
        "generation": generation, "creationTimestamp": "2026-11-21T12:00:00Z" });
    let terms = json!([{ "tags": { "a": "b" } }]);
    json!({ "kind": "EC2NodeClass", "metadata": metadata,
        "spec": { "role": "NodeRole", "amiSelectorTerms": [{ "alias": "al2023@latest" }],
            "subnetSelectorTerms": terms, "securityGroupSelectorTerms": terms } })
}

fn list() -> (u16, Value) {
    (200, json!({ "metadata": { "resourceVersion": "9" }, "items": [class(3)] }))
}

async fn seen(server: &Server) -> ObservedNodeClass {
    let mut listing = server.cluster().observed_classes().await.unwrap();
    assert_eq!(listing.malformed, []);
    listing.items.remove(0)
}

fn status() -> NodeClassStatus {
    let (kind, reason) = (ConditionKind::SubnetsReady, ConditionReason::SubnetsNotFound);
    let conditions = vec![Condition::fails(kind, reason, "none")];
    NodeClassStatus { conditions, ..NodeClassStatus::default() }
}

#[tokio::test]
async fn a_status_is_written_under_the_version_that_was_read() {
    let server = Server::new([list(), (200, class(3)), (200, class(3))]);
    let seen = seen(&server).await;
    assert_eq!((seen.generation, seen.uid.as_str()), (3, "u1"));
    server.cluster().update_class_status(&seen, &status()).await.unwrap();
    server.check_sent(&[LIST, GET, PATCH]);
    let sent = &server.sent()[2];
    assert_eq!(sent.content_type.as_deref(), Some("application/merge-patch+json"));
    assert_eq!(sent.body["metadata"], json!({ "uid": "u1", "resourceVersion": "7" }));
    let conditions = sent.body["status"]["conditions"].as_array().unwrap();
    let ready = conditions.last().unwrap();
    assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("False")));
}

#[tokio::test]
async fn a_class_gets_its_drift_hash_once() {
    let mut annotated = class(3);
    annotated["metadata"]["annotations"] = json!({ "karpenter.k8s.aws/ec2nodeclass-hash": "17",
        "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6", "of-a-user": "x" });
    let update = NodeClassStatus { hash: Some(17), ..status() };
    let answers = [list(), (200, class(3)), (200, annotated.clone()), (200, annotated.clone())];
    let server = Server::new(answers);
    let observed = seen(&server).await;
    server.cluster().update_class_status(&observed, &update).await.unwrap();
    server.check_sent(&[LIST, GET, PATCH.trim_end_matches("/status"), PATCH]);
    let server = Server::new([list(), (200, annotated.clone()), (200, annotated)]);
    let observed = seen(&server).await;
    server.cluster().update_class_status(&observed, &update).await.unwrap();
    server.check_sent(&[LIST, GET, PATCH]);
}

#[tokio::test]
async fn a_class_that_changed_in_between_is_not_updated() {
    let server = Server::new([list(), (200, class(4))]);
    let seen = seen(&server).await;
    let error = server.cluster().update_class_status(&seen, &status()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Conflict);
    server.check_sent(&[LIST, GET]);
}

#[tokio::test]
async fn a_class_that_is_gone_is_not_found() {
    let server = Server::new([list(), refused(404, "NotFound", "not found")]);
    let seen = seen(&server).await;
    let error = server.cluster().update_class_status(&seen, &status()).await.unwrap_err();
    assert_eq!(error.fault, Fault::NotFound);
}

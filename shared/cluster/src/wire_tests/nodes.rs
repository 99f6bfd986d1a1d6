//! What is done to nodes and pods, over the wire.

use model::{
    Taint, TaintEffect,
    node::{Eviction, EvictionRequest, Node, NodePatch},
    pod::DeletionCost,
};
use ports::{Fault, Nodes as _, PortError};
use serde_json::{Value, json};
use testkit::build;

use super::{Server, refused, status};

const POD: &str = "/api/v1/namespaces/shop/pods/web-0";
const EVICTION: &str = "POST /api/v1/namespaces/shop/pods/web-0/eviction";

fn stored_node() -> (u16, Value) {
    let metadata = json!({ "name": "one", "uid": "u1", "resourceVersion": "7",
                           "labels": { "a": "1" }, "creationTimestamp": "2026-11-21T12:00:00Z" });
    (200, json!({ "kind": "Node", "metadata": metadata, "spec": {}, "status": {} }))
}

fn disruption() -> NodePatch {
    let taint = Taint {
        key: "karpenter.sh/disrupted".to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    NodePatch { add_taints: vec![taint], ..NodePatch::default() }
}

async fn patch(server: &Server, patch: &NodePatch) -> Result<(), PortError> {
    server.cluster().patch(&"one".parse().unwrap(), patch).await
}

#[tokio::test]
async fn a_taint_is_sent_under_the_version_that_was_read() {
    let server = Server::new([stored_node(), stored_node()]);
    patch(&server, &disruption()).await.unwrap();
    server.check_sent(&["GET /api/v1/nodes/one", "PATCH /api/v1/nodes/one"]);
    let sent = &server.sent()[1];
    assert_eq!(sent.content_type.as_deref(), Some("application/merge-patch+json"));
    assert_eq!(sent.query, [("fieldManager".to_owned(), "journeyman".to_owned())]);
    let taints = json!([{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }]);
    let metadata = json!({ "uid": "u1", "resourceVersion": "7" });
    assert_eq!(sent.body, json!({ "metadata": metadata, "spec": { "taints": taints } }));
}

#[tokio::test]
async fn a_patch_that_changes_nothing_is_not_sent() {
    let server = Server::new([stored_node()]);
    let satisfied =
        NodePatch { labels: [("a".to_owned(), "1".to_owned())].into(), ..NodePatch::default() };
    patch(&server, &satisfied).await.unwrap();
    server.check_sent(&["GET /api/v1/nodes/one"]);
}

#[tokio::test]
async fn a_patch_that_comes_second_is_a_conflict_and_is_not_repeated() {
    let server = Server::new([stored_node(), refused(409, "Conflict", "modified")]);
    let error = patch(&server, &disruption()).await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("patch a node", Fault::Conflict));
    server.check_sent(&["GET /api/v1/nodes/one", "PATCH /api/v1/nodes/one"]);
}

#[tokio::test]
async fn a_node_that_is_not_there_cannot_be_patched() {
    let server = Server::new([refused(404, "NotFound", "nodes \"one\" not found")]);
    assert_eq!(patch(&server, &disruption()).await.unwrap_err().fault, Fault::NotFound);
}

#[tokio::test]
async fn a_node_that_cannot_be_read_is_not_written() {
    let server = Server::new([(200, json!({ "kind": "Node", "metadata": { "name": "one" } }))]);
    assert_eq!(patch(&server, &disruption()).await.unwrap_err().fault, Fault::Permanent);
    server.check_sent(&["GET /api/v1/nodes/one"]);
}

fn request(grace_seconds: Option<u32>) -> EvictionRequest {
    let pod = model::PodKey { namespace: "shop".parse().unwrap(), name: "web-0".parse().unwrap() };
    EvictionRequest { pod, uid: "u1".parse().unwrap(), grace_seconds }
}

fn refused_for(code: u16, cause: &str) -> (u16, Value) {
    let mut status = status(code, "TooManyRequests", "Cannot evict pod");
    status["details"] = json!({ "causes": [{ "reason": cause, "message": "needs 1" }] });
    (code, status)
}

fn pod(uid: &str) -> (u16, Value) {
    (200, json!({ "kind": "PartialObjectMetadata", "metadata": { "name": "web-0", "uid": uid } }))
}

/// What an eviction means whose requests are answered like this, all of which are asked for.
#[track_caller]
fn check(
    server: &Server,
    answer: &Result<Eviction, PortError>,
    expected: Result<Eviction, Fault>,
    requests: &[&str],
) {
    let answer = answer.as_ref().map(|eviction| *eviction).map_err(|error| error.fault);
    assert_eq!(answer, expected);
    server.check_sent(requests);
}

async fn evict(
    answers: impl IntoIterator<Item = (u16, Value)>,
) -> (Server, Result<Eviction, PortError>) {
    let server = Server::new(answers);
    let answer = server.cluster().evict(&request(None)).await;
    (server, answer)
}

#[tokio::test]
async fn an_eviction_names_the_pod_by_uid() {
    let (server, answer) = evict([(201, json!({ "kind": "Status", "status": "Success" }))]).await;
    check(&server, &answer, Ok(Eviction::Accepted), &[EVICTION]);
    let metadata = json!({ "name": "web-0", "namespace": "shop" });
    let options = json!({ "preconditions": { "uid": "u1" } });
    let expected = json!({ "apiVersion": "policy/v1", "kind": "Eviction",
                           "metadata": metadata, "deleteOptions": options });
    assert_eq!(server.sent()[0].body, expected);
}

#[tokio::test]
async fn with_a_grace_period_of_ours_the_pod_is_deleted_whatever_budgets_say() {
    // Never 0: that erases the pod while its processes may live.
    for (given, sent) in [(30, 30), (0, 1)] {
        let server = Server::new([(200, json!({ "kind": "Pod" }))]);
        let answer = server.cluster().evict(&request(Some(given))).await;
        check(
            &server,
            &answer,
            Ok(Eviction::Accepted),
            &["DELETE /api/v1/namespaces/shop/pods/web-0"],
        );
        let expected = json!({ "apiVersion": "v1", "kind": "DeleteOptions",
                               "preconditions": { "uid": "u1" }, "gracePeriodSeconds": sent });
        assert_eq!(server.sent()[0].body, expected);
    }
}

#[tokio::test]
async fn a_budget_that_blocks_an_eviction_is_asked_once() {
    let (server, answer) = evict([refused_for(429, "DisruptionBudget")]).await;
    check(&server, &answer, Ok(Eviction::Blocked), &[EVICTION]);
}

#[tokio::test]
async fn two_budgets_for_one_pod_block_it() {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                   does not support.";
    let (server, answer) = evict([refused(500, "InternalError", message)]).await;
    check(&server, &answer, Ok(Eviction::Blocked), &[EVICTION]);
}

#[tokio::test]
async fn an_api_server_under_load_does_not_speak_for_a_budget() {
    let (server, answer) = evict([refused_for(429, "")]).await;
    check(&server, &answer, Err(Fault::Transient), &[EVICTION]);
}

#[tokio::test]
async fn a_pod_that_is_gone_needs_no_eviction() {
    let (server, answer) = evict([refused(404, "NotFound", "pods \"web-0\" not found")]).await;
    check(&server, &answer, Ok(Eviction::Gone), &[EVICTION]);
}

#[tokio::test]
async fn a_namesake_is_not_evicted_and_the_pod_is_gone() {
    let look = format!("GET {POD}");
    let conflict = || refused(409, "Conflict", "Precondition failed: UID in precondition: u1");
    let (server, answer) = evict([conflict(), pod("u2")]).await;
    check(&server, &answer, Ok(Eviction::Gone), &[EVICTION, &look]);
    let (server, answer) = evict([conflict(), refused(404, "NotFound", "")]).await;
    check(&server, &answer, Ok(Eviction::Gone), &[EVICTION, &look]);
    let (server, answer) = evict([conflict(), pod("u1")]).await;
    check(&server, &answer, Err(Fault::Conflict), &[EVICTION, &look]);
}

#[tokio::test]
async fn a_pod_name_that_leads_elsewhere_is_not_sent() {
    let server = Server::new([]);
    let mut request = request(None);
    request.pod.name = "../../nodes/one".parse().unwrap();
    let error = server.cluster().evict(&request).await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    server.check_sent(&[]);
}

#[tokio::test]
async fn a_node_that_is_gone_was_deleted() {
    let (get, delete) = ("GET /api/v1/nodes/one", "DELETE /api/v1/nodes/one");
    let missing = || refused(404, "NotFound", "nodes \"one\" not found");
    let node = build::node("one");
    let server = Server::new([missing()]);
    server.cluster().delete(&node).await.unwrap();
    server.check_sent(&[get]);
    let replaced = refused(409, "Conflict", "the UID in the precondition does not match");
    for answer in [(200, json!({})), missing(), replaced] {
        let server = Server::new([stored_node(), answer]);
        server.cluster().delete(&node).await.unwrap();
        server.check_sent(&[get, delete]);
        assert_eq!(server.sent()[1].body["preconditions"], json!({ "uid": "u1" }));
    }
    let server = Server::new([stored_node(), refused(500, "InternalError", "etcd")]);
    let error = server.cluster().delete(&node).await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("delete a node", Fault::Unknown));
}

#[tokio::test]
async fn a_node_of_another_machine_stays_under_its_name() {
    let provider_id = Some("aws:///us-west-2a/i-0a1b2c3d4e5f60718".parse().unwrap());
    let server = Server::new([stored_node()]);
    server.cluster().delete(&Node { provider_id, ..build::node("one") }).await.unwrap();
    server.check_sent(&["GET /api/v1/nodes/one"]);
}

#[tokio::test]
async fn a_node_is_got_by_its_name() {
    let server = Server::new([stored_node()]);
    let node = server.cluster().node(&"one".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(node.name.as_str(), "one");
    assert_eq!(node.labels.get("a").map(String::as_str), Some("1"));
    server.check_sent(&["GET /api/v1/nodes/one"]);
}

#[tokio::test]
async fn a_node_that_is_not_there_is_none_and_one_that_cannot_be_read_is_an_error() {
    let name = "one".parse().unwrap();
    let server = Server::new([refused(404, "NotFound", "nodes \"one\" not found")]);
    assert_eq!(server.cluster().node(&name).await.unwrap(), None);
    let odd = json!({ "kind": "Node", "metadata": { "name": "one", "labels": 7 } });
    for (answer, fault, story) in [
        ((200, odd), Fault::Permanent, "the API server's answer cannot be read"),
        ((200, json!([])), Fault::Permanent, "the API server's answer cannot be read"),
        (refused(503, "ServiceUnavailable", "x"), Fault::Transient, "the API server answered 503"),
        (refused(403, "Forbidden", "x"), Fault::Permanent, "the API server answered 403"),
    ] {
        let server = Server::new([answer]);
        let error = server.cluster().node(&name).await.unwrap_err();
        assert_eq!((error.operation, error.fault), ("get a node", fault), "{story}");
        let source = error.source.unwrap().to_string();
        assert!(source.starts_with(story), "{source}");
    }
}

#[tokio::test]
async fn nodes_that_are_not_initialized_are_selected_by_the_api_server() {
    let node = json!({ "metadata": { "name": "b", "creationTimestamp": "2026-11-21T12:00:00Z" },
                       "spec": {}, "status": {} });
    let metadata = json!({ "resourceVersion": "7" });
    let list = json!({ "kind": "NodeList", "metadata": metadata, "items": [node] });
    let server = Server::new([(200, list)]);
    let listing = server.cluster().uninitialized().await.unwrap();
    assert_eq!(listing.items.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["b"]);
    server.check_sent(&["GET /api/v1/nodes"]);
    let query = &server.sent()[0].query;
    let selector = ("labelSelector".to_owned(), "karpenter.sh%2Finitialized%21=true".to_owned());
    let decoded = |text: &str| text.replace("%2F", "/").replace("%21", "!");
    let query: Vec<_> = query.iter().map(|(key, value)| (key.clone(), decoded(value))).collect();
    assert!(query.contains(&(selector.0, decoded(&selector.1))), "{query:?}");
}

#[tokio::test]
async fn a_deletion_cost_is_all_that_is_changed_of_a_pod() {
    let pod = request(None).pod;
    for (cost, sent) in [(Some(-3), json!("-3")), (None, Value::Null)] {
        let server = Server::new([(200, json!({ "kind": "Pod" }))]);
        let cost = DeletionCost { pod: pod.clone(), cost };
        server.cluster().set_deletion_cost(&cost).await.unwrap();
        server.check_sent(&["PATCH /api/v1/namespaces/shop/pods/web-0"]);
        let annotations = json!({ "controller.kubernetes.io/pod-deletion-cost": sent });
        let expected = json!({ "metadata": { "annotations": annotations } });
        assert_eq!(server.sent()[0].body, expected);
    }
    let server = Server::new([refused(404, "NotFound", "pods \"web-0\" not found")]);
    let gone = server.cluster().set_deletion_cost(&DeletionCost { pod, cost: None }).await;
    assert_eq!(gone.unwrap_err().fault, Fault::NotFound);
}

//! Events over the wire.

use jiff::Timestamp;
use model::event::{EventObject, EventReason, ObjectEvent};
use ports::{Events as _, Fault};
use serde_json::{Value, json};

use super::{Server, refused};

const CREATE: &str = "POST /api/v1/namespaces/default/events";
const CREATE_IN_SHOP: &str = "POST /api/v1/namespaces/shop/events";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn of_node(reason: EventReason) -> ObjectEvent {
    ObjectEvent::new(EventObject::Node("one".parse().unwrap()), reason, "two pods are left")
}

fn node() -> (u16, Value) {
    (200, json!({ "kind": "PartialObjectMetadata", "metadata": { "name": "one", "uid": "u1" } }))
}

fn created() -> (u16, Value) {
    (201, json!({ "kind": "Event", "metadata": { "name": "x" } }))
}

#[tokio::test]
async fn an_event_is_karpenters_and_names_the_very_object() {
    let server = Server::new([node(), created()]);
    let event = of_node(EventReason::FailedDraining);
    server.cluster().publish(&event, at("2026-11-21T12:00:00.4Z")).await.unwrap();
    server.check_sent(&["GET /api/v1/nodes/one", CREATE]);
    let body = &server.sent()[1].body;
    let about = json!({ "kind": "Node", "apiVersion": "v1", "name": "one", "uid": "u1" });
    assert_eq!(body["involvedObject"], about);
    assert_eq!(body["source"], json!({ "component": "karpenter" }));
    let texts = ["reason", "message", "type", "reportingComponent", "firstTimestamp"]
        .map(|field| body[field].as_str().unwrap().to_owned());
    let expected = ["FailedDraining", "two pods are left", "Warning", "karpenter"];
    assert_eq!(texts[..4], expected);
    assert_eq!(texts[4], "2026-11-21T12:00:00Z");
}

#[tokio::test]
async fn the_same_within_its_time_has_the_same_name() {
    let mut names = Vec::new();
    for (time, reason) in [
        ("2026-11-21T12:00:00Z", EventReason::FailedDraining),
        ("2026-11-21T12:01:59Z", EventReason::FailedDraining),
        ("2026-11-21T12:02:00Z", EventReason::FailedDraining),
        ("2026-11-21T12:00:00Z", EventReason::Unconsolidatable),
    ] {
        let server = Server::new([node(), created()]);
        server.cluster().publish(&of_node(reason), at(time)).await.unwrap();
        names.push(server.sent()[1].body["metadata"]["name"].as_str().unwrap().to_owned());
    }
    assert_eq!(names[0], names[1]);
    assert!(names[1] != names[2] && names[0] != names[3], "{names:?}");
}

#[tokio::test]
async fn what_is_there_is_not_published_again_and_nothing_about_what_is_gone() {
    let there = || refused(409, "AlreadyExists", "events \"one.1\" already exists");
    let gone = refused(404, "NotFound", "nodes \"one\" not found");
    let server = Server::new([node(), there(), gone]);
    let (cluster, event) = (server.cluster(), of_node(EventReason::FailedDraining));
    let now = at("2026-11-21T12:00:00Z");
    cluster.publish(&event, now).await.unwrap();
    assert_eq!(cluster.publish(&event, now).await.unwrap_err().fault, Fault::NotFound);
    server.check_sent(&["GET /api/v1/nodes/one", CREATE, "GET /api/v1/nodes/one"]);
}

#[tokio::test]
async fn an_event_about_a_pod_is_in_its_namespace() {
    let key = model::PodKey { namespace: "shop".parse().unwrap(), name: "web-0".parse().unwrap() };
    let about = EventObject::Pod(key, Some("u7".parse().unwrap()));
    let event = ObjectEvent::new(about, EventReason::Nominated, "it has a place");
    let server = Server::new([created(), refused(403, "Forbidden", "events is forbidden")]);
    let (cluster, now) = (server.cluster(), at("2026-11-21T12:00:00Z"));
    cluster.publish(&event, now).await.unwrap();
    assert_eq!(cluster.publish(&event, now).await.unwrap_err().fault, Fault::Permanent);
    server.check_sent(&[CREATE_IN_SHOP, CREATE_IN_SHOP]);
    let about = &server.sent()[0].body["involvedObject"];
    assert_eq!((&about["namespace"], &about["uid"]), (&json!("shop"), &json!("u7")));
}

//! The status of EC2NodeClasses as it is written.

use api::{
    karpenter::{
        conditions::NODE_CLASS, node_class_patch::status_patch, status_patch::StatusPatch,
    },
    lists::{node_class_list, observed_node_class_list},
};
use model::{
    ConditionKind, ConditionReason, ImageId, Requirements,
    node_class::{CapacityReservation, Image, MatchCriteria, NodeClassStatus, ObservedNodeClass},
};
use serde_json::{Value, json};

const LATER: &str = "2026-08-01T13:00:00Z";

/// A class as the API server stores it.
fn stored(generation: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {
            "name": "default", "uid": "u1", "generation": generation, "resourceVersion": "7",
            "creationTimestamp": "2026-08-01T12:00:00Z",
        },
        "spec": {
            "role": "NodeRole",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"tags": {"a": "b"}}],
            "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
        },
        "status": status,
    })
}

fn seen(object: &Value) -> ObservedNodeClass {
    let list = json!({ "kind": "List", "metadata": {}, "items": [object] }).to_string();
    let mut page = observed_node_class_list(list.as_bytes()).unwrap();
    assert_eq!(page.malformed, []);
    page.items.remove(0)
}

fn found() -> NodeClassStatus {
    let subnet = |id: &str, free| model::node_class::Subnet {
        id: id.parse().unwrap(),
        zone: "us-west-2a".parse().unwrap(),
        zone_id: "usw2-az1".parse().unwrap(),
        available_ip_address_count: free,
    };
    NodeClassStatus {
        subnets: vec![subnet("subnet-2", 20), subnet("subnet-1", 10)],
        images: vec![Image {
            id: "ami-1".parse().unwrap(),
            name: "one".to_owned(),
            created_at: None,
            deprecated_at: Some("2026-08-01T12:30:00Z".parse().unwrap()),
            requirements: Requirements::of_labels([
                ("kubernetes.io/arch", "arm64"),
                ("karpenter.k8s.aws/instance-gpu-count", "1"),
            ]),
        }],
        instance_profile: Some("demo_17".to_owned()),
        conditions: NODE_CLASS.0.iter().map(|kind| model::Condition::holds(*kind)).collect(),
        found_at: LATER.parse().unwrap(),
        ..NodeClassStatus::default()
    }
}

fn merged(object: &Value, node_class_status: &NodeClassStatus) -> Value {
    match status_patch(object.to_string().as_bytes(), &seen(object), node_class_status).unwrap() {
        StatusPatch::Merge(patch) => patch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_class_gets_everything_under_the_version_that_was_read() {
    let patch = merged(&stored(1, &json!({})), &found());
    assert_eq!(patch["metadata"], json!({ "uid": "u1", "resourceVersion": "7" }));
    let status = &patch["status"];
    assert_eq!(
        status["subnets"][0],
        json!({ "id": "subnet-2", "zone": "us-west-2a", "zoneID": "usw2-az1" })
    );
    assert_eq!(status["instanceProfile"], "demo_17");
    assert_eq!(
        status["amis"][0],
        json!({
            "id": "ami-1", "name": "one", "deprecated": true,
            "requirements": [
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": ["1"]},
            ],
        })
    );
    let ready = status["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("True")));
    assert_eq!(ready["observedGeneration"], 1);
    // What is empty is absent.
    assert_eq!(status.get("capacityReservations"), None);
}

#[test]
fn what_is_written_is_what_launches_read() {
    let mut object = stored(1, &json!({}));
    let node_class_status = NodeClassStatus {
        placement_group: Some("pg-1 partition/3 far apart".parse().unwrap()),
        launch_template_version: Some(7),
        candidates: [ImageId::new("ami-0c2").unwrap()].into(),
        reservations: vec![CapacityReservation {
            id: "cr-1".parse().unwrap(),
            instance_type: "m7i.large".parse().unwrap(),
            zone: "us-west-2a".parse().unwrap(),
            owner: "123456789012".to_owned(),
            match_criteria: MatchCriteria::Targeted,
            is_capacity_block: true,
            is_interruptible: false,
            is_expiring: true,
            ends_at: Some("2026-08-02T00:00:00Z".parse().unwrap()),
            available_count: 5,
        }],
        ..found()
    };
    object["status"] = merged(&object, &node_class_status)["status"].clone();
    object["metadata"]["annotations"] = json!(node_class_status.annotations());
    let list = json!({ "kind": "List", "metadata": {}, "items": [object] }).to_string();
    let mut page = node_class_list(list.as_bytes()).unwrap();
    let listed = page.items.remove(0);
    assert_eq!((listed.not_ready, listed.status), (None, Some(node_class_status.stored())));
}

#[test]
fn what_is_said_already_is_not_sent_again() {
    let first = stored(1, &json!({}));
    let written = stored(1, &merged(&first, &found())["status"]);
    let later = NodeClassStatus { found_at: "2026-08-01T14:00:00Z".parse().unwrap(), ..found() };
    let patch = status_patch(written.to_string().as_bytes(), &seen(&written), &later).unwrap();
    assert_eq!(patch, StatusPatch::Nothing);
}

#[test]
fn what_is_gone_is_taken_back_and_the_rest_is_left_alone() {
    let first = stored(1, &json!({}));
    let written = stored(1, &merged(&first, &found())["status"]);
    let none = NodeClassStatus {
        images: Vec::new(),
        conditions: vec![model::Condition::fails(
            ConditionKind::AmisReady,
            ConditionReason::AmiNotFound,
            "none",
        )],
        ..found()
    };
    let patch = merged(&written, &none);
    let status = patch["status"].as_object().unwrap();
    assert_eq!(status.keys().collect::<Vec<_>>(), ["amis", "conditions"]);
    assert_eq!(status["amis"], Value::Null);
    let conditions = status["conditions"].as_array().unwrap();
    let ready = conditions.last().unwrap();
    assert_eq!((&ready["status"], &ready["message"]), (&json!("False"), &json!("AMIsReady=False")));
}

#[test]
fn another_spec_or_a_namesake_is_not_updated() {
    let object = stored(1, &json!({}));
    let other = ObservedNodeClass { generation: 2, ..seen(&object) };
    let patch = status_patch(object.to_string().as_bytes(), &other, &found()).unwrap();
    assert_eq!(patch, StatusPatch::Moved);
    let namesake = ObservedNodeClass { uid: "u2".to_owned(), ..seen(&object) };
    let patch = status_patch(object.to_string().as_bytes(), &namesake, &found()).unwrap();
    assert_eq!(patch, StatusPatch::Moved);
}

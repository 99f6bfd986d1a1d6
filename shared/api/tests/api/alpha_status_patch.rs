//! The status of NodeOverlays and CapacityBuffers as it is written.

use api::{
    karpenter::{
        alpha_status_patch::{buffer_status_patch, overlay_status_patch},
        status_patch::StatusPatch,
    },
    lists::{capacity_buffer_list, observed_overlay_list},
};
use jiff::Timestamp;
use model::{
    Condition, ConditionKind, ConditionReason,
    buffer::{BufferStatus, ObservedBuffer, Reference},
};
use serde_json::{Value, json};

fn at(hour: u32) -> Timestamp {
    format!("2026-08-01T{hour}:00:00Z").parse().unwrap()
}

fn list(object: &Value) -> Vec<u8> {
    json!({ "kind": "List", "metadata": {}, "items": [object] }).to_string().into_bytes()
}

fn metadata(generation: i64) -> Value {
    json!({
        "name": "spare", "namespace": "default", "uid": "u1", "generation": generation,
        "resourceVersion": "7", "creationTimestamp": "2026-08-01T12:00:00Z",
    })
}

fn buffer(generation: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
        "metadata": metadata(generation),
        "spec": {
            "podTemplateRef": { "name": "small" }, "replicas": 2,
            "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
        },
        "status": status,
    })
}

fn seen(object: &Value) -> ObservedBuffer {
    let mut page = capacity_buffer_list(&list(object)).unwrap();
    assert_eq!(page.malformed, []);
    page.items.remove(0).1
}

/// The object with the patch in it.
fn patched(object: &Value, patch: StatusPatch) -> Value {
    let StatusPatch::Merge(patch) = patch else { panic!("{patch:?}") };
    let mut object = object.clone();
    for (key, value) in patch["status"].as_object().unwrap() {
        object["status"][key] = value.clone();
    }
    object
}

#[test]
fn a_buffer_is_read_as_it_was_written() {
    let written = BufferStatus {
        replicas: Some(2),
        template: Some(("small".parse().unwrap(), 4)),
        strategy: Some("buffer.x-k8s.io/active-capacity".to_owned()),
        conditions: vec![Condition {
            kind: ConditionKind::ReadyForProvisioning,
            status: Some(true),
            reason: ConditionReason::Resolved,
            message: "known".to_owned(),
        }],
    };
    let object = buffer(3, &json!({}));
    let observed = seen(&object);
    assert_eq!(observed.refers_to, Reference::Template("small".parse().unwrap(), None));
    assert_eq!((observed.generation, observed.status_generation), (3, None));
    let body = |object: &Value| object.to_string().into_bytes();
    let patch = buffer_status_patch(&body(&object), &observed, &written, at(13)).unwrap();
    let after = patched(&object, patch);
    assert_eq!(
        after["status"],
        json!({
            "podTemplateRef": { "name": "small" }, "replicas": 2, "podTemplateGeneration": 4,
            "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
            "conditions": [{
                "type": "ReadyForProvisioning", "status": "True", "reason": "Resolved",
                "message": "known", "lastTransitionTime": "2026-08-01T13:00:00Z",
                "observedGeneration": 3,
            }],
        })
    );
    let again = seen(&after);
    let reason = ConditionReason::Other("Resolved".to_owned());
    let conditions = vec![Condition { reason, ..written.conditions[0].clone() }];
    assert_eq!(again.status, BufferStatus { conditions, ..written.clone() });
    assert_eq!(again.status_generation, Some(3));
    // Found again, it is not written again; a condition of others stays, and of another spec nothing is written.
    let patch = buffer_status_patch(&body(&after), &again, &written, at(14)).unwrap();
    assert_eq!(patch, StatusPatch::Nothing);
    let fails = Condition::fails(ConditionKind::Provisioning, ConditionReason::BufferEmpty, "");
    let other = BufferStatus { conditions: vec![fails], ..written };
    let patch = buffer_status_patch(&body(&after), &again, &other, at(14)).unwrap();
    let conditions = patched(&after, patch)["status"]["conditions"].clone();
    assert_eq!(conditions.as_array().unwrap().len(), 2);
    let moved = buffer_status_patch(&body(&buffer(4, &json!({}))), &again, &other, at(14)).unwrap();
    assert_eq!(moved, StatusPatch::Moved);
}

#[test]
fn an_overlay_is_ready_if_it_is_in_use() {
    let mut object = json!({
        "apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": metadata(1),
        "spec": { "requirements": [], "price": "1.5" },
    });
    let mut page = observed_overlay_list(&list(&object)).unwrap();
    let observed = page.items.remove(0);
    let kind = ConditionKind::ValidationSucceeded;
    let cases = [
        (Condition::fails(kind, ConditionReason::Conflict, "why"), "False Conflict", "False"),
        (Condition::holds(kind), "True ValidationSucceeded", "True"),
    ];
    for (validation, expected, ready) in cases {
        let body = object.to_string().into_bytes();
        let patch = overlay_status_patch(&body, &observed, &validation, at(13)).unwrap();
        object = patched(&object, patch);
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let first =
            format!("{} {}", text(&conditions[0]["status"]), text(&conditions[0]["reason"]));
        assert_eq!((first.as_str(), conditions[1]["status"].as_str()), (expected, Some(ready)));
        assert_eq!(conditions[1]["type"], "Ready");
    }
}

//! Pods read with others are the pods that they are by themselves.

use serde_json::{Value, json};

use std::sync::Arc;

use api::{
    lists::pods::{PodReader, TEXT_BYTES_MAX},
    objects::{Object, PodManifest},
};

/// A pod with whatever a pod can have that decides something.
fn full() -> Value {
    json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1", "managedFields": [{}],
            "creationTimestamp": "2026-08-01T12:00:00Z",
            "labels": {"app": "web", "quoted\"": "\u{e4}"},
            "annotations": {"karpenter.sh/do-not-disrupt": "true", "other": "x\"y",
                "controller.kubernetes.io/pod-deletion-cost": "5"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "1"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true}]},
        "spec": {"nodeName": "ip-10-0-0-1", "hostNetwork": true, "priority": 7,
            "priorityClassName": "high", "terminationGracePeriodSeconds": 60,
            "schedulingGates": [{"name": "later"}], "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "3"}}, "resourceClaims": [{"name": "gpu",
                "resourceClaimTemplateName": "gpu"}, {"name": "net", "resourceClaimName": "shared-net"}],
            "nodeSelector": {"kubernetes.io/arch": "arm64"},
            "tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Gt", "value": "5"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
                    "values": ["ip-10-0-0-1"]}]}, {"matchFields": []}]}},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
                    "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["app"],
                "labelSelector": {"matchLabels": {"app": "web"}}}],
            "volumes": [{"name": "token", "projected": {"sources": []}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}],
            "initContainers": [{"name": "side", "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "100m"}}}],
            "containers": [{"name": "main", "image": "x", "env": [{"name": "a"}],
                "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"},
                    "claims": [{"name": "gpu"}]},
                "ports": [{"containerPort": 80}, {"hostPort": 8080, "protocol": "UDP"}]}]},
        "status": {"phase": "Running", "startTime": "2026-08-01T12:00:05Z",
            "nominatedNodeName": "ip-10-0-0-2", "resourceClaimStatuses": [
                {"name": "gpu", "resourceClaimName": "web-0-gpu-x7k"}, {"name": "none"}],
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "900m"},
                "resources": {"requests": {"cpu": "950m"}, "limits": {"memory": "1Gi"}}}],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled",
                "status": "False", "reason": "Unschedulable",
                "lastTransitionTime": "2026-08-01T12:00:07Z"}]},
    })
}

fn by_itself(pod: &Value) -> Option<PodManifest> {
    let mut pod = pod.clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    let manifest = api::files::read(&pod.to_string(), "x");
    match manifest.objects.into_iter().next() {
        // Of what a server lists nothing is new.
        Some(Object::Pod(manifest)) => Some(PodManifest { new: None, ..manifest }),
        _ => None,
    }
}

/// `pod` after another that is like it, and whether it could be read without the reader of manifests.
#[track_caller]
fn check(pod: &Value, is_quick: bool) {
    let mut reader = PodReader::default();
    let _before = reader.pod(&full().to_string());
    let quick = reader.pod(&pod.to_string());
    assert_eq!(quick.is_some(), is_quick, "{pod}");
    let page = reader.page(json!({"items": [pod, full()]}).to_string().as_bytes()).unwrap();
    let is_unreadable = by_itself(pod).is_none();
    let stands_for_it = || {
        let page = json!({"items": [pod]}).to_string();
        PodReader::default().page(page.as_bytes()).unwrap().items.into_iter().next()
    };
    let first = by_itself(pod).or_else(stands_for_it);
    let expected: Vec<_> = first.into_iter().chain(by_itself(&full())).collect();
    assert_eq!(page.items, expected);
    assert_eq!(page.malformed.len(), usize::from(is_unreadable));
}

#[test]
fn a_pod_among_others_is_what_it_is_by_itself() {
    check(&full(), true);
    // Without each of its members in turn: some of them cannot be missing.
    for part in ["metadata", "spec", "status"] {
        let members: Vec<String> = full()[part].as_object().unwrap().keys().cloned().collect();
        for member in members {
            let mut pod = full();
            pod[part].as_object_mut().unwrap().remove(&member);
            let is_needed = ["name", "containers"].contains(&member.as_str());
            check(&pod, !is_needed);
            pod[part][&member] = Value::Null;
            check(&pod, !is_needed);
        }
    }
}

#[test]
fn a_pod_whose_resize_is_infeasible_is_what_it_is_by_itself() {
    let mut pod = full();
    pod["status"]["conditions"] = json!([{"type": "PodResizePending", "status": "True",
        "reason": "Infeasible"}]);
    check(&pod, true);
}

#[test]
fn what_is_not_as_expected_is_left_to_the_reader_of_manifests() {
    for (place, value) in [
        ("/metadata/name", json!("")),
        ("/metadata/namespace", json!("Not a name")),
        ("/metadata/uid", json!("")),
        ("/metadata/creationTimestamp", json!("yesterday")),
        ("/metadata/labels/app", json!(5)),
        ("/metadata/annotations/other", json!(5)),
        ("/metadata/ownerReferences/1/kind", json!(null)),
        ("/spec/nodeName", json!("Not a name")),
        ("/spec/containers/0/resources/requests/cpu", json!("1O0m")),
        ("/spec/volumes/1/persistentVolumeClaim/claimName", json!("")),
        ("/status/phase", json!("Sleeping")),
        ("/status/resourceClaimStatuses/0/resourceClaimName", json!("")),
        ("/status/resourceClaimStatuses/0/name", json!(null)),
        ("/status/startTime", json!(5)),
        ("/status/conditions", json!({})),
    ] {
        let mut pod = full();
        *pod.pointer_mut(place).unwrap() = value;
        check(&pod, false);
    }
    let mut pod = full();
    pod["status"]["nominatedNodeName"] = json!("");
    check(&pod, true);
    pod["spec"]["volumes"] = json!([{"name": "disk", "awsElasticBlockStore": {"volumeID": "v"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
        {"name": "cache", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "a"}}}}]);
    check(&pod, true);
}

/// The places of all members and items of `value`.
fn places(value: &Value, place: &str, texts: &mut Vec<String>) {
    texts.push(place.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{place}/{index}"), texts);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                places(member, &format!("{place}/{}", key.replace('/', "~1")), texts);
            }
        }
        _ => {}
    }
}

#[test]
fn whatever_stands_in_a_place_the_pod_is_what_it_is_by_itself() {
    let mut texts = Vec::new();
    places(&full(), "", &mut texts);
    let values = [
        json!(null),
        json!(""),
        json!("x"),
        json!(5),
        json!(true),
        json!([]),
        json!({}),
        json!([{}]),
    ];
    let mut reader = PodReader::default();
    let mut seen = 0;
    for place in texts.iter().filter(|place| !place.is_empty()) {
        for value in &values {
            let mut pod = full();
            *pod.pointer_mut(place).unwrap() = value.clone();
            let page = reader.page(json!({"items": [pod]}).to_string().as_bytes()).unwrap();
            if let Some(expected) = by_itself(&pod) {
                assert_eq!(page.items, [expected], "{place}: {value}");
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen} pods were accepted");
}

#[test]
fn pods_of_one_workload_share_what_they_are_like() {
    let on_node = |number: u32| {
        let mut pod = full();
        pod["metadata"]["name"] = json!(format!("web-{number}"));
        pod["spec"]["nodeName"] = json!(format!("ip-{number}"));
        let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let fields = format!("{terms}/nodeSelectorTerms/0/matchFields/0/values/0");
        *pod.pointer_mut(&fields).unwrap() = json!(format!("ip-{number}"));
        pod
    };
    let mut reader = PodReader::default();
    let [first, second] = [1, 2].map(|number| {
        let page = json!({"items": [on_node(number)]}).to_string();
        reader.page(page.as_bytes()).unwrap().items.remove(0).pod
    });
    assert!(Arc::ptr_eq(&first.spec, &second.spec));
    assert_ne!(first.key, second.key);
}

#[test]
fn texts_that_are_kept_for_comparison_have_a_limit() {
    let mut reader = PodReader::default();
    for number in 0..40 {
        let mut pod = full();
        pod["metadata"]["labels"]["long"] = json!(format!("{number}{}", "x".repeat(1 << 18)));
        assert!(reader.pod(&pod.to_string()).is_some());
        assert!(reader.bytes() <= TEXT_BYTES_MAX);
    }
}

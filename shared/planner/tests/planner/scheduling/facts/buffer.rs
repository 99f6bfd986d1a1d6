//! Rows BF of the specification, without placement.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    Condition, ConditionKind, PodKey,
    buffer::{BufferStatus, BufferTarget, CapacityBuffer, ObservedBuffer, Reference},
    facts::Facts,
    limits::PODS_PER_PLAN_MAX,
};
use planner::scheduling::facts::buffer::*;

use crate::planner::support::{facts, limits, spec};

fn template(requests: &str) -> BufferTarget {
    BufferTarget::Template(Arc::new(spec(requests)))
}

fn workload(replicas: u32) -> BufferTarget {
    BufferTarget::Workload(Arc::new(spec("cpu=1 memory=1Gi")), replicas)
}

fn buffer(name: &str, replicas: Option<u32>, target: BufferTarget) -> CapacityBuffer {
    CapacityBuffer {
        namespace: "default".parse().unwrap(),
        name: name.parse().unwrap(),
        uid: format!("uid-{name}").parse().unwrap(),
        replicas,
        percentage: None,
        limits: BTreeMap::new(),
        target,
    }
}

fn world(buffers: Vec<CapacityBuffer>) -> Facts {
    let mut facts = facts(Vec::new());
    facts.policies.capacity_buffer = true;
    facts.surroundings.capacity_buffers = buffers;
    facts
}

/// `replicas`, `percentage` and limits of a buffer for `target`.
#[track_caller]
fn check(
    target: BufferTarget,
    replicas: Option<u32>,
    percentage: Option<u32>,
    given: &str,
    expected: u64,
) {
    let limits = limits(given).0;
    let buffer = CapacityBuffer { percentage, limits, ..buffer("spare", replicas, target) };
    assert_eq!(planner::scheduling::facts::buffer::replicas(&buffer), expected);
    assert_eq!(virtual_pods(&world(vec![buffer])).len() as u64, expected);
}

#[test]
fn the_larger_of_replicas_and_percentage_counts_within_the_limits() {
    check(template("cpu=1"), Some(3), None, "", 3);
    check(template("cpu=1"), Some(0), None, "", 0);
    check(workload(10), Some(2), Some(25), "", 3);
    check(workload(10), Some(5), Some(25), "", 5);
    check(workload(10), None, Some(1), "", 1);
    check(workload(10), None, Some(0), "", 0);
    check(workload(0), None, Some(50), "", 0);
    check(workload(0), Some(2), Some(50), "", 2);
    check(workload(0), None, Some(50), "cpu=7", 7);
    check(template("cpu=1 memory=1Gi"), Some(9), None, "cpu=7500m memory=4Gi", 4);
    check(template("cpu=1 memory=1Gi"), Some(2), None, "cpu=7500m memory=4Gi", 2);
}

#[test]
fn limits_alone_say_how_many_and_limits_on_something_else_cap_nothing() {
    check(template("cpu=2 memory=1Gi"), None, None, "cpu=7", 3);
    check(template("cpu=2"), None, None, "cpu=1", 0);
    check(template("cpu=2"), None, None, "example.com/gpu=4", 0);
    check(template("cpu=2"), Some(5), None, "example.com/gpu=4", 5);
    check(template("cpu=2"), None, None, "", 0);
}

#[test]
fn a_virtual_pod_is_its_template_with_the_marks_of_the_buffer() {
    let mut pod_spec = spec("cpu=1");
    pod_spec.labels.insert("app".to_owned(), "spare".to_owned());
    pod_spec.priority = 7;
    let target = BufferTarget::Template(Arc::new(pod_spec));
    let pods = virtual_pods(&world(vec![buffer("spare", Some(2), target)]));
    let names: Vec<String> = pods.iter().map(|pod| format!("{} {}", pod.key, pod.uid)).collect();
    let expected = [
        "default/capacity-buffer-spare-1 uid-spare-1",
        "default/capacity-buffer-spare-2 uid-spare-2",
    ];
    assert_eq!(names, expected);
    let pod = &pods[0];
    assert!(pod.is_provisionable() && pod.volumes.is_empty());
    assert_eq!((pod.spec.priority, pod.spec.labels["app"].as_str()), (i32::MIN, "spare"));
    let marks: Vec<&str> = pod.spec.annotations.values().map(String::as_str).collect();
    assert_eq!(marks, ["true", "spare", "default"]);
    assert!(Arc::ptr_eq(&pods[0].spec, &pods[1].spec), "one class");
}

#[test]
fn buffers_that_are_not_ready_or_behind_a_closed_gate_stand_for_nothing() {
    let missing = BufferTarget::Missing("there is no PodTemplate spare".to_owned());
    assert_eq!(virtual_pods(&world(vec![buffer("spare", Some(3), missing)])), []);
    let mut facts = world(vec![buffer("spare", Some(3), template("cpu=1"))]);
    facts.policies.capacity_buffer = false;
    assert_eq!(virtual_pods(&facts), []);
}

#[test]
fn buffers_of_one_name_in_two_namespaces_are_two() {
    let other = CapacityBuffer {
        namespace: "other".parse().unwrap(),
        uid: "uid-other".parse().unwrap(),
        ..buffer("spare", Some(1), template("cpu=1"))
    };
    let facts = world(vec![buffer("spare", Some(1), template("cpu=1")), other]);
    let keys: Vec<String> = virtual_pods(&facts).iter().map(|pod| pod.key.to_string()).collect();
    assert_eq!(keys, ["default/capacity-buffer-spare-1", "other/capacity-buffer-spare-1"]);
}

#[test]
fn an_enormous_buffer_is_cut_to_what_a_plan_considers() {
    let facts = world(vec![buffer("spare", Some(u32::MAX), template("cpu=1"))]);
    assert_eq!(virtual_pods(&facts).len(), PODS_PER_PLAN_MAX);
}

fn observed(name: &str, refers_to: Reference) -> ObservedBuffer {
    ObservedBuffer {
        key: PodKey { namespace: "default".parse().unwrap(), name: name.parse().unwrap() },
        uid: format!("uid-{name}"),
        generation: 3,
        strategy: Some("buffer.x-k8s.io/active-capacity".to_owned()),
        refers_to,
        status: BufferStatus::default(),
        status_generation: None,
    }
}

fn shown(condition: &Condition) -> String {
    let Condition { kind, status, reason, message } = condition;
    format!("{kind}={status:?} {reason}: {message}")
}

#[test]
fn a_status_says_where_the_pods_of_a_buffer_go_and_is_written_once() {
    let target = || template("cpu=1");
    let mut facts = world(vec![
        buffer("new", Some(2), target()),
        buffer("huge", Some(1), template("cpu=9000")),
        buffer("gone", Some(1), BufferTarget::Missing("there is no Deployment `web`".to_owned())),
    ]);
    let template_ref = Reference::Template("small".parse().unwrap(), Some(5));
    let listed = [
        observed("new", template_ref.clone()),
        observed("huge", template_ref),
        observed("gone", Reference::Workload),
    ];
    let plan = planner::provision(&facts);
    let statuses = buffer_statuses(&facts, &plan, &listed);
    let said: Vec<String> =
        statuses.iter().flat_map(|(_, status)| status.conditions.iter().map(shown)).collect();
    let ready = "ReadyForProvisioning=Some(true) Resolved: the pods of the buffer are known";
    let needs = "Provisioning=Some(false) RequiresNewCapacity: of";
    let fits = "can be scheduled on nodes that are there";
    assert_eq!(
        said,
        [
            ready.to_owned(),
            format!("{needs} 2 pods 0 {fits}, 2 on new nodes, and 0 cannot be scheduled"),
            ready.to_owned(),
            format!("{needs} 1 pod 0 {fits}, 0 on new nodes, and 1 cannot be scheduled"),
            "ReadyForProvisioning=Some(false) ScalableRefNotFound: there is no Deployment `web`"
                .to_owned(),
            "Provisioning=Some(false) NotReadyForProvisioning: the pods of the buffer are not known"
                .to_owned(),
        ]
    );
    let (_, first) = &statuses[0];
    assert_eq!((first.replicas, &first.strategy), (Some(2), &listed[0].strategy));
    assert_eq!(first.template, Some(("small".parse().unwrap(), 5)));
    // What is said already is not written again, unless it is about an earlier spec.
    let written = |generation: i64| -> Vec<ObservedBuffer> {
        let stored = statuses.iter().map(|(seen, status)| ObservedBuffer {
            status: status.clone(),
            status_generation: Some(generation),
            ..(*seen).clone()
        });
        stored.collect()
    };
    assert_eq!(buffer_statuses(&facts, &plan, &written(3)), []);
    assert_eq!(buffer_statuses(&facts, &plan, &written(2)).len(), 3);
    // A plan that is not about the pods of a buffer changes nothing of its room.
    let (nothing, stored) = (model::Plan::default(), written(3));
    assert_eq!(buffer_statuses(&facts, &nothing, &stored), []);
    let untold = buffer_statuses(&facts, &nothing, &listed);
    let kinds = untold[0].1.conditions.iter().map(|condition| condition.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [ConditionKind::ReadyForProvisioning]);
    facts.policies.capacity_buffer = false;
    assert_eq!(buffer_statuses(&facts, &plan, &listed), []);
}

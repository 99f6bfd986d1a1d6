//! The status of NodePools as it is written.

use api::{
    karpenter::{
        node_pool_patch::{status_patch, wake_patch},
        status_patch::StatusPatch,
    },
    lists::observed_node_pool_list,
};
use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    ConditionReason, Millicores, NodeClaimName, PodKey, Resources,
    node_pool::{
        ClassReadiness, NodePoolStatus as Found, ObservedNodePool, RegistrationFailure,
        RegistrationOutcome, Registrations, TypeMatch,
    },
    wake::{ProbeAnswer, WakeFinding},
};
use serde_json::{Value, json};

fn at(hour: u32) -> Timestamp {
    format!("2026-08-01T{hour}:00:00Z").parse().unwrap()
}

fn stored(generation: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {
            "name": "general", "uid": "u1", "generation": generation, "resourceVersion": "7",
            "creationTimestamp": "2026-08-01T12:00:00Z",
        },
        "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": {
            "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}},
        "status": status,
    })
}

fn seen(object: &Value) -> ObservedNodePool {
    let list = json!({ "kind": "List", "metadata": {}, "items": [object] }).to_string();
    let mut page = observed_node_pool_list(list.as_bytes()).unwrap();
    assert_eq!(page.malformed, []);
    page.items.remove(0)
}

/// How launches ended: the reason of each that failed.
fn registrations(reasons: &[&str]) -> Registrations {
    let outcome = |(second, reason): (i64, &&str)| RegistrationOutcome {
        claim: NodeClaimName::new(&format!("general-{second}")).unwrap(),
        at: Timestamp::from_second(second).unwrap(),
        failure: (!reason.is_empty()).then(|| RegistrationFailure {
            reason: ConditionReason::Other((*reason).to_owned()),
            message: format!("why {second}"),
        }),
    };
    let outcomes: Vec<_> = (1..).zip(reasons).map(outcome).collect();
    Registrations::default().after(&outcomes).unwrap_or_default()
}

fn found(hour: u32) -> Found {
    Found {
        node_class: ClassReadiness::Ready,
        node_class_generation: Some(1),
        nodes: 2,
        resources: Resources { cpu: Millicores(4_000), ..Resources::default() },
        registrations: registrations(&[""]),
        quotas: BTreeSet::new(),
        types: TypeMatch::Some,
        wake: WakeFinding::Absent,
        found_at: at(hour),
    }
}

fn merged(object: &Value, node_pool_status: &Found) -> Value {
    match status_patch(object.to_string().as_bytes(), &seen(object), node_pool_status).unwrap() {
        StatusPatch::Merge(patch) => patch,
        other => panic!("{other:?}"),
    }
}

/// `Type=Status reason since`, one each.
fn conditions(status: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let conditions = status["conditions"].as_array().unwrap();
    let word = |value: &Value| {
        let (kind, status) = (text(value, "type"), text(value, "status"));
        format!("{kind}={status} {} {}", text(value, "reason"), text(value, "lastTransitionTime"))
    };
    conditions.iter().map(word).collect()
}

#[test]
fn a_pool_says_what_it_has_and_whether_it_can_be_used() {
    let patch = merged(&stored(3, &json!({})), &found(13));
    assert_eq!(patch["metadata"], json!({ "uid": "u1", "resourceVersion": "7" }));
    let status = &patch["status"];
    assert_eq!((&status["nodes"], &status["nodeClassObservedGeneration"]), (&json!(2), &json!(1)));
    assert_eq!(
        status["resources"],
        json!({"cpu": "4", "memory": "0", "pods": "0", "ephemeral-storage": "0", "nodes": "2"})
    );
    assert_eq!(
        conditions(status),
        [
            "ValidationSucceeded=True ValidationSucceeded 2026-08-01T13:00:00Z",
            "NodeClassReady=True NodeClassReady 2026-08-01T13:00:00Z",
            "NodeRegistrationHealthy=True NodeRegistrationHealthy 2026-08-01T13:00:00Z",
            "Ready=True Ready 2026-08-01T13:00:00Z",
        ]
    );
    assert_eq!(status["conditions"][0]["observedGeneration"], 3);
}

#[test]
fn what_is_said_already_is_not_sent_again() {
    let written = stored(1, &merged(&stored(1, &json!({})), &found(13))["status"]);
    let patch = status_patch(written.to_string().as_bytes(), &seen(&written), &found(14)).unwrap();
    assert_eq!(patch, StatusPatch::Nothing);
    // Only what changed is sent, and no time moves.
    let patch = merged(&written, &Found { nodes: 3, ..found(14) });
    let status = patch["status"].as_object().unwrap();
    assert_eq!(status.keys().collect::<Vec<_>>(), ["nodes", "resources"]);
}

#[test]
fn a_quota_is_reported_while_it_is_used_up_and_leaves_the_pool_ready() {
    let without = stored(1, &merged(&stored(1, &json!({})), &found(13))["status"]);
    let quotas = BTreeSet::from(["VCPULimitExceeded".to_owned()]);
    let patch = merged(&without, &Found { quotas, ..found(14) });
    let with_quota = conditions(&patch["status"]);
    assert_eq!(
        with_quota[3..],
        [
            "QuotaExceeded=True VCPULimitExceeded 2026-08-01T14:00:00Z",
            "Ready=True Ready 2026-08-01T13:00:00Z",
        ]
    );
    let with = stored(1, &patch["status"]);
    let patch = merged(&with, &found(15));
    assert_eq!(conditions(&patch["status"]), conditions(&without["status"]));
}

#[test]
fn a_class_that_is_not_ready_makes_its_pools_so() {
    let written = stored(1, &merged(&stored(1, &json!({})), &found(13))["status"]);
    let reason = ConditionReason::UnhealthyDependents;
    let message = "SubnetsReady=False".to_owned();
    let node_class = ClassReadiness::NotReady { reason, message };
    let patch = merged(&written, &Found { node_class, ..found(14) });
    assert_eq!(
        conditions(&patch["status"]),
        [
            "ValidationSucceeded=True ValidationSucceeded 2026-08-01T13:00:00Z",
            "NodeRegistrationHealthy=True NodeRegistrationHealthy 2026-08-01T13:00:00Z",
            "NodeClassReady=False UnhealthyDependents 2026-08-01T14:00:00Z",
            "Ready=False UnhealthyDependents 2026-08-01T14:00:00Z",
        ]
    );
}

#[test]
fn a_pool_that_is_wrong_says_so() {
    let mut wrong = stored(1, &json!({}));
    let requirement = json!({"key": "karpenter.sh/capacity-type", "operator": "In",
        "values": ["sport"]});
    wrong["spec"]["template"]["spec"]["requirements"] = json!([requirement]);
    let words = conditions(&merged(&wrong, &found(13))["status"]);
    let validation =
        "ValidationSucceeded=False NodePoolValidationFailed 2026-08-01T13:00:00Z".to_owned();
    assert!(words.contains(&validation), "{words:?}");
}

#[test]
fn a_pool_whose_budgets_cannot_be_read_is_ready_and_says_that_its_nodes_stay() {
    let mut closed = stored(1, &json!({}));
    closed["spec"]["disruption"] = json!({"budgets": [{"nodes": "0", "duration": "8h",
        "schedule": "CRON_TZ=Berlin 0 9 * * mon-fri"}]});
    assert!(seen(&closed).pool.is_usable());
    let status = &merged(&closed, &found(13))["status"];
    let words = conditions(status);
    assert!(words.contains(&"Ready=True Ready 2026-08-01T13:00:00Z".to_owned()), "{words:?}");
    let validation = &status["conditions"][0];
    assert_eq!(
        (&validation["type"], &validation["status"]),
        (&json!("ValidationSucceeded"), &json!("True"))
    );
    assert_eq!(
        validation["message"],
        "its nodes are not disrupted: spec.disruption.budgets[0].schedule: `CRON_TZ=Berlin 0 9 * * \
         mon-fri` is not a schedule: `Berlin` is not a time zone such as `Europe/Berlin`"
    );
}

#[test]
fn how_launches_ended_is_about_one_spec() {
    let none = |hour| Found { registrations: Registrations::default(), ..found(hour) };
    let written = merged(&stored(1, &json!({})), &found(13))["status"].clone();
    let healthy = "NodeRegistrationHealthy=True NodeRegistrationHealthy 2026-08-01T13:00:00Z";
    let same = status_patch(
        stored(1, &written).to_string().as_bytes(),
        &seen(&stored(1, &written)),
        &none(14),
    );
    assert_eq!(same.unwrap(), StatusPatch::Nothing);
    let open = "NodeRegistrationHealthy=Unknown AwaitingReconciliation 2026-08-01T14:00:00Z";
    let another = conditions(&merged(&stored(2, &written), &none(14))["status"]);
    assert!(another.contains(&open.to_owned()), "{another:?}");
    assert!(!another.contains(&healthy.to_owned()));
    let other_class = Found { node_class_generation: Some(2), ..none(14) };
    let another = conditions(&merged(&stored(1, &written), &other_class)["status"]);
    assert!(another.contains(&open.to_owned()), "{another:?}");
    let failed =
        |hour, reasons: &[&str]| Found { registrations: registrations(reasons), ..found(hour) };
    let single = status_patch(
        stored(1, &written).to_string().as_bytes(),
        &seen(&stored(1, &written)),
        &failed(14, &["RegistrationFailed"]),
    );
    assert_eq!(single.unwrap(), StatusPatch::Nothing, "one failure changes nothing");
    let two = failed(14, &["RegistrationFailed", "LaunchFailed"]);
    let patch = merged(&stored(1, &written), &two);
    let mut written = written;
    written["conditions"] = patch["status"]["conditions"].clone();
    let unhealthy = "NodeRegistrationHealthy=False LaunchFailed 2026-08-01T14:00:00Z";
    assert!(conditions(&written).contains(&unhealthy.to_owned()), "{written}");
    // What was too much first stands, and a single success is not enough.
    let more = failed(15, &["LaunchFailed", "LaunchFailed", "RegistrationFailed", ""]);
    let object = stored(1, &written);
    let more = status_patch(object.to_string().as_bytes(), &seen(&object), &more).unwrap();
    assert!(!format!("{more:?}").contains("RegistrationFailed"), "{more:?}");
}

#[test]
fn another_spec_is_not_updated() {
    let object = stored(1, &json!({}));
    let other = ObservedNodePool { generation: 2, ..seen(&object) };
    let patch = status_patch(object.to_string().as_bytes(), &other, &found(13)).unwrap();
    assert_eq!(patch, StatusPatch::Moved);
}

/// `object` with the conditions of `patch`.
fn with_conditions(object: &Value, patch: &Value) -> Value {
    let mut object = object.clone();
    object["status"]["conditions"] = patch["status"]["conditions"].clone();
    object
}

fn probed(hour: u32, answer: ProbeAnswer) -> Found {
    Found { wake: WakeFinding::Probed(answer), ..found(hour) }
}

#[test]
fn whether_wake_is_called_is_a_condition_that_does_not_make_a_pool_ready_or_unready() {
    let without = stored(1, &merged(&stored(1, &json!({})), &found(13))["status"]);
    let silent = merged(&without, &probed(14, ProbeAnswer::Silent));
    assert_eq!(
        conditions(&silent["status"])[3..],
        [
            "WakeHealthy=False NoAnswer 2026-08-01T14:00:00Z",
            "Ready=True Ready 2026-08-01T13:00:00Z",
        ]
    );
    let silent = with_conditions(&without, &silent);
    let again = probed(15, ProbeAnswer::Silent);
    let body = silent.to_string();
    let patch = status_patch(body.as_bytes(), &seen(&silent), &again).unwrap();
    assert_eq!(patch, StatusPatch::Nothing);
    let answered = merged(&silent, &probed(16, ProbeAnswer::Answered));
    let answered = with_conditions(&silent, &answered);
    assert!(seen(&answered).wake.unwrap().is_healthy);
    // A stack without wake.
    let removed = merged(&answered, &found(17));
    assert_eq!(conditions(&removed["status"]), conditions(&without["status"]));
}

#[test]
fn a_pod_of_which_no_call_came_changes_one_condition_for_an_hour() {
    let probe = probed(13, ProbeAnswer::Answered);
    let healthy = stored(1, &merged(&stored(1, &json!({})), &probe)["status"]);
    let not_pushed = WakeFinding::PodNotPushed(PodKey {
        namespace: "batch".parse().unwrap(),
        name: "web-0".parse().unwrap(),
    });
    let patch = |object: &Value, finding: &WakeFinding| {
        wake_patch(object.to_string().as_bytes(), &seen(object), finding, at(14)).unwrap()
    };
    let StatusPatch::Merge(merge) = patch(&healthy, &not_pushed) else { panic!("nothing") };
    let status = merge["status"].as_object().unwrap();
    assert_eq!(status.keys().collect::<Vec<_>>(), ["conditions"]);
    let changed = "WakeHealthy=False PodsNotPushed 2026-08-01T14:00:00Z".to_owned();
    assert!(conditions(&merge["status"]).contains(&changed), "{merge}");
    assert!(merge.to_string().contains("pod batch/web-0"), "{merge}");
    let unhealthy = with_conditions(&healthy, &merge);
    let known = seen(&unhealthy).wake.unwrap();
    assert_eq!((known.is_healthy, known.pods_not_pushed, known.since), (false, true, at(14)));
    assert_eq!(patch(&unhealthy, &not_pushed), StatusPatch::Nothing);
    // An answer changes nothing for an hour, then it does.
    let after = |hour| {
        let body = unhealthy.to_string();
        let found = probed(hour, ProbeAnswer::Answered);
        status_patch(body.as_bytes(), &seen(&unhealthy), &found).unwrap()
    };
    assert_eq!(after(14), StatusPatch::Nothing);
    assert!(matches!(after(15), StatusPatch::Merge(_)));
    let other = ObservedNodePool { generation: 2, ..seen(&healthy) };
    let moved = wake_patch(healthy.to_string().as_bytes(), &other, &not_pushed, at(14)).unwrap();
    assert_eq!(moved, StatusPatch::Moved);
}

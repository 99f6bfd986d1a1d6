//! Which requests wake which functions.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, PodKey,
    wake::{
        AdmissionOperation, AdmissionRequest, HealthChange, ProbeAnswer, WAKE_RULES, WakeCondition,
        WakeFinding, WakeHealth,
    },
};

const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

fn request(group: &str, kind: &str, operation: &str) -> AdmissionRequest {
    AdmissionRequest {
        uid: "1".to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        operation: AdmissionOperation::parse(operation),
        is_dry_run: false,
    }
}

fn woken(request: &AdmissionRequest) -> Vec<&'static str> {
    let functions = request.rule().map(|rule| rule.functions).unwrap_or_default();
    functions.iter().map(|function| function.as_str()).collect()
}

#[test]
fn requests_wake_the_functions_that_act_on_them() {
    for (group, kind, operation, functions) in [
        ("", "Event", "CREATE", &["provision"] as &[&str]),
        ("", "Event", "UPDATE", &["provision"]),
        ("", "Event", "DELETE", &[]),
        ("events.k8s.io", "Event", "CREATE", &["provision"]),
        ("events.k8s.io", "Event", "UPDATE", &["provision"]),
        ("", "Node", "DELETE", &["disrupt"]),
        ("", "Node", "UPDATE", &[]),
        ("", "Pod", "CREATE", &[]),
        ("karpenter.sh", "NodeClaim", "CREATE", &[]),
        ("karpenter.sh", "NodeClaim", "UPDATE", &[]),
        ("karpenter.sh", "NodeClaim", "DELETE", &["disrupt"]),
        ("karpenter.sh", "NodePool", "CREATE", &["provision", "disrupt"]),
        ("karpenter.sh", "NodePool", "UPDATE", &["provision", "disrupt"]),
        ("karpenter.sh", "NodePool", "DELETE", &[]),
        ("karpenter.sh", "NodeOverlay", "UPDATE", &["provision", "disrupt"]),
        ("karpenter.k8s.aws", "EC2NodeClass", "UPDATE", &[]),
        ("autoscaling.x-k8s.io", "CapacityBuffer", "CREATE", &["provision"]),
        ("example.com", "NodePool", "UPDATE", &[]),
        ("karpenter.sh", "NodePool", "CONNECT", &[]),
        ("karpenter.sh", "NodePool", "update", &[]),
    ] {
        let request = request(group, kind, operation);
        assert_eq!(woken(&request), functions, "{operation} {group} {kind}");
        let dry = AdmissionRequest { is_dry_run: true, ..request };
        assert_eq!(dry.rule(), None, "a dry run stores nothing: {operation} {group} {kind}");
    }
}

#[test]
fn each_rule_is_reached_by_its_own_requests_only() {
    let mut names = BTreeSet::new();
    for rule in &WAKE_RULES {
        assert!(names.insert(rule.name), "{} is twice", rule.name);
        assert!(!rule.functions.is_empty() && !rule.operations.is_empty(), "{}", rule.name);
        let has_pulse = |function| Function::WITH_PULSE.contains(function);
        assert!(rule.functions.iter().all(has_pulse), "nothing wakes a function of {}", rule.name);
        let functions: BTreeSet<Function> = rule.functions.iter().copied().collect();
        assert_eq!(functions.len(), rule.functions.len(), "{}", rule.name);
        for operation in OPERATIONS {
            let is_its = AdmissionOperation::parse(operation)
                .is_some_and(|operation| rule.operations.contains(&operation));
            let reached = request(rule.group, rule.kind, operation).rule();
            assert_eq!(reached.is_some_and(|reached| reached.name == rule.name), is_its);
        }
    }
}

#[test]
fn an_event_alone_does_not_make_provision_look_at_the_same_pods_again() {
    for rule in &WAKE_RULES {
        let is_event = matches!(rule.condition, WakeCondition::UnschedulablePod { .. });
        assert_eq!(rule.looks_anew, !is_event, "{}", rule.name);
    }
}

/// `Status Reason`, or what becomes of the condition otherwise, some minutes after it became what is stored.
fn change(finding: &WakeFinding, stored: Option<WakeHealth>, minutes: i64) -> String {
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
    let is_healthy = finding.leaves_healthy(stored.as_ref(), now);
    match finding.change(stored.as_ref(), now) {
        HealthChange::Stays => {
            assert_eq!(is_healthy, stored.is_some_and(|stored| stored.is_healthy));
            "stays".to_owned()
        }
        HealthChange::Removed => {
            assert!(!is_healthy);
            "removed".to_owned()
        }
        HealthChange::Is(condition) => {
            assert_eq!(is_healthy, condition.status == Some(true));
            assert_eq!(condition.kind.as_str(), "WakeHealthy");
            assert_eq!(condition.message.is_empty(), is_healthy, "{condition:?}");
            format!("{:?} {}", condition.status, condition.reason)
        }
    }
}

fn stored(is_healthy: bool, pods_not_pushed: bool) -> Option<WakeHealth> {
    Some(WakeHealth { is_healthy, pods_not_pushed, since: Timestamp::UNIX_EPOCH })
}

#[test]
fn a_probe_says_whether_wake_is_called() {
    let (answered, silent) =
        (WakeFinding::Probed(ProbeAnswer::Answered), WakeFinding::Probed(ProbeAnswer::Silent));
    for known in [None, stored(true, false), stored(false, false)] {
        assert_eq!(change(&answered, known, 1), "Some(true) Answered");
        assert_eq!(change(&silent, known, 1), "Some(false) NoAnswer");
        assert_eq!(change(&WakeFinding::Unknown, known, 1), "stays");
        assert_eq!(change(&WakeFinding::Absent, known, 1), "removed");
        let refused = WakeFinding::Refused("forbidden".to_owned());
        assert_eq!(change(&refused, known, 1), "None ProbeRefused");
    }
}

#[test]
fn a_pod_of_which_no_call_came_takes_the_condition_back_for_an_hour() {
    let pod = not_pushed();
    assert_eq!(change(&pod, stored(true, false), 1), "Some(false) PodsNotPushed");
    // Only what is true is taken back: otherwise pods are polled for already.
    for known in [None, stored(false, false), stored(false, true)] {
        assert_eq!(change(&pod, known, 1), "stays");
    }
    let answered = WakeFinding::Probed(ProbeAnswer::Answered);
    assert_eq!(change(&answered, stored(false, true), 59), "stays");
    assert_eq!(change(&answered, stored(false, true), 60), "Some(true) Answered");
    // That wake is not called at all says more.
    let silent = WakeFinding::Probed(ProbeAnswer::Silent);
    assert_eq!(change(&silent, stored(false, true), 1), "Some(false) NoAnswer");
}

fn not_pushed() -> WakeFinding {
    WakeFinding::PodNotPushed(PodKey {
        namespace: "batch".parse().unwrap(),
        name: "web-0".parse().unwrap(),
    })
}

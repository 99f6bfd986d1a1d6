//! Which requests wake which functions.

use std::collections::BTreeSet;

use model::{
    Function,
    wake::{AdmissionOperation, AdmissionRequest, WAKE_RULES, WakeCondition},
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

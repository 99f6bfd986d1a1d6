//! Which pods of Karpenter run without its lease.

use api::objects::without_lease;
use serde_json::{Value, json};

fn pod(container: &Value) -> Value {
    json!({
        "metadata": {"name": "karpenter-6d9", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "sidecar"}, container]},
        "status": {"phase": "Running"},
    })
}

#[test]
fn a_karpenter_says_by_flag_or_variable_that_it_takes_no_lease() {
    let variable = |name: &str, value: &str| json!({"env": [{"name": name, "value": value}]});
    for (container, is_alone) in [
        (json!({}), false),
        (variable("DISABLE_LEADER_ELECTION", "true"), true),
        (variable("DISABLE_LEADER_ELECTION", "1"), true),
        (variable("DISABLE_LEADER_ELECTION", "false"), false),
        (json!({"env": [{"name": "DISABLE_LEADER_ELECTION", "valueFrom": {}}]}), false),
        (json!({"args": ["--disable-leader-election"]}), true),
        (json!({"command": ["/karpenter", "-disable-leader-election=T"]}), true),
        (json!({"args": ["--disable-leader-election=false"]}), false),
        (json!({"args": ["--disable-leader-election-of-others"]}), false),
        (variable("LEADER_ELECTION_NAME", "another"), true),
        (variable("LEADER_ELECTION_NAME", "karpenter-leader-election"), false),
        (variable("LEADER_ELECTION_NAME", ""), false),
        (json!({"args": ["--leader-election-name=another"]}), true),
        (json!({"args": ["--leader-election-name", "another"]}), true),
        (json!({"args": ["--leader-election-name", "karpenter-leader-election"]}), false),
        (json!({"args": ["--disable-leader-election", "--disable-leader-election=false"]}), false),
    ] {
        let alone = without_lease(&pod(&container)).map(|pod| (pod.namespace, pod.name));
        let expected = is_alone.then(|| ("kube-system".to_owned(), "karpenter-6d9".to_owned()));
        assert_eq!(alone, expected, "{container}");
    }
}

#[test]
fn a_karpenter_that_does_not_run_is_in_charge_of_nothing() {
    let running = pod(&json!({"args": ["--disable-leader-election"]}));
    let mut ending = running.clone();
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-28T00:00:00Z");
    let mut waiting = running.clone();
    waiting["status"]["phase"] = json!("Pending");
    for (pod, is_alone) in [(running, true), (ending, false), (waiting, false)] {
        assert_eq!(without_lease(&pod).is_some(), is_alone, "{pod}");
    }
    assert_eq!(without_lease(&json!({})), None);
}

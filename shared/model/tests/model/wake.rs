//! Which requests wake which functions.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClusterName, Function, PodKey,
    wake::{
        AdmissionOperation, AdmissionRequest, HealthChange, InvalidWakeKey, ProbeAnswer,
        WAKE_RULES, WakeCondition, WakeFinding, WakeHealth, WakeKey, WakeWebhooks, with_path,
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
        ("karpenter.sh", "NodeClaim", "CREATE", &["sweep"]),
        ("karpenter.sh", "NodeClaim", "UPDATE", &[]),
        ("karpenter.sh", "NodeClaim", "DELETE", &["disrupt"]),
        ("karpenter.sh", "NodePool", "CREATE", &["provision", "disrupt", "resolve"]),
        ("karpenter.sh", "NodePool", "UPDATE", &["provision", "disrupt", "resolve"]),
        ("karpenter.sh", "NodePool", "DELETE", &[]),
        ("karpenter.sh", "NodeOverlay", "UPDATE", &["provision", "disrupt"]),
        ("karpenter.k8s.aws", "EC2NodeClass", "UPDATE", &["resolve"]),
        ("karpenter.k8s.aws", "EC2NodeClass", "DELETE", &[]),
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

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn key() -> WakeKey {
    WakeKey::new(KEY).unwrap()
}

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

#[test]
fn a_path_is_the_hmac_of_cluster_and_day() {
    // printf 'demo 20787' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
    assert_eq!(
        key().path(&cluster("demo"), at("2026-11-30T12:00:00Z")),
        "b3eb4439884957b563e4f8eaade9ef5eeb223e5238ad67a9c339593f88d00ded"
    );
    let now = at("2026-11-30T12:00:00Z");
    let path = key().path(&cluster("demo"), now);
    assert_ne!(key().path(&cluster("other"), now), path);
    assert_ne!(WakeKey::new(&KEY.replace('0', "1")).unwrap().path(&cluster("demo"), now), path);
    assert_eq!(format!("{:?}", key()), "WakeKey", "nothing prints a key");
}

#[test]
fn a_path_changes_at_midnight_utc_and_is_taken_a_day_before_and_after() {
    let (key, cluster) = (key(), cluster("demo"));
    let midnight = at("2026-12-01T00:00:00Z");
    let second = SignedDuration::from_secs(1);
    let today = key.path(&cluster, midnight - second);
    assert_eq!(key.path(&cluster, at("2026-11-30T00:00:00Z")), today);
    assert_ne!(key.path(&cluster, midnight), today);
    // A clock that is ahead or behind, or a path that `sweep` could not change for a day.
    for (time, is_taken) in [
        ("2026-11-28T23:59:59Z", false),
        ("2026-11-29T00:00:00Z", true),
        ("2026-11-30T23:59:59Z", true),
        ("2026-12-01T00:00:00Z", true),
        ("2026-12-01T23:59:59Z", true),
        ("2026-12-02T00:00:00Z", false),
    ] {
        assert_eq!(key.paths(&cluster, at(time)).contains(&today), is_taken, "{time}");
    }
    for time in [Timestamp::MIN, at("1969-12-31T23:59:59Z"), Timestamp::MAX] {
        assert!(key.paths(&cluster, time).contains(&key.path(&cluster, time)), "{time}");
    }
}

#[test]
fn a_key_has_32_bytes_or_more() {
    assert_eq!(WakeKey::new(KEY.trim_start_matches('0')), Err(InvalidWakeKey));
    assert_eq!(WakeKey::new(""), Err(InvalidWakeKey));
    assert!(WakeKey::new(&KEY.repeat(5)).is_ok());
}

#[test]
fn a_url_gets_the_path_in_the_place_of_the_one_that_it_has() {
    let (path, former) = ("a".repeat(64), "0".repeat(64));
    for (url, expected) in [
        ("https://host".to_owned(), "https://host/"),
        ("https://host/".to_owned(), "https://host/"),
        (format!("https://host/{former}"), "https://host/"),
        ("https://host/stage".to_owned(), "https://host/stage/"),
        (format!("https://host/stage/{former}"), "https://host/stage/"),
    ] {
        assert_eq!(with_path(&url, &path), format!("{expected}{path}"), "{url}");
    }
    let webhooks = |urls: &[&str]| WakeWebhooks {
        uid: "u1".to_owned(),
        version: "7".to_owned(),
        urls: urls
            .iter()
            .enumerate()
            .map(|(at, url)| (at.to_string(), (*url).to_owned()))
            .collect(),
    };
    let (old, new) = (format!("https://host/{former}"), format!("https://host/{path}"));
    let mixed = webhooks(&[&new, &old]);
    let expected = WakeWebhooks { urls: vec![("1".to_owned(), new.clone())], ..mixed.clone() };
    assert_eq!(mixed.with_path(&path), Some(expected));
    assert_eq!(webhooks(&[&new]).with_path(&path), None);
    assert_eq!(webhooks(&[]).with_path(&path), None);
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

fn stored(is_healthy: bool, pods_not_pushed: bool) -> WakeHealth {
    WakeHealth { is_healthy, pods_not_pushed, since: Timestamp::UNIX_EPOCH }
}

#[test]
fn a_probe_says_whether_wake_is_called() {
    let (answered, silent) =
        (WakeFinding::Probed(ProbeAnswer::Answered), WakeFinding::Probed(ProbeAnswer::Silent));
    for before in [None, Some(stored(true, false)), Some(stored(false, false))] {
        assert_eq!(change(&answered, before, 1), "Some(true) Answered");
        assert_eq!(change(&silent, before, 1), "Some(false) NoAnswer");
        assert_eq!(change(&WakeFinding::Unknown, before, 1), "stays");
        assert_eq!(change(&WakeFinding::Absent, before, 1), "removed");
        let refused = WakeFinding::Refused("forbidden".to_owned());
        assert_eq!(change(&refused, before, 1), "None ProbeRefused");
    }
}

#[test]
fn a_pod_of_which_no_call_came_takes_the_condition_back_for_an_hour() {
    let pod = not_pushed();
    assert_eq!(change(&pod, Some(stored(true, false)), 1), "Some(false) PodsNotPushed");
    // Only what is true is taken back: otherwise pods are polled for already.
    for before in [None, Some(stored(false, false)), Some(stored(false, true))] {
        assert_eq!(change(&pod, before, 1), "stays");
    }
    let answered = WakeFinding::Probed(ProbeAnswer::Answered);
    assert_eq!(change(&answered, Some(stored(false, true)), 59), "stays");
    assert_eq!(change(&answered, Some(stored(false, true)), 60), "Some(true) Answered");
    // That wake is not called at all says more.
    let silent = WakeFinding::Probed(ProbeAnswer::Silent);
    assert_eq!(change(&silent, Some(stored(false, true)), 1), "Some(false) NoAnswer");
}

fn not_pushed() -> WakeFinding {
    WakeFinding::PodNotPushed(PodKey {
        namespace: "batch".parse().unwrap(),
        name: "web-0".parse().unwrap(),
    })
}

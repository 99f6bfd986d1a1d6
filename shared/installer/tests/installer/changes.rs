//! What applying an object changes is shown field by field.

use serde_json::{Value, json};

use installer::install::changes::Change;

#[test]
fn what_is_not_there_is_new_and_what_the_server_writes_is_no_change() {
    let role = json!({"kind": "ClusterRole", "metadata": {"name": "a", "labels": {"x": "y"}}, "rules": []});
    assert_eq!(Change::of(None, &role), Change::New);
    let mut there = role.clone();
    there["metadata"]["uid"] = json!("1");
    there["metadata"]["resourceVersion"] = json!("7");
    there["status"] = json!({"conditions": []});
    assert_eq!(Change::of(Some(&there), &role), Change::Unchanged);
    let lines = Change::New.lines(&role);
    assert_eq!(lines, [(2, "+ ClusterRole a: new".to_owned())]);
}

#[test]
fn changed_fields_are_named_with_both_values() {
    let before = json!({"kind": "Role", "metadata": {"name": "a", "namespace": "n"}, "old": 1,
        "rules": [{"verbs": ["get"]}, {"verbs": ["list"]}]});
    let after = json!({"kind": "Role", "metadata": {"name": "a", "namespace": "n"},
        "rules": [{"verbs": ["get"]}, {"verbs": ["list", "patch"]}], "spec": {"a": "x".repeat(100)}});
    let change = Change::of(Some(&before), &after);
    let lines: Vec<String> = change.lines(&after).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines[0], "~ Role n/a: changes");
    assert_eq!(lines[1], "old: - 1");
    assert_eq!(lines[2], r#"rules[1].verbs: ["list"] → ["list","patch"]"#);
    assert!(lines[3].starts_with("spec: + {\"a\":\"xxx") && lines[3].ends_with('…'));
    assert!(lines[3].chars().count() < 75);
}

#[test]
fn a_definition_that_changes_a_lot_is_cut() {
    let before: Value = (0..30).map(|at| (format!("f{at:02}"), json!(1))).collect();
    let after: Value = (0..30).map(|at| (format!("f{at:02}"), json!(2))).collect();
    let lines = Change::of(Some(&before), &after).lines(&after);
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[11].1, "and 20 other fields");
}

#[test]
fn the_secret_in_the_url_of_a_webhook_is_not_shown() {
    let of_url = |url: &str| json!({"kind": "W", "metadata": {"name": "a"}, "webhooks": [{"clientConfig": {"url": url}}]});
    let (before, after) =
        (of_url("https://h.on.aws/first-secret"), of_url("https://h.on.aws/second"));
    let lines = Change::of(Some(&before), &after).lines(&after);
    let url = r#""https://h.on.aws/…""#;
    assert_eq!(lines[1].1, format!("webhooks[0].clientConfig.url: {url} → {url}"));
    let mut longer = after.clone();
    longer["webhooks"].as_array_mut().unwrap().push(json!({}));
    let lines = Change::of(Some(&before), &longer).lines(&longer);
    assert!(lines[1].1.starts_with("webhooks: [") && !lines[1].1.contains("secret"), "{lines:?}");
}

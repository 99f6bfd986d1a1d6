//! Functions of a cluster are told from those of others, and what they are deployed with is known.

use serde_json::{Value, json};

use installer::doctor::{gather::of_cluster, judged, steps::StepVerdict};

use crate::installation::whole;

fn function(name: &str, cluster: &str) -> Value {
    json!({"FunctionName": name, "Environment": {"Variables": {"JOURNEYMAN_CLUSTER_NAME": cluster}}})
}

#[test]
fn functions_are_of_the_cluster_that_they_name() {
    let none = json!({"FunctionName": "c"});
    let functions = vec![function("a", "demo"), function("b", "other"), none];
    assert_eq!(of_cluster(functions, "demo"), Ok(vec![function("a", "demo")]));
}

#[test]
fn every_variable_of_the_template_is_known() {
    let template = include_str!("../../../../template.yaml");
    let lines = template.lines().filter_map(|line| line.trim().split_once(": "));
    let mut seen = whole();
    let functions = seen.functions.as_mut().unwrap();
    let variables = functions[0]["Environment"]["Variables"].as_object_mut().unwrap();
    for (name, _) in lines.filter(|(name, _)| name.starts_with("JOURNEYMAN_")) {
        variables.entry(name).or_insert_with(|| json!("x"));
    }
    assert!(variables.len() > 20, "{variables:?}");
    let (_, release) = judged(&seen).into_iter().find(|(step, _)| step.id == "release").unwrap();
    assert!(matches!(release, StepVerdict::Done(_)), "{release:?}");
}

#[test]
fn variables_that_cannot_be_read_are_not_taken_for_those_of_others() {
    let secret = |name: &str| json!({"FunctionName": name, "Environment": {"Variables": {}, "Error": {"Message": "denied"}}});
    assert_eq!(of_cluster(vec![secret("another-clusters")], "demo"), Ok(Vec::new()));
    let why = of_cluster(vec![secret("jm-LaunchFunction-A1")], "demo").unwrap_err();
    assert!(why.contains("jm-LaunchFunction-A1 cannot be read: denied"), "{why}");
}

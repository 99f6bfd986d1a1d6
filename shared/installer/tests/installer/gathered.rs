//! Functions of a cluster are told from those of others.

use serde_json::{Value, json};

use installer::doctor::gather::of_cluster;

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
fn variables_that_cannot_be_read_are_not_taken_for_those_of_others() {
    let secret = |name: &str| json!({"FunctionName": name, "Environment": {"Variables": {}, "Error": {"Message": "denied"}}});
    assert_eq!(of_cluster(vec![secret("another-clusters")], "demo"), Ok(Vec::new()));
    let why = of_cluster(vec![secret("jm-LaunchFunction-A1")], "demo").unwrap_err();
    assert!(why.contains("jm-LaunchFunction-A1 cannot be read: denied"), "{why}");
}

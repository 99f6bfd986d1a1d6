//! What a command finds by itself: the cluster by the kubeconfig, the table by the functions.

use installer::{
    found::the_table,
    installation::InstallationArgs,
    named::{ContextEntry, NamedCluster},
};
use serde_json::{Value, json};

const SERVER: &str = "https://AAAA.gr7.us-west-2.eks.amazonaws.com";
const ARN: &str = "arn:aws:eks:eu-west-1:111111111111:cluster/shop";

fn entry(name: &str, cluster: &str, arguments: &str) -> ContextEntry {
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    let (name, cluster, server) = (name.to_owned(), cluster.to_owned(), SERVER.to_owned());
    ContextEntry { name, cluster, server, arguments }
}

fn named(name: &str, region: &str) -> NamedCluster {
    NamedCluster { name: name.to_owned(), region: Some(region.to_owned()) }
}

#[test]
fn the_cluster_is_named_by_an_arn_or_by_the_program_that_gets_the_token() {
    let token = "eks get-token --cluster-name demo --region us-east-1 --output json";
    assert_eq!(entry("work", ARN, token).eks_cluster(), Some(named("shop", "eu-west-1")));
    assert_eq!(entry(ARN, "one", token).eks_cluster(), Some(named("shop", "eu-west-1")));
    assert_eq!(entry("work", "one", token).eks_cluster(), Some(named("demo", "us-east-1")));
    for token in ["token -i demo", "token --cluster-id=demo", "get-token --cluster-name=demo"] {
        assert_eq!(
            entry("work", "one", token).eks_cluster(),
            Some(named("demo", "us-west-2")),
            "{token}"
        );
    }
    for token in ["", "--region us-east-1", "token -i"] {
        assert_eq!(entry("kind-demo", "kind-demo", token).eks_cluster(), None, "{token}");
    }
    let far = ContextEntry { server: "https://10.0.0.1".to_owned(), ..entry("w", "o", "-i demo") };
    assert_eq!(far.eks_cluster().map(|named| named.region), Some(None));
}

fn function(name: &str, cluster: &str, table: &str) -> Value {
    json!({
        "FunctionName": name,
        "Environment": {"Variables": {"JOURNEYMAN_CLUSTER_NAME": cluster, "JOURNEYMAN_TABLE_NAME": table}},
    })
}

#[test]
fn the_table_is_that_of_the_functions_of_the_cluster() {
    let mut functions = vec![
        function("jm-ProvisionFunction-A1", "demo", "jm-Table-B2"),
        function("jm-SweepFunction-A2", "demo", "jm-Table-B2"),
        function("jm-two-ProvisionFunction-A3", "other", "shared"),
        json!({"FunctionName": "web", "Environment": {"Variables": {}}}),
    ];
    assert_eq!(the_table(&functions, "demo"), Ok("jm-Table-B2".to_owned()));
    let none = the_table(&functions, "absent").unwrap_err();
    assert!(none.contains("--region") && none.contains("--table"), "{none}");
    functions.push(function("old-jm-LaunchFunction-A4", "demo", "shared"));
    assert_eq!(
        the_table(&functions, "demo").unwrap_err(),
        "several stacks are for cluster demo; choose by --table: table jm-Table-B2 of stack jm; table shared of \
         stack old-jm"
    );
}

#[test]
fn without_a_question_the_user_names_the_cluster() {
    let place = InstallationArgs::default();
    assert!(place.found_to_change(true).unwrap_err().to_string().contains("--yes needs the name"));
    let place = InstallationArgs { cluster: Some("demo".to_owned()), ..place };
    assert_eq!(place.found_to_change(true).unwrap().cluster, "demo");
}

//! No command acts on another cluster than the one that it was given the name of.

use serde_json::json;

use crate::{ApiServer, Aws, Place, server::Reply};

const COMMANDS: [&str; 5] = [
    "install demo --yes",
    "uninstall demo --yes",
    "uninstall demo --yes --keep-nodes",
    "adopt demo --yes",
    "release demo --yes",
];

/// Each of them is refused with all of `texts`, and asks and changes nothing of the cluster.
#[track_caller]
fn refused(place: &Place, server: &ApiServer, code: i32, texts: &[&str]) {
    for words in COMMANDS {
        place.run(words).is(code, texts);
        let log = server.log();
        assert!(log.is_empty(), "{words}: {log:?}");
    }
}

#[test]
fn a_kubeconfig_of_another_cluster_is_refused_by_every_command_that_changes_one() {
    let (server, other) = (ApiServer::start(), ApiServer::start());
    let aws = Aws::of_cluster(&server.url);
    let wrong = Place::new("mistaken", &[]).of(&other).of_account(&aws);
    let place = "account 123456789012, region us-west-2";
    let way = format!("context here, server {}", other.url);
    let texts =
        ["another cluster than demo", &way, &server.url, place, "aws eks update-kubeconfig"];
    refused(&wrong, &other, 1, &texts);
    wrong
        .run("doctor demo")
        .is(1, &["!!  The kubeconfig, EKS and the stack", "another cluster than demo"]);
    assert_eq!(other.writes(), Vec::<String>::new());
    let named = format!("install demo --diff --expect-server {}", other.url);
    wrong.run(&named).is(1, &["Cluster demo (account 123456789012, region us-west-2)", "new"]);
    let right = Place::new("meant", &[]).of(&server).of_account(&aws);
    let way = format!("reached by context here, server {}", server.url);
    let named = ["Cluster demo (account 123456789012, region us-west-2)", &way, "[y/N]"];
    right.run_answering("install demo", "n").is(1, &named);
}

#[test]
fn an_account_or_a_region_without_the_cluster_is_refused() {
    let server = ApiServer::start();
    let aws = Aws::start(|call| match call.operation {
        "ListFunctions" => Some(Reply::ok(json!({"Functions": []}))),
        "DescribeCluster" => Some(call.refused("ResourceNotFoundException", "no such cluster")),
        "GetCallerIdentity" => Some(Reply::ok(
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>222222222222</Account>\
             </GetCallerIdentityResult></GetCallerIdentityResponse>",
        )),
        _ => None,
    });
    let place = Place::new("nowhere", &[]).of(&server).of_account(&aws);
    let nowhere = "EKS has no cluster demo in account 222222222222, region us-west-2.";
    refused(&place, &server, 1, &[nowhere, "AWS_PROFILE"]);
    place.run("uninstall demo --region eu-west-1").is(1, &["region eu-west-1."]);
    assert!(aws.log().iter().all(|call| !call.contains("Delete")));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (server, aws) = (ApiServer::start(), Aws::start(|_| None));
    let place = Place::new("unread", &[]).of(&server).of_account(&aws);
    refused(&place, &server, 2, &["(needed: the right eks:DescribeCluster)"]);
}

#[test]
fn a_stack_that_was_deployed_for_a_former_cluster_is_refused() {
    let server = ApiServer::start();
    let url = server.url.clone();
    let aws = Aws::start(move |call| match call.operation {
        "ListFunctions" => Some(Reply::ok(json!({"Functions": [{
            "FunctionName": "jm-ProvisionFunction-A1",
            "Environment": {"Variables": {"JOURNEYMAN_CLUSTER_NAME": "demo",
                "JOURNEYMAN_CLUSTER_ENDPOINT": "https://former"}},
        }]}))),
        _ => call.of_cluster(&url),
    });
    let place = Place::new("former", &[]).of(&server).of_account(&aws);
    refused(&place, &server, 1, &["The stack was deployed for https://former", "sam delete"]);
}

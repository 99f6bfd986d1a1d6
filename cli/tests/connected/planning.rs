//! `plan --live` and `shadow --live`: a running cluster is read as a whole, or it is said what could not be read.

use serde_json::{Value, json};

use crate::{
    ApiServer, Place,
    api_server::{CLAIMS, CLASSES, EVENTS, NODES, PODS, POOLS},
};

const POOL: &str = r#"{
  "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general", "uid": "1"},
  "spec": {"template": {"spec": {
    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    "requirements": [
      {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m7i.large"]},
      {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]}}}}"#;
const CLASS: &str = r#"{
  "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default", "uid": "2"},
  "spec": {"role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "subnetSelectorTerms": [{"tags": {"team": "a"}}], "securityGroupSelectorTerms": [{"tags": {"team": "a"}}]}}"#;

fn object(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn pod(name: &str, memory: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "m", "resources": {"requests": {"memory": memory}}}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    })
}

/// A cluster with a pool, its class, and pods that find a place or not.
fn cluster() -> ApiServer {
    let server = ApiServer::start();
    server.with(POOLS, [object(POOL)]).with(CLASSES, [object(CLASS)]);
    server.with(PODS, [pod("huge", "10Ti"), pod("huge-too", "10Ti"), pod("small", "1Gi")]);
    server
}

#[test]
fn a_live_cluster_is_read_page_by_page_and_only_read() {
    let server = cluster();
    let place = Place::new("plan", &[]).of(&server);
    let answer = place.run("plan --live");
    let read = format!("Read from the cluster at {}/; nothing was changed there.", server.url);
    answer.is(0, &["2 pods cannot be scheduled", "default/small", &read]);
    server.paged(1);
    place.run("plan --live").is(0, &["2 pods cannot be scheduled", "default/small"]);
    let log = server.log();
    assert_eq!(log.iter().filter(|request| request.path == PODS).count(), 1 + 3);
    assert!(log.iter().all(|request| request.method == "GET"));
    assert!(log.iter().all(|request| request.header("authorization") == "Bearer mine"));
    let json = place.run("plan --live --output json").json();
    assert_eq!(json["newNodeClaims"].as_array().expect("a list").len(), 1);
}

#[test]
fn pages_that_expired_are_begun_again_once() {
    let server = cluster();
    server.paged(1);
    let place = Place::new("plan-expired", &[]).of(&server);
    server.expiring(1);
    place.run("plan --live").is(0, &["2 pods cannot be scheduled", "default/small"]);
    let pages = server.log().into_iter().filter(|request| request.path == PODS);
    let pages: Vec<String> =
        pages.map(|request| request.parameter("continue").to_owned()).collect();
    assert_eq!(pages, ["", "t+1", "", "t+1", "t+2"]);
    server.expiring(2);
    let expired = "list pods: 410 Expired: The provided continue parameter is too old";
    place.run("plan --live").is(2, &[expired]);
}

#[test]
fn kinds_that_a_cluster_does_not_know_are_absent_but_for_those_that_are_needed() {
    let server = cluster();
    server.without(CLAIMS);
    let place = Place::new("plan-absent", &[]).of(&server);
    place.run("plan --live").is(0, &["2 pods cannot be scheduled"]);
    server.without(POOLS);
    let needed = ["list nodepools.karpenter.sh: ", "does not know this kind", "journeyman install"];
    place.run("plan --live").is(2, &needed);
    // What every cluster has is not absent: another server answers.
    let server = cluster();
    server.without(NODES);
    Place::new("plan-no-nodes", &[]).of(&server).run("plan --live").is(2, &["list nodes: 404"]);
}

#[test]
fn what_may_not_be_read_is_not_taken_for_absent() {
    let server = cluster();
    let message = "nodeclaims.karpenter.sh is forbidden: User \"me\" cannot list resource";
    server.refusing(("GET", CLAIMS), 1, (403, "Forbidden", message));
    let place = Place::new("plan-forbidden", &[]).of(&server);
    let needed = "(needed: the right to list nodeclaims.karpenter.sh)";
    place.run("plan --live").is(2, &["list nodeclaims.karpenter.sh: Forbidden", message, needed]);
    // A server that has no time is asked again, and one that is broken is not.
    server.refusing(("GET", NODES), 2, (429, "TooManyRequests", "later"));
    place.run("plan --live").is(0, &["2 pods cannot be scheduled"]);
    server.refusing(("GET", NODES), 1, (500, "InternalError", "etcd is away"));
    place.run("plan --live").is(2, &["list nodes: 500 InternalError: etcd is away"]);
}

#[test]
fn dumps_of_a_live_cluster_are_written() {
    let server = cluster();
    server.without(CLAIMS);
    let place = Place::new("shadow", &[]).of(&server);
    let words = "shadow dumps --live --duration 0s";
    place.run(words).is(2, &["1 written: dumps/", "holds fewer than two dumps"]);
    // A dump of another second.
    let compared = (0..100)
        .map(|_| place.run(words))
        .find(|answer| answer.code == Some(0))
        .expect("two dumps");
    compared.is(0, &["current", "The dumps have no NodeClaim"]);
    assert!(server.log().iter().all(|request| request.method == "GET"));
    let dump = std::fs::read_dir(place.folder.join("dumps")).expect("dumps").next();
    let text = std::fs::read_to_string(dump.expect("a dump").expect("a file").path());
    let list: Value = serde_json::from_str(&text.expect("a text")).expect("JSON");
    let kinds: Vec<&str> = list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["NodePool", "EC2NodeClass", "Pod", "Pod", "Pod"]);
}

#[test]
fn without_the_right_to_list_events_dumps_have_none() {
    let server = cluster();
    let message = "events is forbidden: User \"me\" cannot list resource";
    server.refusing(("GET", EVENTS), 1, (403, "Forbidden", message));
    let place = Place::new("shadow-no-events", &[]).of(&server);
    let words = "shadow dumps --live --duration 0s";
    let needed = "(needed: the right to list events): the dumps have no events";
    place.run(words).is(2, &[message, needed, "1 written: dumps/", "holds fewer than two dumps"]);
    server.refusing(("GET", EVENTS), 1, (500, "InternalError", "etcd is away"));
    place.run(words).is(2, &["list events: 500 InternalError: etcd is away"]);
}

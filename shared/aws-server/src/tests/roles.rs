//! Roles and access entries: there from the moment that a profile gets a role, and then what was made of them.

use simulator::Sim;

use super::{contains, open, query, send, texts};
use crate::{AwsServer, Request};

const ARN: &str = "arn:aws:iam::123456789012:role/Node";
const ENTRIES: &str = "/clusters/simulated/access-entries";

fn iam(sim: &Sim, server: &AwsServer, lines: &str) -> (u16, String) {
    query(sim, server, "2010-05-08", lines)
}

fn eks(sim: &Sim, server: &AwsServer, method: &str, target: &str, body: &str) -> (u16, String) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        body: body.into(),
        ..Request::default()
    };
    send(sim, server, &request)
}

/// An account in which a profile has the role `Node`.
fn with_role() -> (Sim, AwsServer) {
    let (sim, server) = open();
    let create = "Action=CreateInstanceProfile\nInstanceProfileName=nodes";
    contains(&iam(&sim, &server, create), 200, &[]);
    let add = "Action=AddRoleToInstanceProfile\nInstanceProfileName=nodes\nRoleName=Node";
    contains(&iam(&sim, &server, add), 200, &[]);
    (sim, server)
}

#[test]
fn eks_has_the_endpoint_of_the_real_api_server_where_there_is_one() {
    let (sim, server) = open();
    let described = |server: &AwsServer| eks(&sim, server, "GET", "/clusters/simulated", "");
    contains(&described(&server), 200, &[r#""endpoint":"https://0123456789ABCDEF.gr7."#]);
    let server = server.with_endpoint("https://127.0.0.1:6443/");
    contains(&described(&server), 200, &[r#""endpoint":"https://127.0.0.1:6443""#]);
}

#[test]
fn a_role_is_there_with_its_trust_once_a_profile_has_it() {
    let (sim, server) = open();
    let get = |name: &str| format!("Action=GetRole\nRoleName={name}");
    let text = "The role with name Node cannot be found.";
    contains(&iam(&sim, &server, &get("Node")), 404, &["<Code>NoSuchEntity</Code>", text]);
    let list = "Action=ListAttachedRolePolicies\nRoleName=Node";
    contains(&iam(&sim, &server, list), 404, &["NoSuchEntity", text]);
    let (sim, server) = with_role();
    let role = iam(&sim, &server, &get("Node"));
    contains(&role, 200, &["<GetRoleResult><Role><Path>/</Path>", ARN]);
    contains(&role, 200, &["%22Service%22%3A%22ec2.amazonaws.com%22"]);
    let spot = iam(&sim, &server, &get("AWSServiceRoleForEC2Spot"));
    contains(&spot, 200, &["role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"]);
    contains(&spot, 200, &["%22Service%22%3A%22spot.amazonaws.com%22"]);
}

#[test]
fn policies_are_attached_and_detached_and_come_in_pages() {
    let (sim, server) = with_role();
    let mut request = "Action=ListAttachedRolePolicies\nRoleName=Node\nMaxItems=3".to_owned();
    let mut names = Vec::new();
    for _ in 0..3 {
        let answer = iam(&sim, &server, &request);
        names.push(texts(&answer, "PolicyName"));
        let marker = texts(&answer, "Marker").pop();
        assert_eq!(texts(&answer, "IsTruncated"), [marker.is_some().to_string()]);
        let Some(marker) = marker else { break };
        request =
            format!("Action=ListAttachedRolePolicies\nRoleName=Node\nMaxItems=3\nMarker={marker}");
    }
    assert_eq!(names.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
    let act = |action: &str, role: &str, policy: &str| {
        let policy = policy.replace(':', "%3A").replace('/', "%2F");
        iam(&sim, &server, &format!("Action={action}\nRoleName={role}\nPolicyArn={policy}"))
    };
    let policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy";
    let list = || {
        texts(&iam(&sim, &server, "Action=ListAttachedRolePolicies\nRoleName=Node"), "PolicyArn")
    };
    contains(&act("DetachRolePolicy", "Node", policy), 200, &["<DetachRolePolicyResponse"]);
    assert!(!list().iter().any(|attached| attached == policy));
    contains(&act("DetachRolePolicy", "Node", policy), 404, &["NoSuchEntity", "was not found"]);
    contains(&act("AttachRolePolicy", "Node", policy), 200, &["<AttachRolePolicyResponse"]);
    assert!(list().iter().any(|attached| attached == policy));
    contains(&act("AttachRolePolicy", "Node", "policy"), 400, &["InvalidInput", "not valid"]);
    contains(&act("AttachRolePolicy", "Other", policy), 404, &["NoSuchEntity"]);
    let spot = act("DetachRolePolicy", "AWSServiceRoleForEC2Spot", policy);
    contains(&spot, 400, &["UnmodifiableEntity", "only modifiable by AWS"]);
    for wrong in ["MaxItems=0", "MaxItems=1001", "Marker=x", "PathPrefix=%2F"] {
        let list = format!("Action=ListAttachedRolePolicies\nRoleName=Node\n{wrong}");
        assert_eq!(iam(&sim, &server, &list).0, 400, "{wrong}");
    }
    for number in 0..6 {
        let policy = format!("arn:aws:iam::123456789012:policy/own-{number}");
        contains(&act("AttachRolePolicy", "Node", &policy), 200, &[]);
    }
    contains(&act("AttachRolePolicy", "Node", "arn:aws:iam::1:policy/b"), 409, &["LimitExceeded"]);
    contains(&act("AttachRolePolicy", "Node", policy), 200, &[]);
}

#[test]
fn instance_profiles_come_in_pages() {
    let (sim, server) = with_role();
    let create = "Action=CreateInstanceProfile\nInstanceProfileName=others";
    contains(&iam(&sim, &server, create), 200, &[]);
    let first = iam(&sim, &server, "Action=ListInstanceProfiles\nMaxItems=1");
    assert_eq!(texts(&first, "InstanceProfileName"), ["nodes"]);
    let marker = texts(&first, "Marker").pop().unwrap();
    let rest = iam(&sim, &server, &format!("Action=ListInstanceProfiles\nMarker={marker}"));
    assert_eq!(texts(&rest, "InstanceProfileName"), ["others"]);
    assert_eq!(texts(&rest, "IsTruncated"), ["false"]);
}

#[test]
fn an_access_entry_is_listed_deleted_and_made_again() {
    let (sim, server) = with_role();
    let node_entry = format!("{ENTRIES}/{}", ARN.replace(':', "%3A").replace('/', "%2F"));
    let ask = |method: &str, target: &str, body: &str| eks(&sim, &server, method, target, body);
    contains(&ask("GET", ENTRIES, ""), 200, &[ARN, "\"nextToken\":null"]);
    contains(&ask("GET", &node_entry, ""), 200, &["\"type\":\"EC2_LINUX\"", "system:nodes", ARN]);
    let made = format!("{{\"principalArn\": \"{ARN}\", \"type\": \"EC2_LINUX\"}}");
    contains(&ask("POST", ENTRIES, &made), 409, &["ResourceInUseException", "already in use"]);
    contains(&ask("DELETE", &node_entry, ""), 200, &["{}"]);
    contains(&ask("GET", ENTRIES, ""), 200, &["\"accessEntries\":[]"]);
    for method in ["GET", "DELETE"] {
        let refused = ask(method, &node_entry, "");
        contains(&refused, 404, &["ResourceNotFoundException", "list-access-entries"]);
    }
    // A profile that gets the role again does not bring back what a user removed.
    let again = "Action=CreateInstanceProfile\nInstanceProfileName=more";
    contains(&iam(&sim, &server, again), 200, &[]);
    let add = "Action=AddRoleToInstanceProfile\nInstanceProfileName=more\nRoleName=Node";
    contains(&iam(&sim, &server, add), 200, &[]);
    contains(&ask("GET", ENTRIES, ""), 200, &["\"accessEntries\":[]"]);
    contains(&ask("POST", ENTRIES, &made), 200, &["\"type\":\"EC2_LINUX\"", "system:nodes"]);
    contains(&ask("GET", &node_entry, ""), 200, &["\"type\":\"EC2_LINUX\""]);
}

#[test]
fn access_entries_that_eks_does_not_take_are_refused() {
    let (sim, server) = with_role();
    let post = |body: &str| eks(&sim, &server, "POST", ENTRIES, body);
    let groups = format!(
        "{{\"principalArn\": \"{ARN}\", \"type\": \"EC2_LINUX\", \"kubernetesGroups\": [\"a\"]}}"
    );
    let other = format!("{{\"principalArn\": \"{ARN}\", \"type\": \"MAINFRAME\"}}");
    let bodies = [
        groups.as_str(),
        &other,
        "",
        "[]",
        "{}",
        "{\"principalArn\": 7}",
        "{\"principalArn\": \"arn:aws:iam::123456789012:role/Missing\"}",
        "{\"principalArn\": \"a\", \"kubernetesGroups\": [7]}",
        "{\"principalArn\": \"a\", \"tags\": {}}",
    ];
    for body in bodies {
        contains(&post(body), 400, &["InvalidParameterException"]);
    }
    let list = |query: &str| eks(&sim, &server, "GET", &format!("{ENTRIES}?{query}"), "");
    for wrong in ["maxResults=0", "maxResults=101", "nextToken=x", "other=1"] {
        contains(&list(wrong), 400, &["InvalidParameterException"]);
    }
    contains(&list("maxResults=1"), 200, &[ARN]);
    contains(&list("nextToken=page-from-9"), 200, &["\"accessEntries\":[]"]);
    let unknown = |path: &str| eks(&sim, &server, "GET", path, "");
    contains(&unknown("/clusters/other/access-entries"), 404, &["ResourceNotFoundException"]);
    contains(&unknown("/clusters/simulated/addons"), 400, &["not supported yet"]);
    contains(&unknown("/clusters/"), 400, &["InvalidParameterException"]);
}

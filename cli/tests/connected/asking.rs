//! `doctor`, which judges what a cluster and an account show, and the records of a stack's table.

use serde_json::{Value, json};

use crate::{
    ApiServer, Aws, Place,
    api_server::{CLASSES, LEASES, POOLS},
    aws::Call,
    server::Reply,
};

/// An account with the cluster `demo`, one function of it among those of others, and a role of nodes.
fn installed(call: &Call<'_>) -> Option<Reply> {
    let iam = |content: &str| Some(call.result(content));
    let function = |name: &str, cluster: &str| {
        json!({"FunctionName": name, "Role": "arn:aws:iam::1:role/r",
            "Environment": {"Variables": {"JOURNEYMAN_CLUSTER_NAME": cluster}}})
    };
    match call.operation {
        "ListFunctions" if call.request.parameter("Marker").is_empty() => Some(Reply::ok(json!({
            "Functions": [function("other", "other"), {"FunctionName": "plain"}], "NextMarker": "two",
        }))),
        "ListFunctions" => {
            Some(Reply::ok(json!({"Functions": [function("jm-LaunchFunction-A1", "demo")]})))
        }
        "GetAccountSettings" => Some(Reply::ok(json!({"AccountLimit": {
            "ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 3,
        }}))),
        "GetFunctionConcurrency" => Some(Reply::ok(json!({"ReservedConcurrentExecutions": 7}))),
        "ListAccessEntries" => Some(Reply::ok(json!({"accessEntries": ["arn:x", "arn:gone"]}))),
        "DescribeAccessEntry" if call.request.path.ends_with("arn:x") => {
            Some(Reply::ok(json!({"accessEntry": {
                "principalArn": "arn:aws:iam::1:role/r", "kubernetesGroups": ["journeyman:launch"],
                "type": "STANDARD",
            }})))
        }
        "DescribeAccessEntry" => Some(call.refused("ResourceNotFoundException", "it went")),
        "GetRole" if call.field("RoleName") == "nodes" => {
            iam("<Role><Path>/</Path><RoleName>nodes</RoleName><RoleId>A</RoleId>\
             <Arn>arn:aws:iam::1:role/nodes</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate>\
             <AssumeRolePolicyDocument>%7B%22Statement%22%3A%5B%7B%22Principal%22%3A%7B%22Service%22%3A\
             %22lambda.amazonaws.com%22%7D%7D%5D%7D</AssumeRolePolicyDocument></Role>")
        }
        "GetRole" => Some(call.refused("NoSuchEntity", "there is none")),
        "ListAttachedRolePolicies" => iam("<AttachedPolicies/><IsTruncated>false</IsTruncated>"),
        _ => None,
    }
}

/// The state of a step, and what was found.
fn step(answer: &Value, id: &str) -> (String, String) {
    let steps = answer["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["step"] == id).expect("the step");
    let sentences: Vec<&str> =
        step["found"].as_array().expect("sentences").iter().filter_map(Value::as_str).collect();
    (step["state"].as_str().expect("a state").to_owned(), sentences.join(" "))
}

#[test]
fn an_installation_is_looked_at_in_its_cluster_and_its_account() {
    let server = ApiServer::start();
    let url = server.url.clone();
    let aws = Aws::start(move |call| installed(call).or_else(|| call.of_cluster(&url)));
    let class = json!({"metadata": {"name": "default"}, "spec": {"role": "nodes"}});
    server.with(CLASSES, [class]).without(POOLS);
    server.refusing(("GET", LEASES), 9, (403, "Forbidden", "leases is forbidden"));
    let place = Place::new("doctor", &[]).of(&server).of_account(&aws);
    place.run("install demo --yes").is(0, &[]);
    drop((server.log(), aws.log()));
    let answer = place.run("doctor demo --output json");
    answer.is(1, &[]);
    let answer = answer.json();
    for (id, state, found) in [
        ("api-server", "done", "Kubernetes v1.34.0"),
        ("eks", "done", "Kubernetes 1.34, API"),
        ("identity", "done", &server.url),
        ("definitions", "done", "kinds"),
        ("rbac", "done", "roles, bindings and flow schemas"),
        ("functions", "wrong", "The function drain is not deployed"),
        ("concurrency", "wrong", "10 executions of Lambda at a time, 3 of them unreserved"),
        ("node-role", "wrong", "does not trust ec2.amazonaws.com"),
        ("spot", "not-needed", "no NodePool asks for spot instances"),
        ("karpenter", "unknown", "list leases.coordination.k8s.io: Forbidden: leases is forbidden"),
        ("pools", "wrong", "There is no NodePool"),
        ("access", "done", ""),
    ] {
        let (is, said) = step(&answer, id);
        assert!(is == state && said.contains(found), "{id} is {is}: {said}");
    }
    assert!(server.log().iter().all(|request| request.method == "GET"));
    let is_read =
        |call: &String| [" Describe", " List", " Get"].iter().any(|read| call.contains(read));
    let log = aws.log();
    assert!(log.iter().all(is_read), "{log:?}");
    assert_eq!(log.iter().filter(|call| call.ends_with(" ListFunctions")).count(), 2);
}

#[test]
fn what_cannot_be_seen_is_said_step_by_step() {
    let (server, aws) = (ApiServer::start(), Aws::start(|_| None));
    let place = Place::new("doctor-blind", &[]).of(&server).of_account(&aws);
    let answer = place.run("doctor demo");
    answer.is(
        1,
        &[
            "eks:DescribeCluster demo: AccessDenied: not authorized",
            "(needed: the right eks:DescribeCluster)",
            "(needed: the right lambda:ListFunctions)",
            "(needed: the right iam:GetRole)",
        ],
    );
    let nowhere = Place::new("doctor-nowhere", &[]);
    let answer = nowhere.run("doctor demo --output json").json();
    let (is, said) = step(&answer, "api-server");
    assert!(is == "wrong" && said.contains("the kubeconfig cannot be used"), "{is}: {said}");
    let (is, said) = step(&answer, "functions");
    assert!(is == "unknown" && said.contains("no region"), "{is}: {said}");
}

/// A table with two decisions, a claim's place, and facts in two parts: one item on a page.
fn table(call: &Call<'_>) -> Reply {
    assert_eq!(call.operation, "Query");
    let asked: Value = serde_json::from_str(&call.request.body).expect("JSON");
    assert_eq!(asked["ExpressionAttributeValues"][":cluster"]["S"], "demo");
    if asked["TableName"] != "jm-Table" {
        return call.refused("ResourceNotFoundException", "Requested resource not found");
    }
    let decision = |at: &str| {
        let record = json!({"v": 1, "at": format!("2026-11-21T12:00:0{at}Z"), "function": "provision",
            "claims": [], "summary": format!("number {at}")});
        json!({"item": {"S": format!("decision#{at}")}, "record": {"S": record.to_string()}})
    };
    let mut items = match asked["ExpressionAttributeValues"][":prefix"]["S"].as_str() {
        Some("decision#") => vec![decision("1"), decision("2"), decision("3")],
        _ => Vec::new(),
    };
    if asked["ScanIndexForward"] == false {
        items.reverse();
    }
    let from = asked["ExclusiveStartKey"]["item"]["S"].as_str();
    let from = from.map_or(0, |from| from.parse::<usize>().expect("a place"));
    let item: Vec<&Value> = items.iter().skip(from).take(1).collect();
    let mut answer = json!({"Items": item, "Count": item.len(), "ScannedCount": item.len()});
    if from + 1 < items.len() {
        answer["LastEvaluatedKey"] =
            json!({"cluster": {"S": "demo"}, "item": {"S": (from + 1).to_string()}});
    }
    Reply::ok(answer)
}

#[test]
fn records_of_a_table_are_read_to_the_end_or_as_far_as_is_asked() {
    let aws = Aws::start(|call| Some(table(call)));
    let place = Place::new("records", &[]).of_account(&aws);
    let words = "get decisions --table jm-Table --cluster-name demo";
    place.run(words).is(0, &["number 1", "number 2", "number 3"]);
    let newest = place.run(&format!("{words} --records 2"));
    newest.is(0, &["number 2", "number 3"]);
    assert!(!newest.out.contains("number 1"), "{}", newest.out);
    assert!(aws.log().iter().all(|call| call == "us-west-2 Query"));
    let absent = place.run("get decisions --table other --cluster-name demo");
    absent.is(2, &["there is no table other"]);
    let denied = Aws::start(|_| None);
    let place = Place::new("records-denied", &[]).of_account(&denied);
    let refused = place.run("explain pod web --table jm-Table --cluster-name demo");
    refused.is(2, &["dynamodb:Query jm-Table batch#: AccessDenied", "the right dynamodb:Query"]);
    // Throttled once, and asked again.
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let busy =
        Aws::start(move |call| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Some(call.refused("ThrottlingException", "slow down")),
            _ => Some(table(call)),
        });
    let place = Place::new("records-busy", &[]).of_account(&busy);
    place.run(words).is(0, &["number 1"]);
}

/// A kubeconfig that names the EKS cluster by the program that gets the user's token.
const OF_EKS: &str = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never, \
                      args: [eks, get-token, --cluster-name, demo, --region, us-west-2]}}";

/// An account with a stack for each of `stacks`, by the name of its table.
fn with_stacks(stacks: &'static [(&'static str, &'static str)]) -> Aws {
    Aws::start(move |call| match call.operation {
        "ListFunctions" => {
            let function = |(stack, table): &(&str, &str)| {
                json!({
                    "FunctionName": format!("{stack}-ProvisionFunction-A1"),
                    "Environment": {"Variables": {
                        "JOURNEYMAN_CLUSTER_NAME": "demo", "JOURNEYMAN_TABLE_NAME": table,
                    }},
                })
            };
            let functions: Vec<Value> = stacks.iter().map(function).collect();
            Some(Reply::ok(json!({ "Functions": functions })))
        }
        "Query" => Some(table(call)),
        _ => None,
    })
}

fn kubeconfig_of(place: Place, user: &str) -> Place {
    let path = place.folder.join("config");
    std::fs::write(&path, crate::kubeconfig("http://127.0.0.1:1", "", user)).expect("a kubeconfig");
    place.with("KUBECONFIG", &path.display().to_string())
}

#[test]
fn cluster_and_table_are_found_where_the_user_names_none() {
    let aws = with_stacks(&[("jm", "jm-Table")]);
    let place = kubeconfig_of(Place::new("found", &[]).of_account(&aws), OF_EKS);
    let answer = place.run("get decisions");
    answer.is(0, &["number 1", "number 3"]);
    let said = "cluster demo in us-west-2, from context here\ntable jm-Table, from the stack of cluster demo\n";
    assert_eq!(answer.complaints, said);
    // What the user names wins, and is not said again.
    let named = place.run("get decisions --table jm-Table --cluster-name demo");
    assert_eq!(named.is(0, &["number 1"]).complaints, "");
    place.run("explain pod default/none").is(1, &["nothing is known of pod default/none"]);
    place.run("replay ffff").is(2, &["table jm-Table, from the stack"]);
    place.run("uninstall --yes").is(2, &["--yes needs the name of the cluster"]);
    place.run("uninstall").is(2, &["cluster demo in us-west-2, from context here"]);
}

#[test]
fn what_cannot_be_found_names_the_option() {
    let aws = with_stacks(&[("jm", "jm-Table"), ("two", "other")]);
    let place = kubeconfig_of(Place::new("found-two", &[]).of_account(&aws), OF_EKS);
    let choose = "choose by --table: table jm-Table of stack jm; table other of stack two";
    place.run("get decisions").is(2, &[choose]);
    place.run("get decisions --table jm-Table").is(0, &["number 1"]);
    let place = kubeconfig_of(Place::new("found-none", &[]).of_account(&aws), crate::ME);
    let unnamed =
        ["context here of the kubeconfig does not say which EKS cluster", "--cluster-name"];
    place.run("get decisions").is(2, &unnamed);
    let place = Place::new("found-nothing", &[]).of_account(&aws);
    place.run("doctor").is(2, &["kubeconfig", "CLUSTER"]);
}

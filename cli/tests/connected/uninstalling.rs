//! `uninstall`: shown, asked for, done step by step, and said what is left where it breaks off.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::{
    ApiServer, Aws, Place,
    api_server::{
        CLAIMS, CLASSES, CLUSTER_ROLES, FLOW_SCHEMAS, LEASES, NODES, POOLS, PRIORITY_LEVELS,
        WEBHOOKS,
    },
    aws::Call,
    server::Reply,
};

/// What of the account goes wrong, or has gone.
#[derive(Default)]
struct Account {
    is_stuck: AtomicBool,
    stack_looks: AtomicUsize,
    is_open: AtomicBool,
    /// Whether the stack was given its table.
    is_given: AtomicBool,
}

impl Account {
    /// Answers as the account of the cluster at `server`, with one stack; what was deleted before is not there.
    fn answer(&self, call: &Call<'_>, server: &str) -> Option<Reply> {
        let query = |content: &str| Some(call.result(content));
        let profile = |name: &str, cluster: &str| {
            format!(
                "<member><Path>/journeyman/us-west-2/{cluster}/default/</Path>\
                 <InstanceProfileName>{name}</InstanceProfileName><InstanceProfileId>A</InstanceProfileId>\
                 <Arn>arn:x</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles><member><Path>/</Path>\
                 <RoleName>nodes</RoleName><RoleId>B</RoleId><Arn>arn:y</Arn>\
                 <CreateDate>2026-01-01T00:00:00Z</CreateDate></member></Roles></member>"
            )
        };
        let made = |kind: &str, id: &str| {
            format!(
                "<member><LogicalResourceId>L</LogicalResourceId><PhysicalResourceId>{id}</PhysicalResourceId>\
                 <ResourceType>{kind}</ResourceType><ResourceStatus>CREATE_COMPLETE</ResourceStatus>\
                 <LastUpdatedTimestamp>2026-01-01T00:00:00Z</LastUpdatedTimestamp></member>"
            )
        };
        match call.operation {
            "ListFunctions" => Some(Reply::ok(json!({"Functions": [{
                "FunctionName": "jm-ProvisionFunction-A1",
                "Environment": {"Variables": {
                    "JOURNEYMAN_CLUSTER_NAME": "demo", "JOURNEYMAN_TABLE_NAME": "T",
                }},
            }]}))),
            "DescribeLaunchTemplates" => Some(Reply::ok(
                "<DescribeLaunchTemplatesResponse><launchTemplates><item>\
                 <launchTemplateId>lt-1</launchTemplateId></item></launchTemplates>\
                 </DescribeLaunchTemplatesResponse>",
            )),
            "DeleteLaunchTemplate" => {
                Some(call.refused("InvalidLaunchTemplateId.NotFound", "gone"))
            }
            "ListInstanceProfiles" => {
                assert_eq!(call.field("PathPrefix"), "/journeyman/us-west-2/demo/");
                let profiles = profile("ours", "demo");
                query(&format!(
                    "<InstanceProfiles>{profiles}</InstanceProfiles><IsTruncated>false</IsTruncated>"
                ))
            }
            "RemoveRoleFromInstanceProfile" => Some(call.refused("NoSuchEntity", "gone")),
            "DeleteInstanceProfile" | "DeleteStack" => query(""),
            "DescribeStacks" => match self.stack_looks.fetch_add(1, Ordering::Relaxed) {
                0 => query(
                    "<Stacks><member><StackName>jm</StackName><StackStatus>DELETE_IN_PROGRESS</StackStatus>\
                     <CreationTime>2026-01-01T00:00:00Z</CreationTime></member></Stacks>",
                ),
                _ => Some(call.refused("ValidationError", "Stack with id jm does not exist")),
            },
            "ListStackResources" => {
                let is_given = self.is_given.load(Ordering::Relaxed);
                let table =
                    if is_given { String::new() } else { made("AWS::DynamoDB::Table", "T") };
                let resources = made("AWS::SQS::Queue", "Q") + &table;
                query(&format!("<StackResourceSummaries>{resources}</StackResourceSummaries>"))
            }
            "DescribeTable" => {
                let is_protected = !self.is_open.load(Ordering::Relaxed);
                let table = json!({"TableName": "T", "TableStatus": "ACTIVE",
                    "DeletionProtectionEnabled": is_protected});
                Some(Reply::ok(json!({"Table": table})))
            }
            "UpdateTable" => {
                self.is_open.store(true, Ordering::Relaxed);
                Some(Reply::ok("{}"))
            }
            "DeleteTable" if self.is_stuck.load(Ordering::Relaxed) => {
                Some(call.refused("ResourceInUseException", "a backup is running"))
            }
            "DeleteTable" => Some(Reply::ok("{}")),
            _ => call.of_cluster(server),
        }
    }

    fn start(self: &Arc<Self>, server: &ApiServer) -> Aws {
        let (account, server) = (Arc::clone(self), server.url.clone());
        Aws::start(move |call| account.answer(call, &server))
    }
}

fn named(name: &str, finalizers: &[&str]) -> Value {
    json!({"metadata": {"name": name, "finalizers": finalizers}})
}

/// A cluster with one of everything. Functions let go of what is deleted, a look later.
fn cluster() -> ApiServer {
    let server = ApiServer::start();
    let termination = ["karpenter.sh/termination"];
    server
        .with(POOLS, [named("general", &[])])
        .with(CLASSES, [named("default", &["karpenter.k8s.aws/termination"])])
        .with(CLAIMS, [named("general-1", &termination), named("general-2", &termination)])
        .with(LEASES, [json!({"metadata": {"name": "journeyman", "namespace": "kube-system"}})]);
    server.changing(|objects, request| {
        let (_, all) = match request.path.as_str() {
            CLAIMS => objects.get_mut(CLAIMS).expect("claims"),
            CLASSES => objects.get_mut(CLASSES).expect("classes"),
            _ => return,
        };
        // One at each look.
        let is_deleted = |object: &Value| !object["metadata"]["deletionTimestamp"].is_null();
        if let Some(at) = all.iter().position(is_deleted) {
            drop(all.remove(at));
        }
    });
    server
}

#[test]
fn it_is_shown_asked_for_and_done() {
    let (server, account) = (cluster(), Arc::new(Account::default()));
    let aws = account.start(&server);
    let place = Place::new("uninstall", &[]).of(&server).of_account(&aws);
    let place = place.with("JOURNEYMAN_WAKE_KEY", "0123456789abcdef0123456789abcdef");
    place.run("install demo --yes --wake https://abc.on.aws/").is(0, &[]);
    assert_eq!(server.objects(PRIORITY_LEVELS).len(), 1);
    drop(server.log());
    server.refusing(("GET", LEASES), 1, (403, "Forbidden", "no leases for you"));
    place.run("uninstall demo --yes").is(2, &["list leases.coordination.k8s.io: Forbidden"]);
    let way = format!("reached by context here, server {}", server.url);
    let lines = [&way, "  kubectl delete nodepools.karpenter.sh --all", "Nothing was done."];
    place.run_answering("uninstall demo", "no").is(1, &lines);
    let table = "aws dynamodb delete-table --table-name T";
    place.run_answering("uninstall demo", "no").is(1, &[table]);
    place.run("uninstall demo").is(2, &["add --yes"]);
    assert_eq!(server.writes(), Vec::<String>::new());
    account.is_stuck.store(true, Ordering::Relaxed);
    drop(aws.log());
    let stuck = place.run_answering("uninstall demo", "y");
    stuck.is(2, &[
        "1 nodeclaims are left: general-2.",
        "The stack jm is DELETE_IN_PROGRESS.",
        "dynamodb:DeleteTable T: ResourceInUseException: a backup is running",
        "Remaining steps:\naws dynamodb delete-table --table-name T\naws ec2 delete-launch-template",
    ]);
    account.is_stuck.store(false, Ordering::Relaxed);
    let done = place.run("uninstall demo --yes --definitions");
    done.is(0, &["Done. For resources that you created yourself"]);
    let log = aws.log();
    let deleted = |operation: &str| log.iter().filter(|call| call.ends_with(operation)).count();
    assert_eq!(deleted(" DeleteStack"), 2, "{log:?}");
    assert_eq!(deleted(" UpdateTable"), 1, "it is protected once: {log:?}");
    assert_eq!(deleted(" DeleteTable"), 2, "{log:?}");
    assert_eq!(deleted(" DeleteInstanceProfile"), 1, "{log:?}");
    let of_the_cluster = [POOLS, CLAIMS, CLASSES, LEASES, CLUSTER_ROLES];
    for collection in of_the_cluster.into_iter().chain([WEBHOOKS, FLOW_SCHEMAS, PRIORITY_LEVELS]) {
        assert_eq!(server.objects(collection), Vec::<Value>::new(), "{collection}");
    }
    assert_eq!(server.objects(crate::api_server::DEFINITIONS), Vec::<Value>::new());
}

#[test]
fn a_table_that_was_given_to_a_stack_stays() {
    let (server, account) = (cluster(), Arc::new(Account::default()));
    account.is_given.store(true, Ordering::Relaxed);
    let aws = account.start(&server);
    let place = Place::new("uninstall-given", &[]).of(&server).of_account(&aws);
    place.run("uninstall demo --yes").is(0, &["delete-stack --stack-name jm", "Done."]);
    let log = aws.log();
    let is_about_tables = |call: &&String| call.ends_with("Table");
    assert_eq!(log.iter().find(is_about_tables), None, "{log:?}");
}

#[test]
fn what_does_not_go_in_time_is_named() {
    let (server, account) = (cluster(), Arc::new(Account::default()));
    let aws = account.start(&server);
    server.changing(|_, _| {});
    let place = Place::new("uninstall-slow", &[]).of(&server).of_account(&aws);
    let slow = place.run("uninstall demo --yes --wait 0");
    slow.is(2, &[
        "2 nodeclaims are left: general-1, general-2.",
        "--wait MINUTES waits longer",
        "Remaining steps:\nkubectl wait --for=delete nodeclaims.karpenter.sh --all --timeout=0m",
    ]);
    assert!(aws.log().iter().all(|call| !call.contains(" Delete")));
}

#[test]
fn nodes_that_stay_are_let_go() {
    let server = cluster();
    let labels = json!({"karpenter.sh/nodepool": "general"});
    let mut node = named("ip-1", &["karpenter.sh/termination"]);
    node["metadata"]["labels"] = labels;
    server.with(NODES, [node, named("of-others", &["theirs"])]);
    let url = server.url.clone();
    let aws = Aws::start(move |call| match call.operation {
        "ListFunctions" => Some(Reply::ok(json!({"Functions": []}))),
        _ => Account::default().answer(call, &url),
    });
    let place = Place::new("uninstall-keeps", &[]).of(&server).of_account(&aws);
    place.run("uninstall demo --yes").is(1, &["no function that could drain them"]);
    place.run("uninstall demo --yes --keep-nodes").is(0, &["Keep the nodes", "Done."]);
    assert_eq!(server.objects(CLAIMS), Vec::<Value>::new());
    let nodes = server.objects(NODES);
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[0]["metadata"]["finalizers"], Value::Null);
    assert_eq!(nodes[1]["metadata"]["finalizers"], json!(["theirs"]));
    assert_eq!(server.objects(POOLS).len(), 1, "pools are the user's");
}

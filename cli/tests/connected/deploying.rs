//! `deploy`, `upgrade` and `rollback`: files are uploaded, changes are shown and asked for, and then comes what `install`
//! and `doctor` do.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::json;

use crate::{ApiServer, Aws, Place, api_server::CLUSTER_ROLES, aws::Call, server::Reply};

/// Of `abc`.
const CHECKSUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// An account without the stack at first.
#[derive(Default)]
struct Account {
    is_deployed: AtomicBool,
    /// Whether the next deployment fails.
    is_broken: AtomicBool,
    /// How many change sets were executed.
    executed: AtomicUsize,
    /// Contents in S3 by bucket and key.
    objects: Mutex<BTreeMap<String, String>>,
    /// Where the template of the last change set is among them, and that of the stack.
    next: Mutex<String>,
    template: Mutex<String>,
    /// Items of the table, as DynamoDB lists claims.
    claims: Mutex<String>,
    /// Parameters of the last change set.
    parameters: Mutex<Vec<(String, String)>>,
}

fn declared(name: &str, default: &str) -> String {
    format!(
        "<member><ParameterKey>{name}</ParameterKey>{default}<ParameterType>String</ParameterType>\
         <Description>What {name} is for.</Description></member>"
    )
}

fn event(id: &str, name: &str, kind: &str, status: &str, reason: &str) -> String {
    format!(
        "<member><StackId>s</StackId><StackName>journeyman</StackName><EventId>{id}</EventId>\
         <LogicalResourceId>{name}</LogicalResourceId><ResourceType>{kind}</ResourceType>\
         <Timestamp>2026-01-01T00:00:00Z</Timestamp><ResourceStatus>{status}</ResourceStatus>\
         <ResourceStatusReason>{reason}</ResourceStatusReason></member>"
    )
}

impl Account {
    fn answer(&self, call: &Call<'_>, server: &str) -> Option<Reply> {
        let query = |content: &str| Some(call.result(content));
        match call.operation {
            "S3" => Some(self.of_bucket(call)),
            "ListFunctions" => Some(Reply::ok(json!({"Functions": []}))),
            "GetCallerIdentity" => query("<Account>123456789012</Account>"),
            "DescribeStacks" => Some(self.stack(call)),
            "GetTemplate" => {
                let objects = self.objects.lock().expect("no thread panics");
                let template = self.template.lock().expect("no thread panics");
                query(&format!("<TemplateBody>{}</TemplateBody>", objects[template.as_str()]))
            }
            "Query" => {
                let is_of_claims = call.request.body.contains("claim#");
                let claims = self.claims.lock().expect("no thread panics");
                let items = if is_of_claims { claims.as_str() } else { "" };
                Some(Reply::ok(format!("{{\"Items\":[{items}]}}")))
            }
            "DescribeStackEvents" => {
                query(&format!("<StackEvents>{}</StackEvents>", self.events()))
            }
            "GetTemplateSummary" => {
                assert!(call.field("TemplateURL").contains("/journeyman/template-"));
                let parameters = [
                    declared("ClusterName", ""),
                    declared("ArtifactBucket", ""),
                    declared("ArtifactPrefix", "<DefaultValue></DefaultValue>"),
                    declared("Architecture", "<DefaultValue>x86_64</DefaultValue>"),
                    declared("Team", ""),
                ];
                query(&format!("<Parameters>{}</Parameters>", parameters.concat()))
            }
            "CreateChangeSet" => {
                let field = |at: usize, name: &str| {
                    call.field(&format!("Parameters.member.{at}.{name}")).to_owned()
                };
                let values =
                    (1..=5).map(|at| (field(at, "ParameterKey"), field(at, "ParameterValue")));
                *self.parameters.lock().expect("no thread panics") = values.collect();
                let url = call.field("TemplateURL").split_once("/releases");
                let key = url.map(|(_, key)| key).unwrap_or_default();
                *self.next.lock().expect("no thread panics") = format!("/releases{key}");
                query("<Id>c</Id><StackId>s</StackId>")
            }
            "DescribeChangeSet" => query(
                "<Status>CREATE_COMPLETE</Status><Changes><member><Type>Resource</Type><ResourceChange>\
                 <Action>Add</Action><LogicalResourceId>WakeFunction</LogicalResourceId>\
                 <ResourceType>AWS::Lambda::Function</ResourceType></ResourceChange></member></Changes>",
            ),
            "ExecuteChangeSet" => {
                self.is_deployed.store(true, Ordering::Relaxed);
                self.executed.fetch_add(1, Ordering::Relaxed);
                let next = self.next.lock().expect("no thread panics").clone();
                *self.template.lock().expect("no thread panics") = next;
                query("")
            }
            "DeleteStack" | "DeleteChangeSet" => query(""),
            _ => call.of_cluster(server),
        }
    }

    fn of_bucket(&self, call: &Call<'_>) -> Reply {
        let mut objects = self.objects.lock().expect("no thread panics");
        assert_eq!(call.request.header("authorization").split('/').nth(3), Some("s3"));
        let path = call.request.path.clone();
        let missing = Reply { status: 404, ..Reply::ok("<Error><Code>NoSuchKey</Code></Error>") };
        match (call.request.method.as_str(), objects.get(&path)) {
            ("PUT", _) => {
                objects.insert(path, call.request.body.clone());
                Reply::ok("")
            }
            ("GET", Some(content)) => Reply::ok(content),
            ("HEAD", Some(_)) => Reply::ok(""),
            ("HEAD", None) => Reply { status: 404, ..Reply::ok("") },
            _ => missing,
        }
    }

    fn stack(&self, call: &Call<'_>) -> Reply {
        if !self.is_deployed.load(Ordering::Relaxed) {
            return call.refused("ValidationError", "Stack with id journeyman does not exist");
        }
        let is_broken = self.is_broken.load(Ordering::Relaxed);
        let status = if is_broken { "ROLLBACK_COMPLETE" } else { "CREATE_COMPLETE" };
        Reply::ok(format!(
            "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>journeyman</StackName>\
             <StackStatus>{status}</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime>\
             <Parameters><member><ParameterKey>ClusterName</ParameterKey><ParameterValue>demo</ParameterValue></member>\
             <member><ParameterKey>Team</ParameterKey><ParameterValue>a</ParameterValue></member></Parameters><Outputs><member><OutputKey>TableName</OutputKey><OutputValue>T</OutputValue></member>\
             </Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
        ))
    }

    fn events(&self) -> String {
        let began =
            event("1", "journeyman", "AWS::CloudFormation::Stack", "REVIEW_IN_PROGRESS", "");
        if !self.is_deployed.load(Ordering::Relaxed) {
            return began;
        }
        let denied = "not authorized";
        let executed = self.executed.load(Ordering::Relaxed);
        let stack = "AWS::CloudFormation::Stack";
        let begins = |set: usize| {
            event(&format!("set-{set}"), "journeyman", stack, "UPDATE_IN_PROGRESS", "")
        };
        let sets: String = (0..executed).rev().map(begins).collect();
        sets + &event(
            "3",
            "Queue",
            "AWS::SQS::Queue",
            "CREATE_FAILED",
            "Resource creation cancelled",
        ) + &event("2", "WakeRole", "AWS::IAM::Role", "CREATE_FAILED", denied)
            + &began
    }

    fn start(self: &Arc<Self>, server: &ApiServer) -> Aws {
        let (account, server) = (Arc::clone(self), server.url.clone());
        Aws::start(move |call| account.answer(call, &server))
    }
}

/// The template of a release with one function.
fn template(release: &str, format: &str) -> String {
    let zip = |architecture: &str| format!("wake-{architecture}-{CHECKSUM}.zip");
    let zips = format!("{} {}", zip("arm64"), zip("x86_64"));
    format!("LedgerFormat: {format}\nJOURNEYMAN_RELEASE: {release}\n{zips}\n")
}

/// A place with two releases, and a third with another format of the ledger.
fn place(name: &str, server: &ApiServer, aws: &Aws) -> Place {
    let mut files = Vec::new();
    for (folder, release, format) in [
        ("release", "1.0.0 (a)", "writes 1, reads 1 to 1"),
        ("next", "1.1.0 (b)", "writes 1, reads 1 to 1"),
        ("other", "2.0.0 (c)", "writes 2, reads 1 to 2"),
    ] {
        files.push((format!("{folder}/template.yaml"), template(release, format)));
        for architecture in ["arm64", "x86_64"] {
            let zip = format!("{folder}/wake-{architecture}-{CHECKSUM}.zip");
            files.push((zip, "abc".to_owned()));
        }
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Place::new(name, &files).of(server).of_account(aws)
}

const DEPLOY: &str = "deploy demo --release release --bucket releases";

#[test]
fn a_release_is_deployed_and_installed() {
    let (server, account) = (ApiServer::start(), Arc::new(Account::default()));
    let aws = account.start(&server);
    let place = place("deploy", &server, &aws);
    place.run(DEPLOY).is(2, &["Nothing was done: without a terminal, add --yes."]);
    assert_eq!(aws.log(), Vec::<String>::new());
    let asked = format!("{DEPLOY} --parameter Team=a");
    place.run_answering(&asked, "n").is(1, &["Apply this?", "Nothing was applied."]);
    let stack_only = format!("{asked} --stack-only");
    let declined = place.run_answering(&stack_only, "n");
    declined.is(1, &["Create the S3 bucket releases", "Nothing was done."]);
    let missing = place.run(&format!("{DEPLOY} --yes --stack-only"));
    missing
        .is(2, &["parameter Team has no default: add --parameter Team=VALUE (What Team is for.)"]);
    let declined = place.run_answering(&stack_only, "n");
    declined.is(1, &["create  WakeFunction  AWS::Lambda::Function", "The stack was not changed."]);
    assert!(aws.log().contains(&"us-west-2 DeleteStack".to_owned()), "the empty stack goes");
    assert!(server.objects(CLUSTER_ROLES).is_empty());
    let done = place.run(&format!("{asked} --yes"));
    // `doctor` misses functions.
    done.is(
        1,
        &[
            "Uploaded 0 of 1 zips to s3://releases/journeyman/ (1 were there).",
            "The stack journeyman is deployed. Its outputs:",
            "TableName  T",
            "Applied. `journeyman doctor demo`",
            "24 steps:",
        ],
    );
    assert!(!server.objects(CLUSTER_ROLES).is_empty());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let parameters = account.parameters.lock().expect("no thread panics").clone();
    assert_eq!(
        parameters,
        [
            pair("ArtifactBucket", "releases"),
            pair("ArtifactPrefix", "journeyman/"),
            pair("ClusterName", "demo"),
            pair("Team", "a"),
            pair("", ""),
        ]
    );
    let objects = account.objects.lock().expect("no thread panics").clone();
    let keys: Vec<&str> = objects.keys().map(String::as_str).collect();
    assert_eq!(
        keys.len(),
        4,
        "bucket, history, template and the zip of one architecture: {keys:?}"
    );
    assert_eq!(keys[1], "/releases/journeyman/history-journeyman.txt");
    assert_eq!(keys[3], format!("/releases/journeyman/wake-x86_64-{CHECKSUM}.zip"));
}

#[test]
fn a_release_is_upgraded_and_rolled_back() {
    let (server, account) = (ApiServer::start(), Arc::new(Account::default()));
    let aws = account.start(&server);
    let place = place("upgrade", &server, &aws);
    let upgrade = |release: &str| {
        format!("upgrade demo --release {release} --bucket releases --yes --stack-only")
    };
    let missing = "There is no stack journeyman. To create it, use `journeyman deploy`.";
    place.run(&upgrade("next")).is(1, &[missing]);
    place.run("rollback demo --bucket releases --yes").is(1, &[missing]);
    place.run(&format!("{DEPLOY} --yes --stack-only -p Team=a")).is(0, &[]);
    let rollback = "rollback demo --bucket releases --yes --stack-only";
    place.run(rollback).is(1, &["there is nothing to roll back to"]);
    let deploy = "deploy demo --release next --bucket releases --yes --stack-only";
    place
        .run(deploy)
        .is(1, &["The stack journeyman is of release 1.0.0 (a)", "`journeyman upgrade`"]);
    let title = "Upgrade of the stack journeyman: release 1.0.0 (a) → release 1.1.0 (b)";
    let shown = place.run("upgrade demo --release next --bucket releases --diff");
    shown.is(1, &[title, "ClusterRole", "create  WakeFunction", "The stack was not changed."]);
    let unreadable =
        r#"{"cluster":{"S":"demo"},"item":{"S":"claim#x"},"record":{"S":"{\"v\":9}"}}"#;
    unreadable.clone_into(&mut account.claims.lock().expect("no thread panics"));
    let refused = place.run(&upgrade("next"));
    refused.is(1, &["cannot read the item claim#x", "version 9 is not supported", "--force"]);
    account.claims.lock().expect("no thread panics").clear();
    place.run(&upgrade("next")).is(0, &[title, "can read: 0 of 0"]);
    let title = "Rollback of the stack journeyman: release 1.1.0 (b) → release 1.0.0 (a)";
    place.run(rollback).is(0, &[title]);
    let title = "Rollback of the stack journeyman: release 1.0.0 (a) → release 1.1.0 (b)";
    // With access to the cluster `doctor` follows, and `install` does not.
    let whole = place.run("rollback demo --bucket releases --yes");
    whole.is(1, &[title, "24 steps:"]);
    assert!(server.objects(CLUSTER_ROLES).is_empty());
    place.run(&upgrade("other")).is(1, &["You cannot go back", "--force"]);
    place.run(&format!("{} --force", upgrade("other"))).is(0, &["You cannot go back"]);
    let refused = place.run(&format!("{rollback} --force"));
    refused.is(1, &["release 1.1.0 (b) cannot read the ledger: it reads format 1"]);
}

#[test]
fn a_failed_deployment_names_the_first_failure() {
    let (server, account) = (ApiServer::start(), Arc::new(Account::default()));
    account.is_broken.store(true, Ordering::Relaxed);
    let aws = account.start(&server);
    let place = place("deploy-broken", &server, &aws);
    let deploy = format!("{DEPLOY} --parameter Team=a --yes");
    let failed = place.run(&deploy);
    failed.is(2, &["ROLLBACK_COMPLETE. First failure: WakeRole (AWS::IAM::Role): CREATE_FAILED: not authorized"]);
    place.run(&deploy).is(1, &["cannot be updated. Delete it, then deploy again"]);
}

#[test]
fn a_stack_of_another_cluster_and_damaged_files_are_refused() {
    let (server, account) = (ApiServer::start(), Arc::new(Account::default()));
    let aws = account.start(&server);
    let place = place("deploy-other", &server, &aws);
    place.run(&format!("{DEPLOY} --yes --stack-only -p Team=a")).is(0, &[]);
    aws.log();
    let other = place.run("deploy other --release release --bucket releases --yes --stack-only");
    other.is(1, &["The stack journeyman is of cluster demo, not of other."]);
    let zip = format!("release/wake-x86_64-{CHECKSUM}.zip");
    fs::write(place.folder.join(zip), "damaged").expect("a file of the test");
    account.objects.lock().expect("no thread panics").retain(|key, _| !key.contains("wake"));
    let damaged = place.run(&format!("{DEPLOY} --yes --parameter Team=a"));
    damaged.is(2, &["download the release again"]);
    assert!(!aws.log().iter().any(|call| call.ends_with("ChangeSet")));
}

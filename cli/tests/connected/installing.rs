//! `install`: what changes is shown object by object, before it is applied on the server's side.

use serde_json::json;

use crate::{
    ApiServer, Aws, Place,
    api_server::{CLUSTER_ROLES, DEFINITIONS, PRIORITY_LEVELS, WEBHOOKS},
};

const ALL: [&str; 3] = [
    "+ CustomResourceDefinition nodepools.karpenter.sh: new",
    "+ ClusterRole journeyman-launch: new",
    "+ RoleBinding ",
];

#[test]
fn what_changes_is_shown_before_it_is_applied() {
    let server = ApiServer::start();
    let aws = Aws::of_cluster(&server.url);
    let place = Place::new("install", &[]).of(&server).of_account(&aws);
    // There is no terminal to ask on.
    place.run("install demo").is(2, &ALL).is(2, &["add --yes"]);
    place.run("install demo --diff").is(1, &ALL);
    place
        .run_answering("install demo", "n")
        .is(1, &ALL)
        .is(1, &["Apply this?", "Nothing was applied."]);
    let log = server.log();
    let is_dry = |request: &crate::server::Request| request.parameter("dryRun") == "All";
    assert!(log.iter().all(|request| request.method == "GET" || is_dry(request)));
    assert!(server.objects(DEFINITIONS).is_empty() && server.objects(CLUSTER_ROLES).is_empty());
    let applied = place.run_answering("install demo", "y");
    applied.is(0, &["ClusterRole journeyman-launch created", "Applied. `journeyman doctor"]);
    assert!(!server.objects(DEFINITIONS).is_empty() && !server.objects(CLUSTER_ROLES).is_empty());
    for request in server.log().iter().filter(|request| request.method != "GET") {
        assert_eq!(request.method, "PATCH");
        assert_eq!(request.header("content-type"), "application/apply-patch+yaml");
        assert_eq!(request.parameter("fieldManager"), "journeyman");
        assert_eq!(request.parameter("force"), "true");
    }
    let again = place.run("install demo --yes");
    again.is(0, &["= ClusterRole journeyman-launch: unchanged", "Nothing to do"]);
    assert!(server.log().iter().all(|request| request.method == "GET" || is_dry(request)));
}

#[test]
fn of_what_is_there_the_fields_that_change_are_named() {
    let server = ApiServer::start();
    let aws = Aws::of_cluster(&server.url);
    let place = Place::new("install-changed", &[]).of(&server).of_account(&aws);
    place.run("install demo --yes").is(0, &["Applied."]);
    server.changing(|objects, request| {
        if request.path.ends_with("clusterroles/journeyman-launch") && request.method == "GET" {
            let (_, roles) = objects.get_mut(CLUSTER_ROLES).expect("roles");
            let is_ours =
                |role: &&mut serde_json::Value| role["metadata"]["name"] == "journeyman-launch";
            let role = roles.iter_mut().find(is_ours).expect("the role");
            role["rules"] = json!([]);
            role["metadata"]["labels"]["team"] = json!("theirs");
        }
    });
    let changed = place.run("install demo --diff");
    changed.is(1, &["~ ClusterRole journeyman-launch: changes", "rules: [] → [{"]);
    assert!(!changed.out.contains("theirs"), "what others wrote stays: {}", changed.out);
    place.run("install demo --yes").is(0, &["ClusterRole journeyman-launch changed", "Applied."]);
}

#[test]
fn what_the_server_refuses_is_passed_on_with_how_far_it_got() {
    let server = ApiServer::start();
    let aws = Aws::of_cluster(&server.url);
    let place = Place::new("install-refused", &[]).of(&server).of_account(&aws);
    let denied = (403, "Forbidden", "user me cannot patch");
    server.refusing(("PATCH", CLUSTER_ROLES), 1, denied);
    let needed = "(needed: the right to patch clusterroles.rbac.authorization.k8s.io)";
    place.run("install demo --yes").is(2, &["user me cannot patch", needed]);
    assert!(server.objects(DEFINITIONS).is_empty(), "nothing is applied in part on a guess");
    // Another client changes the object after the changes were shown.
    server.conflicting("journeyman-launch");
    let refused = place.run("install demo --yes");
    refused.is(
        2,
        &[
            "409 Conflict: the object has been modified",
            "objects were applied. Fix this, and run the command again",
        ],
    );
    assert!(!server.objects(DEFINITIONS).is_empty());
    place.run("install demo --yes").is(0, &["Applied."]);
}

#[test]
fn the_webhooks_of_wake_come_with_their_url_only_and_stay_without_it() {
    let server = ApiServer::start();
    let aws = Aws::of_cluster(&server.url);
    let (key, next) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let with = |key| {
        let place = Place::new("install-wake", &[]).of(&server).of_account(&aws);
        place.with("JOURNEYMAN_WAKE_KEY", key)
    };
    let place = with(key);
    place.run("install demo --yes").is(0, &["Applied."]);
    assert!(server.objects(WEBHOOKS).is_empty());
    let install = "install demo --wake https://abc.on.aws/ --wake-except a,b";
    let new = "+ ValidatingWebhookConfiguration journeyman: new";
    let priority = [
        "+ PriorityLevelConfiguration journeyman-scheduler-events: new",
        "+ FlowSchema journeyman-scheduler-events: new",
    ];
    place.run(&format!("{install} --diff")).is(1, &[new]).is(1, &priority);
    assert!(server.objects(WEBHOOKS).is_empty(), "only shown");
    place.run(&format!("{install} --yes")).is(0, &[new, "Applied."]);
    assert_eq!(server.objects(PRIORITY_LEVELS).len(), 1);
    let url = || server.objects(WEBHOOKS)[0]["webhooks"][0]["clientConfig"]["url"].clone();
    let first = url().as_str().expect("a URL").to_owned();
    let path = first.strip_prefix("https://abc.on.aws/").expect("the URL of the stack");
    assert!(path.len() == 64 && path.bytes().all(|digit| digit.is_ascii_hexdigit()), "{path}");
    let webhook = &server.objects(WEBHOOKS)[0]["webhooks"][0];
    let selected = &webhook["namespaceSelector"]["matchExpressions"][0];
    assert_eq!(selected["values"], json!(["a", "b"]));
    let rotated = with(next).run(&format!("{install} --yes"));
    rotated.is(0, &["webhooks[0].clientConfig.url: \"https://abc.on.aws/…\" → ", "Applied."]);
    assert_ne!(url(), first.as_str());
    for secret in [path, key, next] {
        assert!(!rotated.out.contains(secret), "{}", rotated.out);
    }
    with("").run(&format!("{install} --yes")).is(2, &["JOURNEYMAN_WAKE_KEY: a key of at least"]);
    place.run("install demo --yes").is(0, &["Nothing to do"]);
    assert_eq!(server.objects(WEBHOOKS).len(), 1, "they stay as they are");
}

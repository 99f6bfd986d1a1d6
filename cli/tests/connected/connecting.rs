//! How a cluster and an account are reached, and what is said where they are not.

use std::fs;

use crate::{ApiServer, Aws, ME, Place, kubeconfig, server::Reply};

/// A place that plans for the cluster that `text`, a kubeconfig, describes.
fn place(name: &str, text: &str) -> Place {
    let place = Place::new(name, &[("config", text)]);
    let path = place.folder.join("config").display().to_string();
    place.with("KUBECONFIG", &path)
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named() {
    let place = place("bad-kubeconfig", "clusters: [");
    place.run("plan --live").is(2, &["the kubeconfig cannot be used: failed to parse"]);
    let none = place.run("plan --live --kubeconfig ./nowhere");
    none.is(2, &["the kubeconfig cannot be used: ./nowhere: ", "No such file"]);
    let home = Place::new("no-kubeconfig", &[]);
    home.run("plan --live")
        .is(2, &["the kubeconfig cannot be used: failed to read", ".kube/config"]);
}

#[test]
fn a_context_is_taken_from_the_kubeconfig_or_missed() {
    let server = ApiServer::start();
    let place = place("contexts", &kubeconfig(&server.url, "", ME));
    place.run("plan --live").is(0, &["No pod needs a node."]);
    let missed = place.run("plan --live --context nowhere");
    missed.is(2, &["the kubeconfig cannot be used: failed to load current context: nowhere"]);
    // Another file than that of KUBECONFIG.
    let other = kubeconfig("http://127.0.0.1:1", "", ME);
    fs::write(place.folder.join("other"), other).expect("a kubeconfig");
    place.run("plan --live --kubeconfig other").is(2, &["http://127.0.0.1:1"]);
}

#[test]
fn w10_an_unreachable_cluster_is_said_in_one_line() {
    let server = ApiServer::start();
    let place = place("unreachable", &kubeconfig(&server.url, "", ME));
    let answer = place.run("plan --live --context there");
    answer.is(2, &["list nodepools.karpenter.sh: http://127.0.0.1:1/: ", "onnection refused"]);
    assert_eq!(answer.complaints.lines().count(), 1, "{}", answer.complaints);
}

#[test]
fn the_credentials_of_a_program_are_shown_to_the_server() {
    let server = ApiServer::start();
    let user = |script: &str| {
        let version = "client.authentication.k8s.io/v1";
        format!(
            "{{exec: {{apiVersion: {version}, command: sh, args: ['-c', \"{script}\"], interactiveMode: Never}}}}"
        )
    };
    let script = r#"printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"of-a-program\"}}'"#;
    let place = place("exec", &kubeconfig(&server.url, "", &user(script)));
    place.run("plan --live").is(0, &["nothing was changed there"]);
    let log = server.log();
    assert!(!log.is_empty());
    for request in log {
        assert_eq!(request.header("authorization"), "Bearer of-a-program", "{}", request.path);
        assert_eq!(request.method, "GET");
    }
    let failing = kubeconfig(&server.url, "", &user("echo signed out >&2; exit 7"));
    fs::write(place.folder.join("config"), failing).expect("a kubeconfig");
    place.run("plan --live").is(2, &["auth exec command", "signed out"]);
}

#[test]
fn a_server_behind_a_proxy_is_reached_through_it() {
    let server = ApiServer::start();
    let far = "http://api.example:6443";
    let proxy = format!(", proxy-url: \"{}\"", server.url);
    let of_file = place("proxy", &kubeconfig(far, &proxy, ME));
    of_file.run("plan --live").is(0, &["Read from the cluster at http://api.example:6443/"]);
    let is_tunnel = |request: &crate::server::Request| request.method == "CONNECT";
    assert!(server.log().iter().any(is_tunnel));
    let of_environment =
        place("proxy-of-environment", &kubeconfig(far, "", ME)).with("HTTPS_PROXY", &server.url);
    of_environment.run("plan --live").is(0, &["nothing was changed there"]);
    assert!(server.log().iter().any(is_tunnel));
    // This machine is not looked for behind a proxy, nor is what NO_PROXY names.
    let here = place("no-proxy", &kubeconfig(&server.url, "", ME));
    here.with("HTTPS_PROXY", "http://127.0.0.1:1").run("plan --live").is(0, &[]);
    let named = of_environment.with("NO_PROXY", ".example");
    named.run("plan --live").is(2, &["http://api.example:6443/: "]);
}

#[test]
fn a_server_that_does_not_know_who_asks_is_not_one_without_objects() {
    let server = ApiServer::start();
    server.refusing(("GET", "/"), 99, (401, "Unauthorized", "Unauthorized"));
    let place = place("unauthorized", &kubeconfig(&server.url, "", ME));
    place.run("plan --live").is(2, &["the API server does not accept the kubeconfig's user"]);
}

#[test]
fn an_account_without_a_region_or_credentials_is_said() {
    let place = Place::new("no-account", &[]);
    let words = "get decisions --table t --cluster-name demo";
    place.run(words).is(2, &["no region: name it by --region or AWS_REGION"]);
    let words = "get decisions --table t --cluster-name demo --region eu-west-1";
    place.run(words).is(2, &["no credentials for AWS: ", "AWS_PROFILE"]);
}

#[test]
fn credentials_and_region_of_a_profile_are_taken() {
    let aws = Aws::start(|call| {
        let is_right = call.request.header("authorization").contains("AKIDOFPROGRAM");
        is_right.then(|| Reply::ok(r#"{"Items": [], "Count": 0}"#))
    });
    let program = r#"printf '{"Version":1,"AccessKeyId":"AKIDOFPROGRAM","SecretAccessKey":"s"}'"#;
    let profile = format!("[profile work]\nregion = eu-north-1\ncredential_process = {program}\n");
    let place = Place::new("profile", &[("aws", &profile)]);
    let file = place.folder.join("aws").display().to_string();
    let place = place
        .with("AWS_CONFIG_FILE", &file)
        .with("AWS_PROFILE", "work")
        .with("AWS_ENDPOINT_URL", &aws.url);
    place.run("get nodeclaims --table t --cluster-name demo").is(0, &[]);
    assert!(aws.log().iter().all(|call| call == "eu-north-1 Query"));
    place.run("get nodeclaims --table t --cluster-name demo --region sa-east-1").is(0, &[]);
    assert!(aws.log().iter().all(|call| call == "sa-east-1 Query"));
    let missing =
        place.with("AWS_PROFILE", "play").run("get nodeclaims --table t --cluster-name demo");
    missing.is(2, &["no region"]);
}

//! Any text has an answer, and only a secret path opens.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "Zk3vQ9sLr0a-TtYw71bN_xUe5mGh2DcJ";
const FORMER: &str = "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P";

fn review_of(request: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

/// As the API server sends the event of a pod that it cannot schedule, with what is not read.
fn event_created() -> Value {
    review_of(&json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "events.k8s.io", "version": "v1", "kind": "Event"},
        "resource": {"group": "events.k8s.io", "version": "v1", "resource": "events"},
        "requestKind": {"group": "events.k8s.io", "version": "v1", "kind": "Event"},
        "name": "web-0.17f", "namespace": "default", "operation": "CREATE",
        "userInfo": {"username": "system:kube-scheduler", "groups": ["system:authenticated"]},
        "object": {"reason": "FailedScheduling", "regarding": {"kind": "Pod", "name": "web-0"}},
        "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions"},
    }))
}

fn call(method: &str, path: &str, body: &str) -> String {
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "timeout=1s",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": "192.0.2.1"}},
        "body": body, "isBase64Encoded": false,
    })
    .to_string()
}

fn posted(body: &str) -> UrlCall {
    url_call(&call("POST", &format!("/{SECRET}"), body), &[SECRET])
}

fn answer(call: &UrlCall) -> (Value, Value) {
    let answer: Value = serde_json::from_str(&url_answer(call)).unwrap();
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    (answer, body)
}

#[test]
fn of_a_review_only_uid_kind_operation_and_dry_run_are_read() {
    let request = AdmissionRequest {
        uid: "705ab4f5-6393-11e8-b7cc-42010a800002".to_owned(),
        group: "events.k8s.io".to_owned(),
        kind: "Event".to_owned(),
        operation: Some(AdmissionOperation::Create),
        is_dry_run: false,
    };
    let mut event = event_created();
    assert_eq!(posted(&event.to_string()), UrlCall::Review(request.clone()));
    event["request"]["object"] = json!([{"reason": 5}]);
    event["request"]["dryRun"] = json!(true);
    event["request"]["operation"] = json!("CONNECT");
    let dry = AdmissionRequest { operation: None, is_dry_run: true, ..request };
    assert_eq!(posted(&event.to_string()), UrlCall::Review(dry));
}

#[test]
fn every_review_is_allowed_under_its_uid() {
    let (answer, body) = answer(&posted(&event_created().to_string()));
    assert_eq!(answer["statusCode"], 200);
    assert_eq!(answer["headers"]["content-type"], "application/json");
    let response =
        json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true, "warnings": []});
    let expected = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    assert_eq!(body, expected);
}

#[test]
fn without_the_secret_path_nothing_is_read() {
    let body = event_created().to_string();
    let short = SECRET.trim_start_matches('Z');
    let long = format!("/{SECRET}{SECRET}");
    let wrong_end = format!("/{}K", SECRET.trim_end_matches('J'));
    for path in ["", "/", "/x", short, SECRET, &long, &wrong_end, &format!("//{SECRET}")] {
        for body in [&body, "{"] {
            let call = url_call(&call("POST", path, body), &[SECRET]);
            assert_eq!(call, UrlCall::NotFound, "{path}");
            assert_eq!(answer(&call).0["statusCode"], 404);
        }
    }
    for method in ["GET", "PUT", "post", ""] {
        let call = call(method, &format!("/{SECRET}"), &body);
        assert_eq!(url_call(&call, &[SECRET]), UrlCall::NotFound, "{method}");
    }
}

#[test]
fn each_of_the_paths_opens() {
    let body = event_created().to_string();
    for secret in [SECRET, FORMER] {
        let call = call("POST", &format!("/{secret}"), &body);
        assert!(matches!(url_call(&call, &[SECRET, FORMER]), UrlCall::Review(_)));
    }
    let former = call("POST", &format!("/{FORMER}"), &body);
    assert_eq!(url_call(&former, &[SECRET]), UrlCall::NotFound);
    let root = call("POST", "/", &body);
    assert_eq!(url_call(&root, &[] as &[&str]), UrlCall::NotFound);
    assert_eq!(url_call(&root, &[""]), UrlCall::NotFound);
}

/// What a REST API of API Gateway and a load balancer make of a call.
#[test]
fn calls_by_a_gateway_or_a_load_balancer_are_read_alike() {
    let gateway = json!({"resource": "/{proxy+}", "requestContext": {"httpMethod": "POST",
        "path": format!("/wake/{SECRET}"), "stage": "wake"}});
    let balancer = json!({"requestContext": {"elb": {"targetGroupArn": "arn:aws:t"}}});
    for parts in [gateway, balancer] {
        let mut event = parts;
        event["path"] = json!(format!("/{SECRET}"));
        event["httpMethod"] = json!("POST");
        event["body"] = json!(event_created().to_string());
        event["isBase64Encoded"] = json!(false);
        let by_url = posted(&event_created().to_string());
        assert_eq!(url_call(&event.to_string(), &[SECRET]), by_url);
        event["httpMethod"] = json!("GET");
        assert_eq!(url_call(&event.to_string(), &[SECRET]), UrlCall::NotFound);
    }
}

#[test]
fn a_dry_run_gets_a_warning() {
    let mut event = event_created();
    let warnings =
        |event: &Value| answer(&posted(&event.to_string())).1["response"]["warnings"].clone();
    assert_eq!(warnings(&event), json!([]));
    event["request"]["dryRun"] = json!(true);
    assert_eq!(warnings(&event), json!([PROBE_WARNING]));
}

#[test]
fn what_is_no_review_is_refused_with_the_reason() {
    let with = |pointer: &str, value: Value| {
        let mut event = event_created();
        *event.pointer_mut(pointer).unwrap() = value;
        event.to_string()
    };
    let without = |field: &str| {
        let mut event = event_created();
        event["request"].as_object_mut().unwrap().remove(field);
        event.to_string()
    };
    for (body, problem) in [
        (String::new(), "EOF while parsing"),
        ("{".to_owned(), "EOF while parsing"),
        ("[]".to_owned(), "invalid length 0"),
        ("{}".to_owned(), "missing field `apiVersion`"),
        (without("uid"), "missing field `uid`"),
        (without("kind"), "missing field `kind`"),
        (without("operation"), "missing field `operation`"),
        (with("/request/uid", json!("")), "request.uid: 1 to 128 bytes"),
        (with("/request/uid", json!("x".repeat(129))), "request.uid: 1 to 128 bytes"),
        (with("/request/kind/kind", json!(7)), "invalid type: integer `7`"),
        (with("/apiVersion", json!("admission.k8s.io/v1beta1")), "only kind AdmissionReview of"),
        (with("/kind", json!("ConversionReview")), "only kind AdmissionReview of"),
    ] {
        let call = posted(&body);
        let (answer, reply) = answer(&call);
        assert_eq!(answer["statusCode"], 400, "{body}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("AdmissionReview: {problem}")), "{message}");
    }
    let mut encoded: Value =
        serde_json::from_str(&call("POST", &format!("/{SECRET}"), "e30=")).unwrap();
    encoded["isBase64Encoded"] = json!(true);
    let refused = url_call(&encoded.to_string(), &[SECRET]);
    assert!(matches!(refused, UrlCall::Malformed(why) if why.starts_with("body: it is not JSON")));
}

#[test]
fn a_deep_object_is_skipped() {
    let deep = format!("\"oldObject\":{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = event_created().to_string().replace("\"oldObject\":null", &deep);
    assert!(matches!(posted(&body), UrlCall::Review(_)));
    let open = body.replace("]]", "");
    assert!(matches!(posted(&open), UrlCall::Malformed(_)));
}

proptest! {
    #[test]
    fn any_text_has_an_answer(event in any::<String>(), body in any::<String>()) {
        answer(&url_call(&event, &[SECRET]));
        let call = posted(&body);
        prop_assert!(!matches!(call, UrlCall::Review(_) | UrlCall::NotFound));
        answer(&call);
    }

    #[test]
    fn a_review_that_is_cut_or_changed_has_an_answer(at in 0_usize..900, byte in any::<char>(), cuts in any::<bool>()) {
        let body = event_created().to_string();
        let at = at.min(body.len());
        let start = body.get(..at).unwrap_or_default();
        let end = if cuts { "" } else { body.get(at + 1..).unwrap_or_default() };
        let changed = format!("{start}{byte}{end}");
        answer(&posted(&changed));
    }

    #[test]
    fn only_the_secret_opens(path in "/[A-Za-z0-9_-]{0,40}") {
        prop_assume!(path != format!("/{SECRET}"));
        let call = call("POST", &path, &event_created().to_string());
        prop_assert_eq!(url_call(&call, &[SECRET]), UrlCall::NotFound);
    }

    #[test]
    fn any_uid_comes_back(uid in ".{1,32}") {
        let mut event = event_created();
        event["request"]["uid"] = json!(uid);
        let (_, body) = answer(&posted(&event.to_string()));
        prop_assert_eq!(body["response"]["uid"].as_str(), Some(uid.as_str()));
    }
}

//! The webhooks of `wake`: what they are, and which requests their conditions let through.

use cel::{CelEnvironment, CelValue, Type};
use installer::{
    live::ObjectKind,
    wake::{OBJECTS, WakeArgs, conditions, objects},
};
use model::{
    ClusterName,
    wake::{AdmissionOperation, AdmissionRequest, WAKE_RULES, WakeKey, WakeRule},
};
use serde_json::{Value, json};

const URL: &str = "https://abc.lambda-url.eu-west-1.on.aws/Zk3vQ9sLr0a-TtYw71bN_xUe5mGh2DcJ";

#[test]
fn the_webhooks_are_those_of_the_rules() {
    let objects = objects(URL, &["kube-system".to_owned()]);
    let text = serde_json::to_string_pretty(&objects).unwrap();
    expect_test::expect_file!["wake.json"].assert_eq(&format!("{text}\n"));
}

/// The webhooks come last and go first: no event waits for `wake` without its own priority.
#[test]
fn what_is_applied_is_what_is_removed() {
    let applied = objects(URL, &[]);
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    let applied =
        applied.iter().rev().map(|object| (*ObjectKind::of(object).unwrap(), name(object)));
    let removed = OBJECTS.map(|(kind, name)| (kind, name.to_owned()));
    assert_eq!(applied.collect::<Vec<_>>(), removed);
}

/// The built-in FlowSchema takes the rest of what kube-scheduler asks, bindings and status patches among it.
#[test]
fn only_the_events_of_the_scheduler_have_their_own_seats() {
    let [level, schema, _] = objects(URL, &[]).try_into().unwrap();
    assert_eq!(level["kind"], "PriorityLevelConfiguration");
    assert_eq!(level["spec"]["limited"]["borrowingLimitPercent"], 0, "no seats of others");
    let spec = &schema["spec"];
    assert_eq!(spec["priorityLevelConfiguration"]["name"], level["metadata"]["name"]);
    assert!(spec["matchingPrecedence"].as_u64().unwrap() < 800, "before the built-in one");
    let [rule] = spec["rules"].as_array().unwrap().as_slice() else { panic!("{spec}") };
    let scheduler = json!([{"kind": "User", "user": {"name": "system:kube-scheduler"}}]);
    assert_eq!(rule["subjects"], scheduler);
    let [of_resources] = rule["resourceRules"].as_array().unwrap().as_slice() else {
        panic!("{rule}")
    };
    assert_eq!(of_resources["resources"], json!(["events"]));
    // The API groups are those whose events have webhooks.
    let groups = WAKE_RULES.iter().filter(|rule| rule.resource == "events").map(|rule| rule.group);
    let mut groups: Vec<&str> = groups.collect();
    groups.sort_unstable();
    assert_eq!(of_resources["apiGroups"], json!(groups));
}

#[test]
fn no_webhook_can_hold_a_request_back() {
    let configuration = objects(URL, &[]).pop().unwrap();
    let webhooks = configuration["webhooks"].as_array().unwrap();
    assert_eq!(webhooks.len(), WAKE_RULES.len());
    for webhook in webhooks {
        assert_eq!(webhook["failurePolicy"], "Ignore", "{webhook}");
        assert_eq!(webhook["timeoutSeconds"], 1, "{webhook}");
        assert_eq!(webhook["sideEffects"], "None", "{webhook}");
        assert!(webhook.get("namespaceSelector").is_none(), "{webhook}");
        // An API server takes names of three parts and more, and conditions by name.
        assert_eq!(webhook["name"].as_str().unwrap().split('.').count(), 3, "{webhook}");
        let conditions = webhook["matchConditions"].as_array().unwrap();
        assert!(!conditions.is_empty() && conditions.len() <= 64, "{webhook}");
    }
}

const KEY: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_url_gets_the_secret_path_of_the_day() {
    let cluster = ClusterName::new("demo").unwrap();
    let now = "2026-11-30T12:00:00Z".parse().unwrap();
    let path = WakeKey::new(KEY).unwrap().path(&cluster, now);
    for (url, place) in [
        ("https://abc.on.aws/", "https://abc.on.aws"),
        (
            "https://abc-vpce-1.execute-api.eu-west-1.amazonaws.com/wake",
            "https://abc-vpce-1.execute-api.eu-west-1.amazonaws.com/wake",
        ),
    ] {
        let args = WakeArgs { wake: Some(url.to_owned()), wake_except: vec!["a".to_owned()] };
        let wanted = args.wanted(Some(KEY)).unwrap().unwrap();
        let expected = objects(&format!("{place}/{path}"), &["a".to_owned()]);
        assert_eq!(wanted.objects(&cluster, now), expected);
        assert!(!format!("{wanted:?}").contains(KEY), "a key is not printed");
    }
}

#[test]
fn a_url_is_one_that_a_webhook_may_have_and_comes_with_a_key() {
    let args = |url: &str| WakeArgs { wake: Some(url.to_owned()), wake_except: Vec::new() };
    assert!(WakeArgs::default().wanted(None).unwrap().is_none());
    for (url, problem) in [
        ("http://host/", "does not begin with https://"),
        ("https:///", "has no host"),
        ("https://", "has no host"),
        ("https://host/?a=b", "has no query, fragment or user"),
        ("https://me@host/", "has no query, fragment or user"),
    ] {
        let why = args(url).wanted(Some(KEY)).unwrap_err().to_string();
        assert!(why.starts_with("--wake: ") && why.contains(problem), "{why}");
        assert!(why.contains("the output WakeUrl of the stack"), "{why}");
    }
    for key in [None, Some(""), Some("0123456789")] {
        let why = args("https://host/").wanted(key).unwrap_err().to_string();
        assert!(why.starts_with("JOURNEYMAN_WAKE_KEY: a key of at least 32 bytes"), "{why}");
        assert!(!why.contains("0123456789"), "a key is not repeated: {why}");
    }
}

fn cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(truth) => CelValue::Bool(*truth),
        Value::Number(number) => CelValue::Int(number.as_i64().unwrap()),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => CelValue::List(items.iter().map(cel).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (name.as_str().into(), cel(value));
            CelValue::Map(fields.iter().map(field).collect())
        }
    }
}

/// Whether every condition of `rule` holds of `request`, as the API server evaluates them: an error in one skips the
/// webhook, unless another does not hold anyway.
fn holds(rule: &WakeRule, request: &Value) -> Result<bool, String> {
    let variables = [("request", Type::Dyn), ("object", Type::Dyn), ("oldObject", Type::Dyn)];
    let environment = CelEnvironment { variables: &variables, functions: &[], has_bind: false };
    let values = ["", "/object", "/oldObject"].map(|part| cel(request.pointer(part).unwrap()));
    let mut holds = Ok(true);
    for (name, expression) in conditions(rule) {
        let program =
            environment.compile(&expression).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(*program.result(), Type::Bool, "{name}");
        match program.evaluate(&values) {
            Ok(CelValue::Bool(true)) => {}
            Ok(CelValue::Bool(false)) => return Ok(false),
            Ok(other) => panic!("{name}: {other}"),
            Err(why) => holds = Err(format!("{name}: {why}")),
        }
    }
    holds
}

fn request(operation: &str, kind: (&str, &str), user: &[&str], old: Value, new: Value) -> Value {
    let mut request = json!({
        "operation": operation,
        "kind": {"group": kind.0, "version": "v1", "kind": kind.1},
        "userInfo": {"username": "u", "groups": user},
    });
    let objects = [("object".to_owned(), new), ("oldObject".to_owned(), old)];
    request.as_object_mut().unwrap().extend(objects);
    request
}

/// The rule whose webhook the API server calls for `request`.
fn called(request: &Value) -> Option<&'static str> {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let review = AdmissionRequest {
        uid: "1".to_owned(),
        group: text("/kind/group"),
        kind: text("/kind/kind"),
        operation: AdmissionOperation::parse(&text("/operation")),
        is_dry_run: false,
    };
    let rule = review.rule()?;
    holds(rule, request).unwrap_or_else(|why| panic!("{request}: {why}")).then_some(rule.name)
}

const USER: &[&str] = &["system:authenticated"];
const OURS: &[&str] = &["system:authenticated", "journeyman:provision"];
const NEW: (&str, &str) = ("events.k8s.io", "Event");
const CORE: (&str, &str) = ("", "Event");

/// As kube-scheduler sends it.
fn scheduler_event() -> Value {
    json!({
        "metadata": {"name": "web-0.17f", "namespace": "default"},
        "eventTime": "2026-11-29T12:00:00.000000Z", "type": "Warning",
        "reason": "FailedScheduling", "action": "Scheduling",
        "note": "0/3 nodes are available: 3 Insufficient cpu.",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "web-0"},
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-ip-10-0-0-1",
    })
}

fn core_event() -> Value {
    json!({
        "metadata": {"name": "web-0.17f", "namespace": "default"},
        "type": "Warning", "reason": "FailedScheduling", "message": "0/3 nodes are available",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web-0"},
        "source": {"component": "my-scheduler"},
    })
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    *object.pointer_mut(pointer).unwrap() = value;
    object
}

fn without(mut object: Value, field: &str) -> Value {
    object.as_object_mut().unwrap().remove(field);
    object
}

#[test]
fn an_event_of_a_scheduler_calls() {
    let created = |kind, event| request("CREATE", kind, USER, Value::Null, event);
    let expected = Some("unschedulable-pods");
    assert_eq!(called(&created(NEW, scheduler_event())), expected);
    assert_eq!(called(&created(CORE, core_event())), Some("unschedulable-pods-core"));
    let mut series = scheduler_event();
    series["series"] = json!({"count": 2});
    assert_eq!(called(&request("UPDATE", NEW, USER, scheduler_event(), series)), expected);
    // A second profile, or an event without its reporter.
    let other = with(scheduler_event(), "/reportingController", json!("batch"));
    assert_eq!(called(&created(NEW, other)), expected);
    let unsigned = without(scheduler_event(), "reportingController");
    assert_eq!(called(&created(NEW, unsigned)), expected);
    let unsigned = without(core_event(), "source");
    assert_eq!(called(&created(CORE, unsigned)), Some("unschedulable-pods-core"));
}

#[test]
fn no_other_event_calls() {
    let created = |kind, event| request("CREATE", kind, USER, Value::Null, event);
    for event in [
        with(scheduler_event(), "/reason", json!("Scheduled")),
        with(scheduler_event(), "/reportingController", json!("karpenter")),
        with(scheduler_event(), "/regarding/kind", json!("Reservation")),
        without(scheduler_event(), "reason"),
        without(scheduler_event(), "regarding"),
        with(scheduler_event(), "/regarding", json!({})),
    ] {
        assert_eq!(called(&created(NEW, event.clone())), None, "{event}");
    }
    for event in [
        with(core_event(), "/reason", json!("Pulled")),
        with(core_event(), "/source/component", json!("karpenter")),
        with(core_event(), "/involvedObject/kind", json!("Node")),
        without(core_event(), "reason"),
    ] {
        assert_eq!(called(&created(CORE, event.clone())), None, "{event}");
    }
    let ended = request("DELETE", NEW, USER, scheduler_event(), Value::Null);
    assert_eq!(called(&ended), None);
}

#[test]
fn what_functions_write_themselves_does_not_call() {
    let by = |user| request("CREATE", NEW, user, Value::Null, scheduler_event());
    assert_eq!(called(&by(OURS)), None);
    assert_eq!(called(&by(&["system:masters", "journeymen:all"])), Some("unschedulable-pods"));
    let mut anonymous = by(USER);
    anonymous["userInfo"].as_object_mut().unwrap().remove("groups");
    assert_eq!(called(&anonymous), Some("unschedulable-pods"));
    let claim = json!({"metadata": {"name": "a"}, "spec": {}});
    let kind = ("karpenter.sh", "NodeClaim");
    let deleted = |user| called(&request("DELETE", kind, user, claim.clone(), Value::Null));
    assert_eq!((deleted(OURS), deleted(USER)), (None, Some("node-claims-deleted")));
    let made = |user| called(&request("CREATE", kind, user, Value::Null, claim.clone()));
    assert_eq!((made(OURS), made(USER)), (None, Some("node-claims-created")));
}

#[test]
fn a_probe_of_a_function_calls() {
    let by = |user, reporter: &str| {
        let event = with(scheduler_event(), "/reportingController", json!(reporter));
        called(&request("CREATE", NEW, user, Value::Null, event))
    };
    assert_eq!(by(OURS, "journeyman-probe"), Some("unschedulable-pods"));
    assert_eq!(by(USER, "journeyman-probe"), Some("unschedulable-pods"));
    assert_eq!((by(OURS, "default-scheduler"), by(OURS, "karpenter")), (None, None));
    let unsigned = without(scheduler_event(), "reportingController");
    assert_eq!(called(&request("CREATE", NEW, OURS, Value::Null, unsigned)), None);
}

#[test]
fn only_a_change_of_spec_calls() {
    let kinds = [
        ("karpenter.sh", "NodePool"),
        ("karpenter.sh", "NodeOverlay"),
        ("karpenter.k8s.aws", "EC2NodeClass"),
        ("autoscaling.x-k8s.io", "CapacityBuffer"),
    ];
    for kind in kinds {
        let object = |weight: i64, label: &str| json!({"metadata": {"name": "a", "labels": {"x": label}}, "spec": {"weight": weight}});
        let changed = |old, new| called(&request("UPDATE", kind, USER, old, new));
        assert!(changed(object(1, "a"), object(2, "a")).is_some(), "{kind:?}");
        assert_eq!(changed(object(1, "a"), object(1, "b")), None, "{kind:?}");
        let created = request("CREATE", kind, USER, Value::Null, object(1, "a"));
        assert!(called(&created).is_some(), "{kind:?}");
        let deleted = request("DELETE", kind, USER, object(1, "a"), Value::Null);
        assert_eq!(called(&deleted), None, "{kind:?}");
    }
}

#[test]
fn the_deletion_of_a_node_of_karpenter_calls() {
    let deleted = |labels: Value| {
        let node = json!({"metadata": {"name": "ip-1", "labels": labels}});
        called(&request("DELETE", ("", "Node"), USER, node, Value::Null))
    };
    assert_eq!(deleted(json!({"karpenter.sh/nodepool": "default"})), Some("nodes-deleted"));
    // That of a NodeClaim without a NodePool.
    let of_class = json!({"karpenter.k8s.aws/ec2nodeclass": "default", "a": "b"});
    assert_eq!(deleted(of_class), Some("nodes-deleted"));
    assert_eq!(deleted(json!({"eks.amazonaws.com/nodegroup": "system"})), None);
    assert_eq!(deleted(json!({})), None);
    let node = json!({"metadata": {"name": "ip-1"}});
    assert_eq!(called(&request("DELETE", ("", "Node"), USER, node.clone(), Value::Null)), None);
    assert_eq!(called(&request("UPDATE", ("", "Node"), USER, node.clone(), node)), None);
}

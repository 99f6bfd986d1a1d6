//! Lists from an API server: whole, malformed in part, and no lists.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};

use api::lists::*;
use model::{NodeName, Problem, static_hash::NODE_POOL, storage::VolumeAttachment};

mod cursor;
mod devices;
mod pods;

#[track_caller]
fn check(body: &str, expected: &Expect) {
    let page = pod_list(body.as_bytes()).unwrap();
    let names: Vec<_> = page.items.iter().map(|pod| pod.key.to_string()).collect();
    let bad: Vec<_> =
        page.malformed.iter().map(|m| format!("{}: {}", m.object, m.problem)).collect();
    expected.assert_eq(&format!("read {}\n{}\n", names.join(" "), bad.join("\n")));
}

#[test]
fn one_malformed_pod_does_not_poison_its_list() {
    check(
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[
            {"metadata":{"name":"a","namespace":"x"},"spec":{"containers":[{"name":"m"}]}},
            {"metadata":{"name":"b","namespace":"x"},"spec":{"containers":[
                {"name":"m","resources":{"requests":{"cpu":"1O0m"}}}]}},
            {"metadata":{"namespace":"x"},"spec":{"containers":[{"name":"m"}]}},
            5,
            {"metadata":{"name":"c"},"spec":{"nodeName":7,"containers":[{"name":"m"}]}},
            {"metadata":{"name":"d","futureField":1},"spec":{"futureField":1,
                "containers":[{"name":"m","futureField":{}}]},"status":{"futureField":[]}}]}"#,
        &expect![[r#"
            read x/a x/b default/d
            Pod x/b: spec.containers[0].resources.requests.cpu: `1O0m` is not a quantity: after the number only one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 may stand
            Pod number 2: metadata.name: is required
            Pod number 3: must be a map, not the number 5
            Pod c: spec.nodeName: must be a text, not the number 7
        "#]],
    );
}

#[test]
fn what_can_be_read_of_a_pod_stands_for_it() {
    let rest = |metadata: &str, spec: &str, status: &str| {
        let body =
            format!(r#"{{"items":[{{"metadata":{metadata},"spec":{spec},"status":{status}}}]}}"#);
        let page = pod_list(body.as_bytes()).unwrap();
        assert_eq!(page.malformed.len(), 1, "{body}");
        page.items.into_iter().next()
    };
    let bad = r#"{"nodeName":"n","priority":"high","containers":[]}"#;
    let daemon = r#"{"name":"a","uid":"7","ownerReferences":[{"apiVersion":"apps/v1",
        "kind":"DaemonSet","name":"d","uid":"1","controller":true}]}"#;
    let pod = rest(daemon, bad, r#"{"phase":"Running"}"#).unwrap();
    assert!(pod.is_unreadable() && pod.is_owned_by_daemon_set(), "{pod:?}");
    assert_eq!((pod.uid.as_str(), pod.node.as_ref().map(NodeName::as_str)), ("7", Some("n")));
    // What is in doubt keeps its node.
    let pod = rest(r#"{"name":"a","ownerReferences":5}"#, bad, r#"{"phase":5}"#).unwrap();
    assert!(pod.is_reschedulable(), "{pod:?}");
    let ended = rest(r#"{"name":"a"}"#, bad, r#"{"phase":"Succeeded"}"#).unwrap();
    assert!(!ended.is_reschedulable(), "{ended:?}");
    let waits = rest(r#"{"name":"a"}"#, r#"{"nodeName":"","priority":"high"}"#, "{}").unwrap();
    assert_eq!((waits.node, waits.phase), (None, model::pod::PodPhase::Pending));
    // Neither owner nor node is known.
    assert_eq!(rest(r#"{"uid":"7"}"#, bad, "{}"), None);
    assert_eq!(rest(r#"{"name":"a"}"#, r#"{"nodeName":7}"#, "{}"), None);
    assert_eq!(rest(r#"{"name":"a"}"#, r#"{"nodeName":"N_"}"#, "{}"), None);
    assert_eq!(rest(r#"{"name":"a"}"#, "5", "{}"), None);
}

#[test]
fn pages_carry_token_and_version() {
    let body = br#"{"metadata":{"continue":"abc","resourceVersion":"7"},"items":[]}"#;
    let page = node_list(body).unwrap();
    assert_eq!(
        (page.continue_token.as_deref(), page.resource_version.as_deref()),
        (Some("abc"), Some("7"))
    );
    assert_eq!(
        node_list(br#"{"metadata":{"continue":""},"items":[]}"#).unwrap().continue_token,
        None
    );
}

#[test]
fn what_is_no_list_is_an_error() {
    for body in [&b"{}"[..], b"[]", b"", b"\xff"] {
        assert!(matches!(pod_list(body), Err(Error::List(_))));
    }
    let error = node(br#"{"metadata":{"name":"N"}}"#).unwrap_err().to_string();
    assert!(error.starts_with("Node N: metadata.name: `N` is not a valid node name"), "{error}");
}

#[test]
fn a_node_is_read_as_the_server_sends_it() {
    let body = br#"{"metadata":{"name":"ip-10-0-0-1","creationTimestamp":"2026-08-01T11:00:00Z",
        "labels":{"karpenter.sh/registered":"true","env":"prod"},"finalizers":["karpenter.sh/termination"],
        "annotations":{"karpenter.sh/do-not-disrupt":"true","other":"x"}},
        "spec":{"providerID":"aws:///us-west-2a/i-0123","taints":[{"key":"a","effect":"NoSchedule",
        "timeAdded":"2026-08-01T11:00:00Z"}]},
        "status":{"capacity":{"cpu":"2","memory":"7518Mi","pods":"29"},"allocatable":{"cpu":"1930m"},
        "images":[{"names":["x"]}],"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let node = node(body).unwrap();
    assert!(node.is_ready && node.is_registered() && !node.is_deleting);
    assert_eq!(node.labels.get("env").map(String::as_str), Some("prod"));
    assert_eq!(node.annotations.len(), 1);
    assert_eq!(node.capacity.to_string(), "cpu 2, memory 7518Mi, pods 29");
    assert_eq!(node.allocatable.to_string(), "cpu 1930m");
    assert_eq!(node.taints[0].to_string(), "a:NoSchedule");
}

#[test]
fn a_pool_that_karpenter_finds_fault_with_says_so_itself() {
    let body =
        br#"{"items":[{"metadata":{"name":"general","generation":3},"spec":{"template":{"spec":{
        "nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},
        "requirements":[{"key":"team","operator":"In","values":["a b"]}]}},"future":1},
        "status":{"resources":{"cpu":"0"}}}]}"#;
    let page = node_pool_list(body).unwrap();
    assert_eq!(page.malformed, []);
    let problems = &page.items[0].problems;
    let start = "spec.template.spec.requirements[0].values: `a b` is not a label value";
    assert!(problems.len() == 1 && Problem::in_words(problems).starts_with(start), "{problems:?}");
}

/// A NodePool with `limits` and `expireAfter`.
fn pool_with(limits: &str, expire_after: &str) -> model::node_pool::NodePool {
    let body = format!(
        r#"{{"items":[{{"metadata":{{"name":"general"}},"spec":{{"limits":{limits},"template":{{"spec":{{
        "expireAfter":"{expire_after}","requirements":[],"nodeClassRef":{{"group":"karpenter.k8s.aws",
        "kind":"EC2NodeClass","name":"default"}}}}}}}},"status":{{"conditions":[{{"type":"Ready",
        "message":"see ${{CLUSTER}} and <name>"}}]}}}}]}}"#
    );
    let page = node_pool_list(body.as_bytes()).unwrap();
    assert_eq!(page.malformed, []);
    page.items.into_iter().next().unwrap()
}

#[test]
fn a_stored_amount_that_no_resource_has_stops_one_pool_at_most() {
    let pool = pool_with(r#"{"cpu":"-5","a b":"1","memory":"1Gi"}"#, "9999999h");
    assert_eq!(pool.problems, []);
    let limits: Vec<_> = pool.limits.0.iter().map(|(name, most)| (name.as_str(), *most)).collect();
    assert_eq!(limits, [("cpu", 0), ("memory", 1 << 30)]);
    let years = pool.template.expire_after.unwrap().as_hours() / 24 / 365;
    assert_eq!(years, 292);
    let pool = pool_with(r#"{"cpu":"1e3.5"}"#, "Never");
    let problems = Problem::in_words(&pool.problems);
    assert!(problems.starts_with("spec.limits.cpu: `1e3.5` is not a quantity"), "{problems}");
}

#[test]
fn a_stored_term_that_breaks_a_rule_stops_launches_and_selects_what_it_did() {
    let body = br#"{"items":[{"metadata":{"name":"default"},"spec":{"role":"nodes",
        "amiSelectorTerms":[{"alias":"al2023@latest"}],"securityGroupSelectorTerms":[{"id":"sg-1"}],
        "subnetSelectorTerms":[{"id":"subnet-0A"},{"id":"subnet-1","tags":{"a":"b"}},{"tags":{"c":"d"}}]}}]}"#;
    let page = node_class_list(body).unwrap();
    assert_eq!(page.malformed, []);
    let class = &page.items[0].class;
    let shown: Vec<_> = class.subnet_terms.iter().map(|term| format!("{term:?}")).collect();
    assert_eq!(shown, ["Id(\"subnet-1\")", "Tags({\"c\": \"d\"})"]);
    let fields: Vec<_> = class.problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["spec.subnetSelectorTerms[0].id", "spec.subnetSelectorTerms[1]"]);
}

#[test]
fn a_pool_of_another_provider_is_not_reported() {
    let body = |group: &str| {
        format!(
            r#"{{"items":[{{"metadata":{{"name":"general","uid":"u1","generation":3}},"spec":{{
            "template":{{"spec":{{"requirements":[],"nodeClassRef":{{
            "group":"{group}","kind":"EC2NodeClass","name":"default"}}}}}}}}}}]}}"#
        )
    };
    for (group, count) in [("karpenter.k8s.aws", 1), ("eks.amazonaws.com", 0)] {
        let page = observed_node_pool_list(body(group).as_bytes()).unwrap();
        assert_eq!((page.items.len(), page.malformed), (count, Vec::new()), "{group}");
        let page = node_pool_list(body(group).as_bytes()).unwrap();
        assert_eq!((page.items.len(), page.malformed), (count, Vec::new()), "{group}");
    }
}

/// Otherwise `sweep` would adopt the instances of EKS Auto Mode, which have the tags of this cluster.
#[test]
fn a_claim_of_another_provider_is_left_out() {
    let body = |group: &str| {
        format!(
            r#"{{"items":[{{"metadata":{{"name":"general-1","labels":{{"karpenter.sh/nodepool":"general"}}}},"spec":{{
            "requirements":[],"nodeClassRef":{{"group":"{group}","kind":"EC2NodeClass","name":"default"}}}}}}]}}"#
        )
    };
    for (group, count) in [("karpenter.k8s.aws", 1), ("eks.amazonaws.com", 0)] {
        let page = node_claim_list(body(group).as_bytes()).unwrap();
        assert_eq!((page.items.len(), page.malformed), (count, Vec::new()), "{group}");
    }
}

#[test]
fn a_pool_has_the_hash_of_what_it_is_now() {
    let page = |grace: &str| {
        let body = format!(
            r#"{{"items":[{{"metadata":{{"name":"general","annotations":{{
            "karpenter.sh/nodepool-hash":"1","karpenter.sh/nodepool-hash-version":"v2"}}}},
            "spec":{{"template":{{"spec":{{"nodeClassRef":{{"group":"karpenter.k8s.aws",
            "kind":"EC2NodeClass","name":"default"}},"requirements":[],"expireAfter":"720h",
            "terminationGracePeriod":"{grace}"}}}}}}}}]}}"#
        );
        let pool = node_pool_list(body.as_bytes()).unwrap().items.remove(0);
        let annotation = |key: &str| pool.annotations.get(key).cloned().unwrap_or_default();
        (annotation(NODE_POOL.key), annotation(NODE_POOL.version_key))
    };
    let (text, version) = page("1h");
    assert_eq!((text.parse::<u64>().is_ok(), version.as_str()), (true, "v3"));
    assert!(text != "1" && text != page("2h").0 && text == page("60m").0);
}

#[test]
fn a_list_of_metadata_may_have_null_for_no_item() {
    let page = synced_node_claim_list(br#"{"metadata":{"resourceVersion":"7"},"items":null}"#);
    assert_eq!(page.unwrap().items, []);
    assert!(synced_node_claim_list(br#"{"metadata":{"resourceVersion":"7"}}"#).is_err());
}

#[test]
fn a_node_claim_of_a_user_keeps_the_annotations_that_its_node_gets() {
    let of_labels = |labels: &str| {
        let body = format!(
            r#"{{"metadata":{{}},"items":[{{
                "metadata":{{"name":"mine","uid":"u","creationTimestamp":"2026-08-01T12:00:00Z",
                    "labels":{labels},"annotations":{{"example.com/owner":"me","journeyman/packing":"x",
                    "kubectl.kubernetes.io/last-applied-configuration":"{{}}","karpenter.sh/do-not-disrupt":"true"}}}},
                "spec":{{"nodeClassRef":{{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"}},
                    "requirements":[]}}}}]}}"#
        );
        let page = node_claim_list(body.as_bytes()).unwrap();
        let [claim] = page.items.as_slice() else { panic!("{:?}", page.malformed) };
        claim.annotations.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of_labels("{}"), "example.com/owner karpenter.sh/do-not-disrupt");
    let of_pool = of_labels(r#"{"karpenter.sh/nodepool":"general"}"#);
    assert_eq!(of_pool, "journeyman/packing karpenter.sh/do-not-disrupt");
}

#[test]
fn a_node_that_cannot_be_read_still_says_which_instance_it_is() {
    let body = br#"{"metadata":{},"items":[
        {"metadata":{"name":"one"},"spec":{"providerID":"aws:///us-west-2a/i-1"},"status":5},
        {"metadata":{"name":"two"},"spec":{"providerID":7}},
        {"metadata":{"name":"three"},"spec":{"providerID":"kind://three"},"status":5}]}"#;
    let page = node_list(body).unwrap();
    assert_eq!(page.items, []);
    let ids = page.malformed.iter().map(|malformed| malformed.provider_id.as_ref());
    let ids: Vec<_> = ids.map(|id| id.map(model::ProviderId::as_str)).collect();
    assert_eq!(ids, [Some("aws:///us-west-2a/i-1"), None, Some("kind://three")]);
}

#[test]
fn attachments_say_where_a_volume_is() {
    let body = br#"{"metadata":{},"items":[
        {"metadata":{"name":"csi-1"},"spec":{"attacher":"ebs.csi.aws.com","nodeName":"one",
            "source":{"persistentVolumeName":"pv-1"}},"status":{"attached":true}},
        {"metadata":{"name":"csi-2"},"spec":{"attacher":"x","nodeName":"two",
            "source":{"inlineVolumeSpec":{}}}},
        {"metadata":{"name":"csi-3"},"spec":{"attacher":"x","source":{}}},
        {"metadata":{"name":"csi-4"},"spec":{"attacher":"x","nodeName":"two","source":5}}]}"#;
    let page = volume_attachment_list(body).unwrap();
    let attachment = |name: &str, node: &str, volume: Option<&str>| VolumeAttachment {
        name: name.to_owned(),
        node: node.parse().unwrap(),
        volume: volume.map(ToOwned::to_owned),
    };
    let expected = [
        attachment("csi-1", "one", Some("pv-1")),
        attachment("csi-2", "two", None),
        attachment("csi-4", "two", Some("csi-4")),
    ];
    assert_eq!(page.items, expected);
    let bad: Vec<_> =
        page.malformed.iter().map(|m| format!("{}: {}", m.object, m.problem)).collect();
    let why = [
        "VolumeAttachment csi-3: spec.nodeName: is required",
        "VolumeAttachment csi-4: spec.source: must be a map, not the number 5",
    ];
    assert_eq!(bad, why);
}

//! Random objects that an API server stores, made from the schemas of our definitions.

use std::{collections::BTreeSet, sync::Arc};

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::{Map, Value, json};

use super::server;

/// Texts of every format that a definition asks for, each beside some that only just match its pattern.
const TEXTS: &[&str] = &[
    "",
    "*",
    "a",
    "0",
    "7",
    "-1",
    "a b",
    "A_b",
    "a/b",
    ".",
    "a=b",
    "x\ny",
    "${CLUSTER}",
    "ä",
    "2026-08-01T12:00:00Z",
    "2026-08-01T12:00:00.123456+02:00",
    "2026-08-01t12:00:00z",
    "2026-08-01T12:00:00.1234567890123Z",
    "2026-08-01T12:00:00+99:00",
    "2026-02-30T12:00:00Z",
    "default",
    "general",
    "team",
    "web-0",
    "True",
    "a.b-c.example",
    "example.com/a_b.c",
    "/a",
    "a/",
    "Deployment",
    "StatefulSet",
    "EC2NodeClass",
    "apps",
    "karpenter.k8s.aws",
    "eks.amazonaws.com",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "node.kubernetes.io/instance-type",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-tenancy",
    "beta.kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/cluster-service",
    "node.kubernetes.io/custom",
    "k8s.io/a",
    "x.karpenter.sh/y",
    "amd64",
    "us-west-2a",
    "usw2-az1",
    "m5.large",
    "spot",
    "on-demand",
    "reserved",
    "c6a.large",
    "cpu",
    "memory",
    "nodes",
    "pods",
    "ephemeral-storage",
    "nvidia.com/gpu",
    "pid",
    "hugepages-2Mi",
    "500m",
    "2Gi",
    "1.5",
    ".5",
    "5.",
    "+3",
    "1e3",
    "1E-3",
    "1e3.5",
    "2E-.5",
    "1e1.",
    "100n",
    "1Ei",
    "-5",
    "-1Gi",
    "0.0001",
    "99999999999999999999",
    "1e40",
    "9223372036854775808",
    "30s",
    "1h30m",
    "720h",
    "Never",
    "0s",
    "1m1h",
    "99999999h",
    "9999999999999999999999s",
    "10%",
    "0%",
    "100%",
    "7%",
    "99999999999",
    "@daily",
    "@hourly",
    "@dailyx",
    "0 9 * * mon-fri",
    "0 0 * * sat-sun",
    "CRON_TZ=UTC 0 9 * * *",
    "x y z w v",
    "61 99 * * *",
    "x\n0 9 * * *",
    "1h0m",
    "30m0s",
    "8h",
    "10m",
    "99999999999999999999h",
    "2h0s",
    "0.05",
    "12",
    "0.00000000000000000001",
    "123456789012345678901234567890",
    "+0.5",
    "-2",
    "+.5",
    "-.5",
    "+10%",
    "-10%",
    "-100%",
    "-99.9%",
    "+1000000%",
    "+99999999999999999999",
    "-0%",
    "subnet-0a1b",
    "xsubnet-1",
    "subnet-1 ",
    "subnet-A1",
    "subnet-aB",
    "sg-0a1b",
    "sg-1x!",
    "xsg-1",
    "ami-0123456789abcdef0",
    "ami-1-x",
    "cr-0a1b",
    "pg-0a1b",
    "123456789012",
    "snap-0a1b",
    "i-0123456789abcdef0",
    "al2023@latest",
    "al2@latest",
    "bottlerocket@v1.20.0",
    "windows2022@latest",
    "al2023@newest",
    "al2@a@b",
    "100Gi",
    "1T",
    "58Ti",
    "Ti",
    "T",
    "18Ti",
    "64000G",
    "aws:///us-west-2a/i-0123456789abcdef0",
    "aws:///us-west-2a",
    "ip-10-0-0-1.ec2.internal",
    "Ready",
    "Drifted",
    "NotReady",
    "a,b:c",
    "Not",
    "In",
    "NotIn",
    "Exists",
    "/dev/xvda",
    "arn:aws:iam::123456789012:role/nodes",
    "10.0.0.10",
    "memory.available",
    "nodefs.available",
    "5%",
    "150%",
    "2m0s",
    "#!/bin/sh\necho hi\n",
    "buffer.x-k8s.io/active-capacity",
    "gp3",
    "self",
    "amazon",
    "kubernetes.io/cluster/a",
    "Name",
];

/// What a member called so mostly is, so that most objects mean something.
const USUAL: &[(&str, &[&str])] = &[
    ("group", &["karpenter.k8s.aws"]),
    ("kind", &["EC2NodeClass", "Deployment"]),
    ("name", &["default"]),
    ("operator", &["In", "NotIn", "Exists", "DoesNotExist"]),
    ("providerID", &["aws:///us-west-2a/i-0123456789abcdef0"]),
    ("nodeName", &["ip-10-0-0-1.ec2.internal"]),
    ("zone", &["us-west-2a"]),
    ("availabilityZone", &["us-west-2a"]),
    ("instanceType", &["m5.large"]),
];

/// Members that may be left out and mostly are there: few EC2NodeClasses are stored without them.
const OFTEN: [&str; 3] = ["amiFamily", "ebs", "role"];

/// Texts as long as any limit lets through.
const LENGTHS: [usize; 4] = [63, 64, 253, 316];

fn texts(schema: &Value, key: &str) -> BoxedStrategy<Value> {
    let fits = |text: &String| server::stored(schema, &json!(text)).is_ok();
    if let Some(choices) = schema["enum"].as_array() {
        return select(choices.clone()).boxed();
    }
    let long = LENGTHS.iter().map(|length| "a".repeat(*length));
    let candidates = TEXTS.iter().map(|text| (*text).to_owned()).chain(long);
    let candidates: Vec<String> = candidates.filter(fits).collect();
    assert!(!candidates.is_empty(), "no text for {key}: {schema}");
    let usual = USUAL.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, texts)| *texts);
    let usual: Vec<String> = usual.iter().map(|text| (*text).to_owned()).filter(fits).collect();
    let any = select(candidates).prop_map(Value::from);
    if usual.is_empty() {
        return any.boxed();
    }
    prop_oneof![4 => select(usual).prop_map(Value::from), 1 => any].boxed()
}

fn integers(schema: &Value) -> BoxedStrategy<Value> {
    let mut numbers = vec![i64::MIN, i32::MIN.into(), -1, 0, 1, 2, 30, 60, 100, 150, 65_536];
    numbers.extend([i64::from(i32::MAX), i64::from(u32::MAX), i64::from(u32::MAX) + 1, i64::MAX]);
    numbers.extend(["minimum", "maximum"].iter().filter_map(|key| schema.get(key)?.as_i64()));
    numbers.retain(|number| server::stored(schema, &json!(number)).is_ok());
    select(numbers).prop_map(Value::from).boxed()
}

/// Anything that JSON can say.
fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        select(TEXTS).prop_map(|text| json!(text)),
        select(vec![json!(null), json!(true), json!(-1), json!(0), json!(110), json!(1.5)]),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(select(TEXTS).prop_map(str::to_owned), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Values that are stored under `schema`, of the member `key`.
pub(super) fn values(schema: &Value, key: &str) -> BoxedStrategy<Value> {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => of_rules(schema, maps(schema)),
        Some("array") => {
            let least = schema.get("minItems").map_or(0, |_| 1);
            let items = vec(values(&schema["items"], ""), least..least + 3);
            of_rules(schema, items.prop_map(Value::from).boxed())
        }
        Some("string") => texts(schema, key),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => integers(schema),
        _ if schema.get("x-kubernetes-int-or-string").is_some() => {
            prop_oneof![2 => texts(schema, key), 1 => integers(schema)].boxed()
        }
        _ => anything(),
    }
}

/// Those of `values` that break no rule of `schema`, as they are stored.
fn of_rules(schema: &Value, values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let schema = Arc::new(schema.clone());
    values.prop_filter_map("refused", move |value| server::stored(&schema, &value).ok()).boxed()
}

fn maps(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(of_values) = schema.get("additionalProperties") {
        let keys = select(TEXTS).prop_map(str::to_owned);
        let map = btree_map(keys, values(of_values, ""), 0..3);
        return map.prop_map(|map| Value::Object(map.into_iter().collect())).boxed();
    }
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().expect("members");
    let start = Just(Map::new()).boxed();
    let map = members.iter().fold(start, |map, (key, member)| {
        let value = values(member, key);
        let often = if OFTEN.contains(&key.as_str()) { 0.8 } else { 0.3 };
        let value = if required.contains(key.as_str()) {
            value.prop_map(Some).boxed()
        } else {
            option::weighted(often, value).boxed()
        };
        let key = key.clone();
        (map, value)
            .prop_map(move |(mut map, value)| {
                map.extend(value.map(|value| (key.clone(), value)));
                map
            })
            .boxed()
    });
    map.prop_map(Value::Object).boxed()
}

/// `metadata` as an API server stores it: it looks at names, labels and the keys of annotations.
fn metadata(is_namespaced: bool) -> impl Strategy<Value = Value> {
    let names = ["default", "general-x7", "a.b-c.example"].map(str::to_owned);
    let names: Vec<String> =
        names.into_iter().chain([63, 64, 200].map(|length| "a".repeat(length))).collect();
    let labels = ["karpenter.sh/nodepool", "app.kubernetes.io/managed-by", "team"];
    let of_labels = ["", "default", "journeyman", "A_b.c", "m5.large"].map(str::to_owned);
    let annotations = [
        model::labels::PACKING,
        model::labels::MAX_NODE_SHARE,
        model::labels::MAX_DOLLARS_PER_HOUR,
        "compatibility.karpenter.k8s.aws/v1alpha1-launch-template",
        model::labels::TERMINATION_TIMESTAMP,
        model::labels::SELECTED_PLACEMENT_GROUP,
        model::labels::LAUNCH_TEMPLATE_VERSION,
        model::labels::CLAIM_VERSION,
        model::labels::DO_NOT_DISRUPT,
        "karpenter.sh/nodepool-hash",
        "example.com/note",
    ];
    let keyed = |keys: Vec<&'static str>, texts: Vec<String>| {
        btree_map(select(keys).prop_map(str::to_owned), select(texts), 0..3)
    };
    let empty = std::iter::repeat_n(String::new(), TEXTS.len() / 4);
    let texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).chain(empty).collect();
    let parts = (
        prop_oneof![3 => Just("default".to_owned()), 1 => select(names)],
        keyed(labels.into(), of_labels.into()),
        keyed(annotations.into(), texts),
        option::weighted(0.2, Just("2026-08-01T12:10:00Z")),
        option::weighted(0.3, Just("apps/v1")),
    );
    parts.prop_map(move |(name, labels, annotations, deleted_at, owner)| {
        let mut metadata = json!({
            "name": name, "uid": "6b0b0b5e-0000-4000-8000-000000000001", "generation": 3,
            "creationTimestamp": "2026-08-01T12:00:00Z", "resourceVersion": "7",
            "labels": labels, "annotations": annotations,
        });
        if is_namespaced {
            metadata["namespace"] = json!("default");
        }
        if let Some(deleted_at) = deleted_at {
            metadata["deletionTimestamp"] = json!(deleted_at);
            metadata["finalizers"] = json!(["karpenter.sh/termination"]);
        }
        if let Some(version) = owner {
            metadata["ownerReferences"] = json!([
                {"apiVersion": version, "kind": "Deployment", "name": "web", "uid": "1"}]);
        }
        metadata
    })
}

/// Objects of the kind that `definition` defines.
pub(super) fn objects(definition: &Value) -> BoxedStrategy<Value> {
    let (spec, version) = (&definition["spec"], &definition["spec"]["versions"][0]);
    let head = json!({
        "apiVersion": format!("{}/{}", spec["group"].as_str().unwrap(), version["name"].as_str().unwrap()),
        "kind": spec["names"]["kind"],
    });
    let schema = version["schema"]["openAPIV3Schema"].clone();
    let parts = (
        metadata(spec["scope"] == "Namespaced"),
        option::weighted(0.98, values(&schema["properties"]["spec"], "spec")),
        option::weighted(0.7, values(&schema["properties"]["status"], "status")),
    );
    let whole = parts.prop_map(move |(metadata, spec, status)| {
        let mut object = head.clone();
        object["metadata"] = metadata;
        for (key, value) in [("spec", spec), ("status", status)] {
            if let Some(value) = value {
                object[key] = value;
            }
        }
        object
    });
    of_rules(&schema, whole.boxed())
}

//! Vectors from Karpenter itself, and laws of the algorithm.

use serde_json::{Value, json};

use api::{
    files::stored,
    karpenter::{
        hash::{canonical_size, node_class, node_pool},
        node_class::Ec2NodeClassSpec,
    },
};

/// The vectors that section 1.4 of the specification gives, from Karpenter's own tests.
fn published(change: impl FnOnce(&mut Value)) -> u64 {
    let mut spec = json!({
        "subnetSelectorTerms": [],
        "securityGroupSelectorTerms": [],
        "amiSelectorTerms": [],
        "role": "role-1",
        "tags": {"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
        "context": "fake-context",
        "detailedMonitoring": false,
        "associatePublicIPAddress": false,
        "metadataOptions": {
            "httpEndpoint": "disabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "optional",
        },
        "blockDeviceMappings": [
            {
                "deviceName": "map-device-1",
                "rootVolume": false,
                "ebs": {
                    "deleteOnTermination": false,
                    "encrypted": false,
                    "iops": 0,
                    "kmsKeyID": "fakeKMSKeyID",
                    "snapshotID": "fakeSnapshot",
                    "throughput": 0,
                    "volumeSize": "2G",
                    "volumeType": "standard",
                },
            },
            {"deviceName": "map-device-2"},
        ],
        "userData": "userdata-test-1",
    });
    change(&mut spec);
    let spec: Ec2NodeClassSpec = serde_json::from_value(spec).unwrap();
    node_class(&spec).unwrap().with_ca_bundle("test-ca-bundle")
}

#[track_caller]
fn check(wanted: u64, change: impl FnOnce(&mut Value)) {
    assert_eq!(published(change), wanted);
}

#[test]
fn a_node_class_has_karpenters_hash() {
    check(11_148_166_120_438_674_859, |_| {});
    check(11_774_429_238_106_843_388, |spec| spec["userData"] = json!("userdata-test-2"));
    check(2_279_761_750_428_738_028, |spec| spec["context"] = json!("context-2"));
    check(10_372_902_467_896_351_912, |spec| {
        spec["blockDeviceMappings"][0]["ebs"]["volumeSize"] = json!("10G");
    });
    check(1_619_669_030_802_245_540, |spec| {
        spec["connectionTracking"] = json!({"tcpEstablishedTimeout": 300});
    });
}

#[test]
fn what_selectors_select_is_not_in_the_hash() {
    check(11_148_166_120_438_674_859, |spec| {
        spec["subnetSelectorTerms"] = json!([{"id": "subnet-1"}]);
        spec["ipPrefixCount"] = json!(2);
        spec["kubelet"] = json!({});
    });
}

#[test]
fn the_order_of_volumes_does_not_matter() {
    check(11_148_166_120_438_674_859, |spec| {
        spec["blockDeviceMappings"].as_array_mut().unwrap().reverse();
    });
}

#[test]
fn sizes_are_hashed_as_go_writes_them() {
    for (written, canonical) in [
        ("1024Gi", "1Ti"),
        ("1000Gi", "1000Gi"),
        ("2000G", "2T"),
        ("1500G", "1500G"),
        ("2T", "2T"),
        ("58Ti", "58Ti"),
    ] {
        assert_eq!(canonical_size(written).as_deref(), Some(canonical));
    }
    for wrong in ["", "Gi", "T", "1", "1Mi", "1.5Gi"] {
        assert_eq!(canonical_size(wrong), None, "{wrong}");
    }
}

#[test]
fn numbers_in_the_kubelet_do_not_collide() {
    let with = |number: u32| published(|spec| spec["kubelet"] = json!({"maxPods": number}));
    assert_ne!(with(12), with(21));
}

fn pool(template: Value) -> u64 {
    node_pool(&serde_json::from_value(template).unwrap()).unwrap()
}

fn template() -> Value {
    json!({"spec": {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [],
        "expireAfter": "720h",
    }})
}

#[test]
fn a_node_pool_has_karpenters_hash() {
    // Karpenter 1.14.1 gave it.
    assert_eq!(pool(template()), 6_821_555_240_594_823_858);
    let mut never = template();
    never["spec"]["expireAfter"] = json!("Never");
    assert_eq!(pool(never), 17_369_979_337_536_258_260);
    let mut at_once = template();
    at_once["spec"]["terminationGracePeriod"] = json!("0s");
    assert_eq!(pool(at_once), 10_356_118_934_572_431_967);
    let mut other = template();
    other["spec"]["requirements"] =
        json!([{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]);
    assert_eq!(pool(other), pool(template()), "requirements are compared by themselves");
}

#[test]
fn what_an_api_server_fills_in_is_part_of_the_hash() {
    let hashes = |pool: &str, class: &str| {
        let text = format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: general}}\nspec:\n  template:\n    \
             spec:\n      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n      \
             requirements: []\n{pool}---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: \
             default}}\nspec:\n  role: nodes\n  amiSelectorTerms: [{{alias: al2023@latest}}]\n  \
             subnetSelectorTerms: [{{id: subnet-0a}}]\n  securityGroupSelectorTerms: [{{id: sg-0a}}]\n{class}"
        );
        let read = stored::read(&text, "x.yaml");
        assert_eq!(read.problems, []);
        (read.node_pools[0].hash_filled_in.clone(), read.node_classes[0].hash_filled_in.clone())
    };
    let options = |rest: &str| format!("  metadataOptions: {{httpEndpoint: enabled{rest}}}\n");
    let complete =
        options(", httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required");
    let short = hashes("", "");
    assert_eq!(short, hashes("      expireAfter: 720h\n", &complete));
    assert_eq!(short.1, hashes("", &options("")).1);
    assert_eq!(short.0, hashes("      expireAfter: null\n", "").0);
    assert_ne!(short.0, hashes("      expireAfter: Never\n", "").0);
    assert_ne!(short.1, hashes("", &options(", httpTokens: optional")).1);
}

#[test]
fn an_empty_list_is_not_an_absent_one() {
    let mut with_list = template();
    with_list["spec"]["taints"] = json!([]);
    assert_ne!(pool(with_list), pool(template()));
}

#[test]
fn what_is_no_duration_has_no_hash() {
    let mut wrong = template();
    wrong["spec"]["expireAfter"] = json!("soon");
    let error = node_pool(&serde_json::from_value(wrong).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("spec.template.spec.expireAfter: `soon` "), "{error}");
}

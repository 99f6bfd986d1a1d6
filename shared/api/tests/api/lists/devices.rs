//! ResourceSlices, DeviceClasses and ResourceClaims.

use std::collections::{BTreeMap, BTreeSet};

use api::lists::*;
use model::{
    Namespace, NodeName, ObjectName, Operator, PodUid, Quantity, Requirement,
    dynamic_resources::{
        AttributeValue, ClaimAllocation, ClaimConsumer, CounterSet, DeviceAsk, DeviceCapacity,
        DeviceClass, DeviceConstraint, DeviceCount, DeviceId, DeviceRequest, DeviceSelector,
        NodeSelector, NodeSelectorTerm, RequestKind, RequestPolicy, ResourceClaim,
        ResourceClaimKey, ResourcePool, ResourceSlice, SliceAccess, SliceDevice, ValidAmounts,
    },
};

fn amount(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

fn amounts(list: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    list.iter().map(|(name, text)| ((*name).to_owned(), amount(text))).collect()
}

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

/// The one slice with `spec`.
#[track_caller]
fn slice(spec: &str) -> ResourceSlice {
    let body = format!(
        r#"{{"items":[{{"metadata":{{"name":"s","ownerReferences":[
            {{"apiVersion":"v1","kind":"Node","name":"node-a","uid":"1","controller":true}}]}},
            "spec":{{"driver":"gpu.nvidia.com","pool":{{"name":"node-a","generation":3,
                "resourceSliceCount":2}},{spec}}}}}]}}"#
    );
    let page = resource_slice_list(body.as_bytes()).unwrap();
    assert_eq!(page.malformed, [], "{spec}");
    page.items.into_iter().next().unwrap()
}

/// What is wrong with the one object.
fn problem<T>(page: &Page<T>) -> String {
    let [malformed] = page.malformed.as_slice() else { panic!("{}", page.malformed.len()) };
    format!("{}: {}", malformed.object, malformed.problem)
}

#[test]
fn a_slice_has_devices_with_attributes_and_capacity() {
    let read = slice(
        r#""nodeName":"node-a","devices":[
            {"name":"gpu-0","attributes":{
                "model":{"string":"T4"},"numa":{"int":-1},"mig":{"bool":false},
                "driverVersion":{"version":"1.2.3"},"gpu.nvidia.com/list":{"strings":["a"]}},
             "capacity":{"memory":{"value":"16Gi","requestPolicy":{"default":"1Gi",
                "validRange":{"min":"1Gi","step":"512Mi"}}},
                "shares":{"value":8,"requestPolicy":{"validValues":["1","4"]}},
                "cores":{"value":"80"}},
             "allowMultipleAllocations":true,"taints":[{"key":"a","effect":"NoSchedule"}]},
            {"name":"gpu-1","consumesCounters":[
                {"counterSet":"card","counters":{"memory":{"value":"8Gi"}}}]}]"#,
    );
    let string = |text: &str| AttributeValue::String(text.to_owned());
    let attributes = [
        ("model", string("T4")),
        ("numa", AttributeValue::Int(-1)),
        ("mig", AttributeValue::Bool(false)),
        ("driverVersion", AttributeValue::Version("1.2.3".to_owned())),
    ];
    let range = ValidAmounts::Range { min: amount("1Gi"), max: None, step: Some(amount("512Mi")) };
    let values = ValidAmounts::Values(vec![amount("1"), amount("4")]);
    let policy = |default, valid| Some(RequestPolicy { default, valid: Some(valid) });
    let capacity = [
        ("memory", amount("16Gi"), policy(Some(amount("1Gi")), range)),
        ("shares", amount("8"), policy(None, values)),
        ("cores", amount("80"), None),
    ];
    let capacity = capacity
        .into_iter()
        .map(|(name, value, policy)| (name.to_owned(), DeviceCapacity { value, policy }));
    let counters = BTreeMap::from([("card".to_owned(), amounts(&[("memory", "8Gi")]))]);
    let expected = ResourceSlice {
        name: "s".to_owned(),
        owner: Some(node("node-a")),
        driver: "gpu.nvidia.com".into(),
        pool: ResourcePool { name: "node-a".into(), generation: 3, slice_count: 2 },
        access: SliceAccess::Node(node("node-a")),
        devices: vec![
            SliceDevice {
                name: "gpu-0".into(),
                attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
                capacity: capacity.collect(),
                allows_multiple_allocations: true,
                ..SliceDevice::default()
            },
            SliceDevice {
                name: "gpu-1".into(),
                consumes_counters: counters,
                ..SliceDevice::default()
            },
        ],
        shared_counters: Vec::new(),
    };
    assert_eq!(read, expected);
}

#[test]
fn a_slice_may_declare_counters() {
    let read = slice(
        r#""allNodes":true,"sharedCounters":[
            {"name":"card","counters":{"memory":{"value":"40Gi"},"slices":{"value":"7"}}}]"#,
    );
    let counters = amounts(&[("memory", "40Gi"), ("slices", "7")]);
    assert_eq!(read.shared_counters, [CounterSet { name: "card".to_owned(), counters }]);
    assert_eq!(read.access, SliceAccess::AllNodes);
}

#[test]
fn a_slice_says_which_nodes_reach_it() {
    let zone = Requirement::new("topology.kubernetes.io/zone", Operator::In, ["a"]).unwrap();
    let term = NodeSelectorTerm {
        requirements: [zone].into_iter().collect(),
        nodes: Some(BTreeSet::from([node("node-b")])),
    };
    let read = slice(
        r#""nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[
                {"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}],
            "matchFields":[{"key":"metadata.name","operator":"In","values":["node-a","node-b"]},
                {"key":"metadata.name","operator":"In","values":["node-b"]}]}]}"#,
    );
    assert_eq!(read.access, SliceAccess::Selector(NodeSelector { terms: vec![term] }));
    assert_eq!(slice(r#""perDeviceNodeSelection":true"#).access, SliceAccess::Unsupported);
    assert_eq!(slice(r#""fieldOfTheFuture":5"#).access, SliceAccess::Unsupported);
}

#[test]
fn a_slice_that_cannot_be_read_is_missed_in_its_pool() {
    let body = br#"{"items":[{"metadata":{"name":"s"},"spec":{"driver":"d","allNodes":true,
        "pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[
            {"name":"a","capacity":{"memory":{"value":"1O"}}}]}}]}"#;
    let page = resource_slice_list(body).unwrap();
    assert_eq!(page.items, []);
    let body = br#"{"items":[{"metadata":{"name":"s"},"spec":{"driver":"d",
        "pool":{"name":"p","generation":1,"resourceSliceCount":1},
        "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
            {"key":"metadata.name","operator":"NotIn","values":["a"]}]}]}}}]}"#;
    assert_eq!(
        problem(&resource_slice_list(body).unwrap()),
        "ResourceSlice s: spec.nodeSelector.nodeSelectorTerms[0].matchFields: must say which \
         `metadata.name` is `In` a list"
    );
    assert!(
        problem(&page).starts_with("ResourceSlice s: spec.devices[0].capacity.memory.value: `1O`"),
        "{}",
        problem(&page)
    );
}

#[test]
fn a_class_has_selectors() {
    let body = br#"{"items":[{"metadata":{"name":"gpu"},"spec":{"config":[{"opaque":{}}],
        "selectors":[{"cel":{"expression":"true"}},{"regex":{}}]}},
        {"metadata":{"name":"any"},"spec":{}}]}"#;
    let class = |name: &str, selectors| DeviceClass { name: name.to_owned(), selectors };
    let cel = DeviceSelector::Cel("true".to_owned());
    let expected = [class("gpu", vec![cel, DeviceSelector::Unsupported]), class("any", Vec::new())];
    assert_eq!(device_class_list(body).unwrap().items, expected);
}

#[test]
fn a_claim_has_requests_constraints_and_what_it_got() {
    let body = br#"{"items":[{"metadata":{"name":"train","namespace":"ml"},
        "spec":{"devices":{"requests":[
            {"name":"gpu","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount",
                "count":2,"adminAccess":true,"capacity":{"requests":{"memory":"4Gi"}},
                "selectors":[{"cel":{"expression":"x"}}]}},
            {"name":"nic","firstAvailable":[
                {"name":"fast","deviceClassName":"efa","allocationMode":"All"},
                {"name":"slow","deviceClassName":"nic"}]},
            {"name":"new","fieldOfTheFuture":{}}],
          "constraints":[{"matchAttribute":"a/b","requests":["gpu"]},{"distinctAttribute":"a/c"}],
          "config":[]}},
        "status":{"allocation":{"devices":{"results":[
                {"request":"gpu","driver":"d","pool":"p","device":"x"},
                {"request":"gpu","driver":"d","pool":"p","device":"y",
                    "consumedCapacity":{"memory":"4Gi"}}]},
            "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
                {"key":"metadata.name","operator":"In","values":["node-a"]}]}]}},
          "reservedFor":[{"resource":"pods","name":"web","uid":"1"},
            {"apiGroup":"x.io","resource":"pods","name":"web","uid":"2"}]}}]}"#;
    let ask = |class: &str, count| DeviceAsk {
        class: class.to_owned(),
        selectors: Vec::new(),
        count,
        capacity: BTreeMap::new(),
    };
    let gpu = DeviceAsk {
        selectors: vec![DeviceSelector::Cel("x".to_owned())],
        capacity: amounts(&[("memory", "4Gi")]),
        ..ask("gpu", DeviceCount::Exact(2))
    };
    let nic = vec![
        ("fast".to_owned(), ask("efa", DeviceCount::All)),
        ("slow".to_owned(), ask("nic", DeviceCount::Exact(1))),
    ];
    let request = |name: &str, kind| DeviceRequest { name: name.to_owned(), kind };
    let device =
        |name: &str| DeviceId { driver: "d".into(), pool: "p".into(), device: name.into() };
    let here = NodeSelectorTerm {
        nodes: Some(BTreeSet::from([node("node-a")])),
        ..NodeSelectorTerm::default()
    };
    let expected = ResourceClaim {
        key: ResourceClaimKey {
            namespace: Namespace::new("ml").unwrap(),
            name: ObjectName::new("train").unwrap(),
        },
        requests: vec![
            request("gpu", RequestKind::Exactly(gpu)),
            request("nic", RequestKind::FirstAvailable(nic)),
            request("new", RequestKind::Unsupported),
        ],
        constraints: vec![
            DeviceConstraint::MatchAttribute {
                attribute: "a/b".to_owned(),
                requests: BTreeSet::from(["gpu".to_owned()]),
            },
            DeviceConstraint::Unsupported("distinctAttribute".to_owned()),
        ],
        allocation: Some(ClaimAllocation {
            devices: vec![(device("x"), None), (device("y"), Some(amounts(&[("memory", "4Gi")])))],
            selector: Some(NodeSelector { terms: vec![here] }),
        }),
        reserved_for: vec![ClaimConsumer::Pod(PodUid::new("1").unwrap()), ClaimConsumer::Other],
    };
    assert_eq!(resource_claim_list(body).unwrap().items, [expected]);
}

#[test]
fn a_claim_without_status_or_requests_has_none() {
    let body = br#"{"items":[{"metadata":{"name":"a"},"spec":{"devices":{}}},
        {"metadata":{"name":"b"},"spec":{},"status":{}}]}"#;
    let page = resource_claim_list(body).unwrap();
    assert_eq!((page.items.len(), page.malformed.len()), (2, 0));
    assert!(page.items.iter().all(|c| c.requests.is_empty() && c.allocation.is_none()));
}

#[test]
fn a_claim_that_cannot_be_read_keeps_its_devices() {
    let body = br#"{"items":[{"metadata":{"name":"a"},"spec":{"devices":{"requests":5}},
        "status":{"allocation":{"devices":{"results":[
            {"driver":"d","pool":"p","device":"x"},{"driver":5}]}},"reservedFor":5}},
        {"metadata":{"name":"b"},"spec":5},{"metadata":{},"spec":{}}]}"#;
    let page = resource_claim_list(body).unwrap();
    assert_eq!(page.malformed.len(), 3);
    let names: Vec<_> = page.items.iter().map(|claim| claim.key.to_string()).collect();
    assert_eq!(names, ["default/a", "default/b"]);
    let devices =
        |at: usize| page.items[at].allocation.as_ref().map(|allocation| allocation.devices.len());
    assert_eq!((devices(0), devices(1)), (Some(1), None));
    let is_refused = |claim: &ResourceClaim| claim.requests[0].kind == RequestKind::Unsupported;
    assert!(page.items.iter().all(is_refused));
}

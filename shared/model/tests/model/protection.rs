//! Annotations of Cluster Autoscaler, honored.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{Pod, PodKey, PodSpec, labels::DO_NOT_DISRUPT, node::Node, pod::Owner, protection::*};

const EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";

fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn pod(name: &str, spec: &Arc<PodSpec>, kind: &str) -> Pod {
    let key = PodKey { namespace: "shop".parse().unwrap(), name: name.parse().unwrap() };
    let owner =
        Owner { api_version: "apps/v1".to_owned(), kind: kind.to_owned(), name: "web".to_owned() };
    let waiting = Pod::waiting(key, name.parse().unwrap(), Arc::clone(spec), Timestamp::UNIX_EPOCH);
    Pod { owner: Some(Arc::new(owner)), ..waiting }
}

#[test]
fn pods_that_are_not_safe_to_evict_are_protected_unless_they_say_otherwise() {
    let spec = |pairs: &[(&str, &str)]| {
        Arc::new(PodSpec { annotations: annotations(pairs), ..PodSpec::default() })
    };
    let unsafe_spec = spec(&[(EVICT, "false")]);
    let mut pods = [
        pod("a", &unsafe_spec, "ReplicaSet"),
        pod("b", &unsafe_spec, "ReplicaSet"),
        pod("c", &spec(&[(EVICT, "true")]), "ReplicaSet"),
        pod("d", &spec(&[(EVICT, "false"), (DO_NOT_DISRUPT, "false")]), "ReplicaSet"),
        pod("e", &unsafe_spec, "DaemonSet"),
        pod("f", &spec(&[]), "ReplicaSet"),
    ];
    let before = pods.clone();
    assert!(
        ineffective_of_pod(&pods[0].spec).unwrap().text.contains("or set AutoscalerAnnotations")
    );
    honor_on_pods(&mut pods);
    let protected = pods.each_ref().map(|pod| pod.is_protected(Timestamp::UNIX_EPOCH));
    assert_eq!(protected, [true, true, false, false, false, false]);
    assert!(Arc::ptr_eq(&pods[0].spec, &pods[1].spec), "pods that are alike share a spec");
    assert_eq!(pods[2..], before[2..]);
    assert_eq!(ineffective_of_pod(&pods[0].spec), None);
}

#[test]
fn nodes_that_are_not_to_be_removed_are_protected_unless_they_say_otherwise() {
    let node = |pairs: &[(&str, &str)]| Node { annotations: annotations(pairs), ..plain() };
    let mut nodes = [
        node(&[(DISABLED, "true")]),
        node(&[(DISABLED, "false")]),
        node(&[(DISABLED, "true"), (DO_NOT_DISRUPT, "false")]),
        node(&[]),
    ];
    let before = nodes.clone();
    honor_on_nodes(&mut nodes);
    assert_eq!(nodes[0].annotations.get(DO_NOT_DISRUPT).map(String::as_str), Some("true"));
    assert_eq!(nodes[1..], before[1..]);
}

fn plain() -> Node {
    Node {
        name: "n".parse().unwrap(),
        provider_id: None,
        created_at: Timestamp::UNIX_EPOCH,
        is_deleting: false,
        annotations: BTreeMap::new(),
        labels: BTreeMap::new(),
        finalizers: std::collections::BTreeSet::new(),
        taints: Vec::new(),
        capacity: model::Resources::default(),
        allocatable: model::Resources::default(),
        is_ready: true,
        boot_id: String::new(),
        ill_conditions: Vec::new(),
    }
}

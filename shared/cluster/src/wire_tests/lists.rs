//! Lists over the wire.

use model::{
    NodeName,
    buffer::BufferTarget,
    limits::{NODES_PER_CLUSTER_MAX, PAGES_PER_LISTING_MAX},
    policies::Policies,
    storage::VolumeClaimKey,
};
use ports::{Cluster as _, Fault, FoundDevices, Listing, Malformed, Nodes as _, PodSelection};
use serde_json::{Value, json};

use super::{Server, refused};

fn node(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-11-21T12:00:00Z" },
        "spec": { "providerID": format!("aws:///us-west-2a/i-{name}") },
        "status": {},
    })
}

fn nodes(version: &str, next: Option<&str>, names: &[&str]) -> (u16, Value) {
    let items: Vec<_> = names.iter().map(|name| node(name)).collect();
    list("Node", version, next, &items)
}

fn list(kind: &str, version: &str, next: Option<&str>, items: &[Value]) -> (u16, Value) {
    let metadata = json!({ "resourceVersion": version, "continue": next });
    (200, json!({ "kind": format!("{kind}List"), "metadata": metadata, "items": items }))
}

async fn node_names(server: &Server) -> Vec<String> {
    let listing = server.cluster().nodes().await.unwrap();
    assert_eq!(listing.malformed, []);
    listing.items.iter().map(|node| node.name.to_string()).collect()
}

#[tokio::test]
async fn a_list_is_read_page_by_page() {
    let server = Server::new([
        nodes("7", Some("two"), &["a", "b"]),
        nodes("7", Some("three"), &["c"]),
        nodes("7", None, &["d"]),
    ]);
    assert_eq!(node_names(&server).await, ["a", "b", "c", "d"]);
    server.check_sent(&["GET /api/v1/nodes"; 3]);
    let queries: Vec<_> = server.sent().into_iter().map(|sent| sent.query).collect();
    let limit = ("limit".to_owned(), "500".to_owned());
    let next = |token: &str| vec![("continue".to_owned(), token.to_owned()), limit.clone()];
    assert_eq!(queries, [vec![limit.clone()], next("two"), next("three")]);
}

#[tokio::test]
async fn a_list_whose_pages_expired_is_begun_again_once() {
    let expired = || refused(410, "Expired", "The provided continue parameter is too old");
    let server = Server::new([
        nodes("7", Some("two"), &["a"]),
        expired(),
        nodes("9", Some("two"), &["b"]),
        nodes("9", None, &["c"]),
    ]);
    assert_eq!(node_names(&server).await, ["b", "c"]);
    assert_eq!(server.sent()[2].query, [("limit".to_owned(), "500".to_owned())]);

    let server = Server::new([
        nodes("7", Some("two"), &["a"]),
        expired(),
        nodes("9", Some("two"), &["b"]),
        expired(),
    ]);
    let error = server.cluster().nodes().await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("list nodes", Fault::Transient));
    server.check_sent(&["GET /api/v1/nodes"; 4]);
}

#[tokio::test]
async fn pages_of_different_states_are_not_one_list() {
    let server = Server::new([
        nodes("7", Some("two"), &["a"]),
        nodes("8", None, &["b"]),
        nodes("9", None, &["c"]),
    ]);
    assert_eq!(node_names(&server).await, ["c"]);
    server.check_sent(&["GET /api/v1/nodes"; 3]);
}

#[tokio::test]
async fn an_object_that_cannot_be_read_does_not_poison_its_list() {
    let mut bad = node("bad");
    bad["status"] = json!({ "allocatable": { "cpu": "1O0m" } });
    let server = Server::new([list("Node", "7", None, &[bad, node("good")])]);
    let listing = server.cluster().nodes().await.unwrap();
    let names: Vec<_> = listing.items.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let [Malformed { object, problem, .. }] = &listing.malformed[..] else {
        panic!("{:?}", listing.malformed)
    };
    assert_eq!(object, "Node bad");
    assert!(problem.contains("cpu") && problem.contains("1O0m"), "{problem}");
}

#[tokio::test]
async fn what_is_no_list_is_an_error() {
    let server = Server::new([(200, json!("hello"))]);
    let error = server.cluster().nodes().await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
}

#[tokio::test]
async fn more_nodes_than_are_supported_are_an_error_and_never_a_shorter_list() {
    let names: Vec<_> = (0..=NODES_PER_CLUSTER_MAX).map(|index| format!("n{index}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let error = Server::new([nodes("7", None, &names)]).cluster().nodes().await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    assert_eq!(
        error.source.unwrap().to_string(),
        "there are more than 10,000, the most that is supported: use fewer and larger nodes, or give some \
         workloads a cluster of their own"
    );
}

#[tokio::test]
async fn a_list_that_never_ends_is_an_error() {
    let page = list("Pod", "7", Some("more"), &[]);
    let server = Server::new(std::iter::repeat_n(page, PAGES_PER_LISTING_MAX));
    let error = server.cluster().pods(&PodSelection::All).await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    assert_eq!(error.source.unwrap().to_string(), "it has more than 1000 pages of 500");
    server.check_sent(&["GET /api/v1/pods"; PAGES_PER_LISTING_MAX]);
}

#[track_caller]
fn check_selector(server: &Server, expected: Option<&str>) {
    let sent = server.sent();
    let [sent] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(sent.path, "/api/v1/pods");
    let selector = sent.query.iter().find(|(key, _)| key == "fieldSelector");
    assert_eq!(selector.map(|(_, value)| value.as_str()), expected);
}

#[tokio::test]
async fn pods_are_selected_by_the_api_server() {
    let node = NodeName::new("one").unwrap();
    for (selection, expected) in [
        (PodSelection::Waiting, Some("spec.nodeName=,status.phase=Pending")),
        (PodSelection::OnNode(node), Some("spec.nodeName=one")),
        (PodSelection::All, None),
    ] {
        let server = Server::new([list("Pod", "7", None, &[])]);
        assert_eq!(server.cluster().pods(&selection).await.unwrap().items, []);
        check_selector(&server, expected);
    }
}

#[tokio::test]
async fn a_cluster_without_the_crds_has_no_pools_and_says_so() {
    // As it comes: a path without a handler is answered in plain text.
    let not_found = || (404, json!("404 page not found"));
    let server = Server::new([not_found(), not_found()]);
    let cluster = server.cluster();
    let pools = cluster.node_pools().await.unwrap();
    let classes = cluster.node_classes().await.unwrap();
    assert_eq!((pools.items.len(), classes.items.len()), (0, 0));
    let problems: Vec<_> = pools.malformed.into_iter().chain(classes.malformed).collect();
    let malformed = |object: &str, problem: &str| Malformed::new(object, problem);
    assert_eq!(
        problems,
        [
            malformed(
                "NodePool",
                "the cluster does not know karpenter.sh/v1 NodePool: install the CRDs"
            ),
            malformed(
                "EC2NodeClass",
                "the cluster does not know karpenter.k8s.aws/v1 EC2NodeClass: install the CRDs"
            ),
        ]
    );
    server.check_sent(&[
        "GET /apis/karpenter.sh/v1/nodepools",
        "GET /apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    ]);
}

#[tokio::test]
async fn a_list_that_is_forbidden_is_never_an_empty_one() {
    let server =
        Server::new([refused(403, "Forbidden", "nodepools.karpenter.sh is forbidden: User \"x\"")]);
    let error = server.cluster().node_pools().await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("list NodePools", Fault::Permanent));
    assert!(error.source.unwrap().to_string().contains("User \"x\""));
}

#[tokio::test]
async fn daemon_sets_are_listed() {
    let server = Server::new([list("DaemonSet", "7", None, &[])]);
    assert_eq!(server.cluster().daemon_sets().await.unwrap().items, []);
    server.check_sent(&["GET /apis/apps/v1/daemonsets"]);
}

#[tokio::test]
async fn attachments_and_the_claims_of_volumes_are_read() {
    let spec = json!({ "attacher": "ebs.csi.aws.com", "nodeName": "one",
                       "source": { "persistentVolumeName": "pv-1" } });
    let attached = json!({ "metadata": { "name": "csi-1", "uid": "u" }, "spec": spec });
    let claim = json!({
        "metadata": { "name": "data", "namespace": "shop", "uid": "u" },
        "spec": { "volumeName": "pv-1" }, "status": { "phase": "Bound" },
    });
    let server = Server::new([
        list("VolumeAttachment", "7", None, &[attached]),
        (200, claim),
        refused(404, "NotFound", "persistentvolumeclaims \"data\" not found"),
        refused(403, "Forbidden", "persistentvolumeclaims \"data\" is forbidden"),
    ]);
    let cluster = server.cluster();
    let listing = cluster.volume_attachments().await.unwrap();
    assert_eq!(listing.items[0].volume.as_deref(), Some("pv-1"));
    let key = VolumeClaimKey { namespace: "shop".parse().unwrap(), name: "data".parse().unwrap() };
    let claim = cluster.volume_claim(&key).await.unwrap();
    assert_eq!(claim.and_then(|claim| claim.volume).as_deref(), Some("pv-1"));
    assert_eq!(cluster.volume_claim(&key).await.unwrap(), None);
    assert_eq!(cluster.volume_claim(&key).await.unwrap_err().fault, Fault::Permanent);
    let path = "GET /api/v1/namespaces/shop/persistentvolumeclaims/data";
    let attachments = "GET /apis/storage.k8s.io/v1/volumeattachments";
    server.check_sent(&[attachments, path, path, path]);
}

#[tokio::test]
async fn what_surrounds_pods_is_listed_and_what_gates_close_is_not_asked_for() {
    let claim = json!({
        "metadata": { "name": "data", "namespace": "shop", "uid": "u" },
        "spec": { "storageClassName": "fast", "accessModes": ["ReadWriteOnce"] },
        "status": { "phase": "Pending" },
    });
    let class = json!({
        "metadata": { "name": "fast", "uid": "u" }, "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    let budget = json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
        "spec": { "maxUnavailable": 1, "selector": {} }, "status": { "disruptionsAllowed": 1 },
    });
    let bad = json!({ "metadata": { "name": "n", "uid": "u" }, "spec": { "drivers": 5 } });
    let server = Server::at_paths([
        (
            "/api/v1/namespaces",
            list("Namespace", "7", None, &[json!({ "metadata": { "name": "shop", "uid": "u" } })]),
        ),
        ("/apis/storage.k8s.io/v1/storageclasses", list("StorageClass", "7", None, &[class])),
        ("/api/v1/persistentvolumeclaims", list("PersistentVolumeClaim", "7", None, &[claim])),
        ("/api/v1/persistentvolumes", list("PersistentVolume", "7", None, &[])),
        ("/apis/storage.k8s.io/v1/csinodes", list("CSINode", "7", None, &[bad])),
        ("/apis/policy/v1/poddisruptionbudgets", list("PodDisruptionBudget", "7", None, &[budget])),
    ]);
    let read = server.cluster().surroundings(&Policies::default()).await.unwrap();
    let surroundings = &read.surroundings;
    assert!(
        surroundings
            .storage
            .classes
            .get("fast")
            .is_some_and(|class| class.waits_for_first_consumer)
    );
    assert_eq!((surroundings.storage.claims.len(), surroundings.namespaces.len()), (1, 1));
    assert_eq!(surroundings.disruption_budgets.len(), 1);
    assert_eq!(read.malformed.len(), 1, "{:?}", read.malformed);
    assert_eq!(server.sent().len(), 6);
    assert!(server.answers.lock().unwrap().is_empty(), "not everything was asked for");
}

#[tokio::test]
async fn a_buffer_is_listed_with_what_it_refers_to() {
    let buffer = json!({
        "metadata": { "name": "spare", "namespace": "shop", "uid": "u", "generation": 1 },
        "spec": { "scalableRef": { "kind": "Deployment", "name": "web" }, "replicas": 2 },
    });
    let deployment = json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
        "spec": { "replicas": 4, "template": { "spec": { "containers": [{ "name": "m" }] } } },
    });
    let none = |kind: &str| list(kind, "7", None, &[]);
    let server = Server::new([
        none("Namespace"),
        none("StorageClass"),
        none("PersistentVolumeClaim"),
        none("PersistentVolume"),
        none("CSINode"),
        none("PodDisruptionBudget"),
        refused(404, "NotFound", "the server could not find the requested resource"),
        list("CapacityBuffer", "7", None, &[buffer]),
        none("PodTemplate"),
        list("Deployment", "7", None, &[deployment]),
        none("StatefulSet"),
        none("ReplicaSet"),
    ]);
    let policies = Policies { capacity_buffer: true, node_overlay: true, ..Policies::default() };
    let read = server.cluster().surroundings(&policies).await.unwrap();
    let target = &read.surroundings.capacity_buffers[0].target;
    assert!(matches!(target, BufferTarget::Workload(_, 4)), "{target:?}");
    assert_eq!(read.malformed.len(), 1, "the cluster does not know NodeOverlays");
}

#[tokio::test]
async fn what_selects_pods_is_listed_with_its_namespace() {
    let object = |name: &str, spec: Value| {
        let metadata = json!({ "name": name, "namespace": "shop", "uid": "u" });
        json!({ "metadata": metadata, "spec": spec })
    };
    let template = json!({ "spec": { "containers": [{ "name": "m" }] } });
    let of_app = json!({ "matchLabels": { "app": "web" } });
    let set = object("web-1", json!({ "selector": of_app, "template": template }));
    let old = object("old", json!({ "selector": { "app": "old" }, "template": template }));
    let services = [
        object("web", json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }] })),
        object("external", json!({ "type": "ExternalName", "externalName": "example.com" })),
    ];
    let server = Server::at_paths([
        ("/api/v1/services", list("Service", "7", None, &services)),
        ("/api/v1/replicationcontrollers", list("ReplicationController", "7", None, &[old])),
        ("/apis/apps/v1/replicasets", list("ReplicaSet", "7", None, &[set])),
        ("/apis/apps/v1/statefulsets", list("StatefulSet", "7", None, &[json!({ "spec": 5 })])),
    ]);
    let read = server.cluster().pod_selectors().await.unwrap();
    let services = read.selectors.services.get("shop").map(Vec::len);
    let controllers = &read.selectors.controllers["shop"];
    let names: Vec<&str> = controllers.keys().map(|owner| owner.name.as_str()).collect();
    assert_eq!((services, names), (Some(1), vec!["web-1", "old"]), "one selects no pod");
    assert_eq!(read.malformed.len(), 1, "{:?}", read.malformed);
    assert!(server.answers.lock().unwrap().is_empty(), "not everything was asked for");
}

#[tokio::test]
async fn devices_are_listed_and_a_cluster_that_does_not_know_them_has_none() {
    let none = || refused(404, "NotFound", "the server could not find the requested resource");
    let [classes, slices, claims] = [
        "/apis/resource.k8s.io/v1/deviceclasses",
        "/apis/resource.k8s.io/v1/resourceslices",
        "/apis/resource.k8s.io/v1/resourceclaims",
    ];
    let slice = json!({
        "metadata": { "name": "a", "uid": "u" },
        "spec": { "driver": "gpu.example", "allNodes": true, "devices": [{ "name": "gpu-0" }],
                  "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 } },
    });
    let claim = |name: &str, requests: Value| {
        json!({
            "metadata": { "name": name, "namespace": "shop", "uid": "u" },
            "spec": { "devices": { "requests": requests } },
        })
    };
    let listed = [claim("data", json!([])), claim("odd", json!(5))];
    let server = Server::at_paths([
        (classes, list("DeviceClass", "7", None, &[json!({ "metadata": 5 })])),
        (slices, list("ResourceSlice", "7", None, std::slice::from_ref(&slice))),
        (claims, list("ResourceClaim", "7", None, &listed)),
    ]);
    let read = server.cluster().devices().await.unwrap();
    assert_eq!((read.slices.len(), read.classes.len(), read.claims.len()), (1, 0, 2));
    assert_eq!(read.malformed.len(), 2, "{:?}", read.malformed);
    let server = Server::at_paths([classes, slices, claims].map(|path| (path, none())));
    assert_eq!(server.cluster().devices().await.unwrap(), FoundDevices::default());
    let server = Server::at_paths([(slices, list("ResourceSlice", "7", None, &[slice]))]);
    assert_eq!(server.cluster().resource_slices().await.unwrap().items, read.slices);
    let server = Server::at_paths([(slices, none())]);
    assert_eq!(server.cluster().resource_slices().await.unwrap(), Listing::default());
    let forbidden = refused(403, "Forbidden", "resourceslices is forbidden: User \"x\"");
    let server = Server::at_paths([(classes, none()), (slices, forbidden), (claims, none())]);
    assert_eq!(server.cluster().devices().await.unwrap_err().fault, Fault::Permanent);
}

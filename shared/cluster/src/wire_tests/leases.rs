//! Leases over the wire.

use jiff::{SignedDuration, Timestamp};
use model::lease::{KarpenterLease, KarpenterPod, LedgerLease, ObservedLeases};
use ports::{Fault, Leases as _};
use serde_json::{Value, json};

use super::{Server, refused};

const OURS: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman";
const ALL: &str = "GET /apis/coordination.k8s.io/v1/leases";
const PODS: &str = "GET /api/v1/pods";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn absent() -> (u16, Value) {
    refused(404, "NotFound", "leases \"journeyman\" not found")
}

fn ours(spec: &Value, arrivals: &str) -> (u16, Value) {
    let metadata = json!({ "name": "journeyman", "namespace": "kube-system", "uid": "u1",
        "resourceVersion": "7", "annotations": { "journeyman/arrivals": arrivals } });
    (200, json!({ "kind": "Lease", "metadata": metadata, "spec": spec }))
}

fn list(specs: &[Value]) -> (u16, Value) {
    let lease = |spec: &Value| {
        let name = "karpenter-leader-election";
        json!({ "metadata": { "name": name, "namespace": "karpenter" }, "spec": spec })
    };
    let items: Vec<Value> = specs.iter().map(lease).collect();
    (200, json!({ "kind": "LeaseList", "metadata": { "resourceVersion": "9" }, "items": items }))
}

fn pods(pods: &[Value]) -> (u16, Value) {
    (200, json!({ "kind": "PodList", "metadata": { "resourceVersion": "9" }, "items": pods }))
}

fn spec(holder: &str, time: &str) -> Value {
    json!({ "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": time })
}

#[tokio::test]
async fn leases_of_karpenter_and_ours_are_read() {
    let time = "2026-11-21T12:00:00.123456Z";
    let released = json!({ "holderIdentity": "", "leaseDurationSeconds": 1 });
    let alone = json!({
        "metadata": { "name": "karpenter-0", "namespace": "karpenter" },
        "spec": { "containers": [{ "args": ["--disable-leader-election"] }] },
        "status": { "phase": "Running" },
    });
    let server = Server::new([
        ours(&spec("abc12", time), "7"),
        pods(&[alone]),
        list(&[spec("pod-1", time), released]),
    ]);
    let observed = server.cluster().leases().await.unwrap();
    let karpenter = vec![KarpenterLease {
        namespace: "karpenter".to_owned(),
        holder: "pod-1".to_owned(),
        renewed_at: at(time),
        duration: SignedDuration::from_secs(15),
    }];
    let ledger = "abc12".parse().unwrap();
    let ledger = Some(LedgerLease { ledger, arrivals: 7, renewed_at: at(time) });
    let pod = KarpenterPod { namespace: "karpenter".to_owned(), name: "karpenter-0".to_owned() };
    let without_lease = vec![pod];
    let expected = ObservedLeases { karpenter, without_lease, ledger, unreadable: Vec::new() };
    assert_eq!(observed, expected);
    server.check_sent(&[&format!("GET {OURS}"), PODS, ALL]);
    for (at, parameter, value) in [
        (1, "labelSelector", "app.kubernetes.io%2Fname=karpenter"),
        (2, "fieldSelector", "metadata.name=karpenter-leader-election"),
    ] {
        let selector = (parameter.to_owned(), value.to_owned());
        assert!(server.sent()[at].query.contains(&selector), "{:?}", server.sent()[at].query);
    }

    for answer in [pods(&[]), refused(403, "Forbidden", "pods is forbidden")] {
        let server = Server::new([absent(), answer, list(&[])]);
        assert_eq!(server.cluster().leases().await.unwrap(), ObservedLeases::default());
    }
}

#[tokio::test]
async fn a_lease_that_cannot_be_read_is_not_absent() {
    let time = "2026-11-21T12:00:00Z";
    let bad = [spec("pod-1", "noon"), json!({ "holderIdentity": "pod-1", "renewTime": time })];
    let leases = list(&[&bad[..], &[spec("pod-2", time)]].concat());
    let server = Server::new([absent(), pods(&[]), leases]);
    let observed = server.cluster().leases().await.unwrap();
    let unreadable = observed.unreadable.iter().map(|lease| (lease.object(), lease.why.as_str()));
    let expected = ["spec.renewTime is not a time", "spec.leaseDurationSeconds must be positive"]
        .map(|rule| ("Lease karpenter/karpenter-leader-election".to_owned(), rule));
    assert_eq!(unreadable.collect::<Vec<_>>(), expected);
    assert_eq!((observed.karpenter.len(), &*observed.unreadable[0].namespace), (1, "karpenter"));
    for (ours, problem) in [
        (ours(&spec("abc12", time), "many"), "journeyman/arrivals is not a number"),
        (ours(&spec("A", time), "7"), "spec.holderIdentity: `A` is not a valid"),
    ] {
        let server = Server::new([ours]);
        let error = server.cluster().leases().await.unwrap_err();
        assert_eq!((error.operation, error.fault), ("list leases", Fault::Permanent));
        let cause = std::error::Error::source(&*error.source.unwrap()).unwrap().to_string();
        assert!(cause.contains(problem), "{cause}");
    }
}

fn lease() -> LedgerLease {
    let renewed_at = at("2026-11-21T12:01:00Z");
    LedgerLease { ledger: "abc12".parse().unwrap(), arrivals: 8, renewed_at }
}

#[tokio::test]
async fn our_lease_is_made_where_there_is_none() {
    let server = Server::new([absent(), (201, json!({}))]);
    server.cluster().hold(&lease()).await.unwrap();
    let (path, _) = OURS.rsplit_once('/').unwrap();
    server.check_sent(&[&format!("GET {OURS}"), &format!("POST {path}")]);
    let time = "2026-11-21T12:01:00.000000Z";
    let annotations = json!({ "journeyman/arrivals": "8" });
    let expected = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "journeyman", "annotations": annotations },
        "spec": { "holderIdentity": "abc12", "leaseDurationSeconds": 180, "renewTime": time,
            "acquireTime": time } });
    assert_eq!(server.sent()[1].body, expected);
}

#[tokio::test]
async fn our_lease_is_renewed_under_the_version_that_was_read() {
    let before = spec("abc12", "2026-11-21T12:00:00Z");
    let server = Server::new([ours(&before, "7"), (200, json!({}))]);
    server.cluster().hold(&lease()).await.unwrap();
    server.check_sent(&[&format!("GET {OURS}"), &format!("PATCH {OURS}")]);
    let body = &server.sent()[1].body;
    assert_eq!(body["metadata"]["resourceVersion"], "7");
    assert_eq!(body["metadata"]["annotations"]["journeyman/arrivals"], "8");
    assert_eq!(body["spec"].get("acquireTime"), None);

    let conflict = refused(409, "Conflict", "modified");
    let server = Server::new([ours(&spec("xyz98", "2026-11-21T12:00:00Z"), "7"), conflict]);
    let error = server.cluster().hold(&lease()).await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("hold the lease", Fault::Conflict));
    assert_eq!(server.sent()[1].body["spec"]["acquireTime"], "2026-11-21T12:01:00.000000Z");
}

//! NodeClaim objects, over the wire.

use api::karpenter::node_claim_patch::created;
use model::{DeletionReason, NodeClaim, disruption::DisruptionReason, labels};
use ports::{Fault, NodeClaims as _};
use serde_json::{Value, json};

use super::{Server, refused};

const GET: &str = "GET /apis/karpenter.sh/v1/nodeclaims/general-1-0";
const PATCH: &str = "PATCH /apis/karpenter.sh/v1/nodeclaims/general-1-0";
const PATCH_STATUS: &str = "PATCH /apis/karpenter.sh/v1/nodeclaims/general-1-0/status";
const DELETE: &str = "DELETE /apis/karpenter.sh/v1/nodeclaims/general-1-0";
const OWNER: &str = "GET /apis/karpenter.sh/v1/nodepools/general";

fn claim() -> NodeClaim {
    testkit::build::claim("general-1-0")
}

/// The object as it is made, and what `change` makes of it.
fn object(change: impl FnOnce(&mut Value)) -> (u16, Value) {
    let mut object = created(&claim(), None);
    object["metadata"]["uid"] = "u1".into();
    object["metadata"]["resourceVersion"] = "7".into();
    object["metadata"]["generation"] = 1.into();
    change(&mut object);
    (200, object)
}

fn deleting(object: &mut Value) {
    object["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z".into();
}

fn not_found() -> (u16, Value) {
    refused(404, "NotFound", "not found")
}

#[tokio::test]
async fn a_claim_is_made_then_its_status_and_then_its_version_is_said() {
    let pool = json!({ "metadata": { "name": "general", "uid": "u-pool" } });
    let made = object(|_| {});
    let server = Server::new([not_found(), (200, pool), made, object(|_| {}), object(|_| {})]);
    server.cluster().sync(&claim()).await.unwrap();
    server.check_sent(&[GET, OWNER, PATCH, PATCH_STATUS, PATCH]);
    for sent in server.sent().iter().skip(2) {
        assert_eq!(sent.content_type.as_deref(), Some("application/apply-patch+yaml"));
        let query: Vec<_> = sent.query.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(query, [("fieldManager", "journeyman"), ("force", "true")]);
    }
    let sent = server.sent();
    let owner = &sent[2].body["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("NodePool"), &json!("u-pool")));
    assert_eq!(sent[3].body["metadata"], json!({ "name": "general-1-0", "uid": "u1" }));
    assert_eq!(sent[2].body["metadata"]["annotations"].get(labels::CLAIM_VERSION), None);
    assert_eq!(sent[4].body["metadata"]["annotations"][labels::CLAIM_VERSION], "1");
}

#[tokio::test]
async fn a_claim_that_is_synced_is_only_looked_at() {
    let answers = [object(|_| {}), object(|_| {}), object(|_| {})];
    let server = Server::new(answers);
    server.cluster().sync(&claim()).await.unwrap();
    server.check_sent(&[GET, PATCH_STATUS, PATCH]);
    let sent = server.sent();
    let shown = object(|object| {
        object["metadata"]["annotations"] = sent[2].body["metadata"]["annotations"].clone();
        object["status"] = sent[1].body["status"].clone();
    });
    let server = Server::new([shown]);
    server.cluster().sync(&claim()).await.unwrap();
    server.check_sent(&[GET]);
}

#[tokio::test]
async fn the_object_of_a_deleted_claim_is_deleted_and_none_is_made_for_it() {
    let deleted =
        claim().deleted(DeletionReason::Disrupted(DisruptionReason::Drifted), claim().created_at);
    let server = Server::new([not_found()]);
    server.cluster().sync(&deleted).await.unwrap();
    server.check_sent(&[GET]);
    let shown = || object(deleting);
    let server = Server::new([object(|_| {}), shown(), shown(), shown(), shown()]);
    server.cluster().sync(&deleted).await.unwrap();
    server.check_sent(&[GET, DELETE, GET, PATCH_STATUS, PATCH]);
    assert_eq!(server.sent()[1].body["preconditions"], json!({ "uid": "u1" }));
}

#[tokio::test]
async fn an_object_of_another_writer_is_left_alone() {
    let theirs = || {
        object(|object| {
            object["metadata"]["labels"] = json!({ "karpenter.sh/nodepool": "general" });
        })
    };
    let server = Server::new([theirs(), theirs()]);
    let error = server.cluster().sync(&claim()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Conflict);
    server.cluster().remove(&claim().name).await.unwrap();
    server.check_sent(&[GET, GET]);
}

#[tokio::test]
async fn the_object_of_a_user_becomes_ours_with_the_users_spec_and_is_never_made() {
    let users = || {
        let mut users = NodeClaim { node_pool: model::NodePoolName::none(), ..claim() };
        users.labels.remove(labels::NODE_POOL);
        users
    };
    let theirs = || {
        object(|object| {
            object["metadata"]["labels"] = json!({ "team": "theirs" });
            object["metadata"]["finalizers"] = json!(["theirs"]);
        })
    };
    let server = Server::new([theirs(), theirs(), theirs()]);
    server.cluster().sync(&users()).await.unwrap();
    server.check_sent(&[GET, PATCH_STATUS, PATCH]);
    let sent = &server.sent()[2].body;
    assert_eq!(sent.get("spec"), None);
    let metadata = &sent["metadata"];
    assert_eq!(metadata["labels"][labels::MANAGED_BY], labels::MANAGER);
    assert_eq!(metadata["labels"].get(labels::NODE_POOL), None);
    assert_eq!(metadata["finalizers"], json!([labels::TERMINATION_FINALIZER]));
    assert_eq!(metadata["uid"], "u1");
    let server = Server::new([not_found()]);
    let error = server.cluster().sync(&users()).await.unwrap_err();
    assert_eq!(error.fault, Fault::NotFound);
    server.check_sent(&[GET]);
}

#[tokio::test]
async fn what_is_removed_loses_our_finalizer_and_no_other() {
    let held = object(|object| {
        deleting(object);
        object["metadata"]["finalizers"] = json!(["theirs", labels::TERMINATION_FINALIZER]);
    });
    let server = Server::new([object(|_| {}), held.clone(), held.clone(), held]);
    server.cluster().remove(&claim().name).await.unwrap();
    server.check_sent(&[GET, DELETE, GET, PATCH]);
    assert_eq!(
        server.sent()[3].body["metadata"],
        json!({ "uid": "u1", "resourceVersion": "7", "finalizers": ["theirs"] })
    );
    let server = Server::new([not_found()]);
    server.cluster().remove(&claim().name).await.unwrap();
    server.check_sent(&[GET]);
}

#[tokio::test]
async fn only_what_is_ours_is_listed_page_by_page() {
    let metadata = json!({ "name": "general-1-0", "uid": "u1",
        "annotations": { labels::CLAIM_VERSION: "3" } });
    let first = json!({ "metadata": { "continue": "more" }, "items": [{ "metadata": metadata }] });
    let second = json!({ "metadata": {}, "items": [
        { "metadata": { "name": "general-1-1", "deletionTimestamp": "2026-11-21T12:00:00Z" } },
    ] });
    let server = Server::new([(200, first), (200, second)]);
    let listing = server.cluster().synced().await.unwrap();
    assert_eq!(listing.malformed, []);
    let shown: Vec<_> = listing
        .items
        .iter()
        .map(|shown| (shown.name.as_str(), shown.version, shown.is_deleting))
        .collect();
    assert_eq!(shown, [("general-1-0", 3, false), ("general-1-1", 0, true)]);
    let sent = &server.sent()[1];
    let selector =
        ("labelSelector".to_owned(), "app.kubernetes.io/managed-by=journeyman".to_owned());
    let wanted = [("continue".to_owned(), "more".to_owned()), selector];
    assert!(
        wanted.iter().all(|pair| sent
            .query
            .iter()
            .any(|entry| { entry.0 == pair.0 && entry.1.replace("%2F", "/") == pair.1 })),
        "{:?}",
        sent.query
    );
}

/// As another writer made it.
fn foreign() -> (u16, Value) {
    object(|object| {
        object["metadata"]["labels"].as_object_mut().unwrap().remove(labels::MANAGED_BY);
    })
}

#[tokio::test]
async fn an_object_of_another_writer_is_taken_over_by_its_label() {
    let name = claim().name;
    let server = Server::new([foreign(), foreign()]);
    server.cluster().take_over(&name).await.unwrap();
    server.check_sent(&[GET, PATCH]);
    let managed = json!({ labels::MANAGED_BY: labels::MANAGER });
    let expected = json!({ "metadata": { "uid": "u1", "labels": managed } });
    assert_eq!(server.sent()[1].body, expected);
    // Ours, or none at all.
    for answer in [object(|_| {}), not_found()] {
        let server = Server::new([answer]);
        server.cluster().take_over(&name).await.unwrap();
        server.check_sent(&[GET]);
    }
}

#[tokio::test]
async fn objects_of_everybody_are_read_as_claims() {
    let list = |items: &[Value]| {
        let metadata = json!({ "resourceVersion": "7" });
        (200, json!({ "kind": "NodeClaimList", "metadata": metadata, "items": items }))
    };
    let (_, ours) = object(|_| {});
    let (_, theirs) = foreign();
    let (_, of_no_pool) = object(|object| {
        object["metadata"]["labels"].as_object_mut().unwrap().remove(labels::NODE_POOL);
    });
    let mut of_another_provider = of_no_pool.clone();
    of_another_provider["spec"]["nodeClassRef"]["kind"] = "KwokNodeClass".into();
    let odd = json!({ "metadata": { "name": "odd" }, "spec": 7 });
    let server = Server::new([list(&[ours, theirs, of_no_pool, of_another_provider, odd])]);
    let listing = server.cluster().objects().await.unwrap();
    let names: Vec<&str> = listing.items.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["general-1-0", "general-1-0", "general-1-0"]);
    let of_users = listing.items.iter().map(NodeClaim::is_standalone);
    assert_eq!(of_users.collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(listing.malformed.len(), 1, "{:?}", listing.malformed);
    server.check_sent(&["GET /apis/karpenter.sh/v1/nodeclaims"]);
    let server = Server::new([not_found()]);
    let error = server.cluster().objects().await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("list NodeClaims", Fault::NotFound));
}

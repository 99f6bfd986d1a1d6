//! What is asked of an API server, and how its answers are read.

use installer::live::{
    ApiCallError, Manifests, ObjectKind, kinds,
    kubernetes::{add_values, failure_in_words, in_query},
};
use serde_json::json;

#[test]
fn every_object_of_an_installation_is_of_a_kind_that_is_known() {
    for manifests in [Manifests::Crds, Manifests::Rbac, Manifests::DeletionCosts] {
        let objects = manifests.objects().unwrap();
        assert!(!objects.is_empty());
        assert!(objects.iter().all(|object| ObjectKind::of(object).is_some()), "{manifests:?}");
    }
}

#[test]
fn a_kind_is_where_an_api_server_has_it() {
    assert_eq!(kinds::NODES.path_in("v1"), "/api/v1/nodes");
    assert_eq!(kinds::NODES.path_of(None, "ip-1"), "/api/v1/nodes/ip-1");
    let lease = kinds::LEASES.path_of(Some("kube-system"), "journeyman");
    assert_eq!(lease, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman");
    assert_eq!(kinds::NODE_POOLS.to_string(), "nodepools.karpenter.sh");
    assert_eq!(kinds::NODES.to_string(), "nodes");
}

/// Those of this release are asked for in the versions that it defines.
#[test]
fn our_own_kinds_are_asked_for_as_they_are_defined() {
    for (_, definition) in api::karpenter::crd::all() {
        let spec = &definition["spec"];
        let group = spec["group"].as_str().unwrap();
        let version = spec["versions"][0]["name"].as_str().unwrap();
        let object =
            json!({"apiVersion": format!("{group}/{version}"), "kind": spec["names"]["kind"]});
        let kind = ObjectKind::of(&object).unwrap_or_else(|| panic!("{object} is not known"));
        assert_eq!(kind.plural, spec["names"]["plural"]);
        assert!(kind.is_custom);
    }
}

#[test]
fn objects_of_a_page_are_whole_by_themselves() {
    let page = |token: &str| {
        json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {"continue": token}, "items": [
            {"metadata": {"name": "a", "managedFields": [{}]}}, {"apiVersion": "v2", "kind": "Other"}]})
    };
    let mut objects = Vec::new();
    assert_eq!(add_values(&mut objects, &page("t").to_string()), Ok(Some("t".to_owned())));
    assert_eq!(add_values(&mut objects, &page("").to_string()), Ok(None));
    assert_eq!(objects.len(), 4);
    assert_eq!(objects[0], json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}));
    assert_eq!(objects[1], json!({"apiVersion": "v2", "kind": "Other"}));
    assert_eq!(
        add_values(&mut objects, r#"{"kind":"PodList","apiVersion":"v1","items":null}"#),
        Ok(None)
    );
    let none = add_values(&mut objects, r#"{"kind":"Status"}"#).unwrap_err();
    assert_eq!(none, "it is no list, but `Status`");
    assert!(add_values(&mut objects, "<html>").is_err());
}

#[test]
fn what_is_missing_is_said_in_one_line() {
    let refused = |code, message: &str| ApiCallError::Refused {
        code,
        reason: "Reason".to_owned(),
        message: message.to_owned(),
    };
    assert_eq!(
        failure_in_words("list", "nodes", &refused(403, "nodes is forbidden:\n User \"x\"")),
        "list nodes: Forbidden: nodes is forbidden: User \"x\" (needed: the right to list nodes)"
    );
    assert_eq!(
        failure_in_words("patch", "deployments.apps/scale karpenter", &refused(403, "no")),
        "patch deployments.apps/scale karpenter: Forbidden: no (needed: the right to patch \
         deployments.apps/scale)"
    );
    assert!(
        failure_in_words("list", "nodes", &refused(401, "Unauthorized"))
            .contains("does not accept")
    );
    assert_eq!(
        failure_in_words("list", "nodes", &refused(500, "etcd")),
        "list nodes: 500 Reason: etcd"
    );
}

#[test]
fn tokens_of_pages_go_into_queries_as_they_are_meant() {
    assert_eq!(in_query("a-Z_0.~"), "a-Z_0.~");
    assert_eq!(in_query("e+/=&"), "e%2B%2F%3D%26");
}

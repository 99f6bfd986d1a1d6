//! CustomResourceDefinitions on the real API server: installed once for all tests, after what a cluster
//! without them answers was seen.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use testkit::Case;
use tokio::sync::OnceCell;

use super::world::World;

/// What the suite of a cluster without definitions came to.
static WITHOUT: OnceCell<Vec<Case>> = OnceCell::const_new();

/// A kind that no schema holds to anything: what is written in older versions of a definition, or by
/// hand, must not end a list.
pub(crate) fn open(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({ "name": version, "served": true, "storage": true,
                          "schema": { "openAPIV3Schema": open }, "subresources": { "status": {} } });
    let scope = if kind == CAPACITY_BUFFER.0 { "Namespaced" } else { "Cluster" };
    let names = json!({ "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                        "singular": kind.to_lowercase() });
    json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": { "group": group, "names": names, "scope": scope, "versions": [version] },
    })
}

async fn install(world: &World) -> Vec<Case> {
    let cases = testkit::without_definitions(&world.cluster).await;
    let ours: Vec<(String, Value)> = api::karpenter::crd::all();
    let strict = ["NodePool", "EC2NodeClass", "NodeClaim"];
    let mut definitions: Vec<Value> = ours
        .into_iter()
        .map(|(_, definition)| definition)
        .filter(|crd| strict.iter().any(|kind| crd["spec"]["names"]["kind"] == *kind))
        .collect();
    assert_eq!(definitions.len(), strict.len());
    definitions.push(open("karpenter.sh", "v1alpha1", "NodeOverlay", "nodeoverlays"));
    definitions.push(open("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer", "capacitybuffers"));
    for definition in definitions {
        installed_one(world, definition).await;
    }
    cases
}

/// Installs `definition`, and waits until it is served.
pub(crate) async fn installed_one(world: &World, definition: Value) {
    let crds = world.all::<CustomResourceDefinition>();
    let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
    world.create(&crds, definition).await;
    let is_served = |crd: Option<&CustomResourceDefinition>| {
        let conditions = crd.and_then(|crd| crd.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|c| c.type_ == "Established" && c.status == "True")
    };
    world.until(&crds, &name, "served", is_served).await;
}

/// Installs the definitions, unless another test has done so. What a cluster without them answered.
pub(crate) async fn installed(world: &World) -> &'static [Case] {
    WITHOUT.get_or_init(|| install(world)).await
}

/// The objects of a kind whose definition is installed.
pub(crate) async fn objects(world: &World, (kind, version): (&str, &str)) -> Api<DynamicObject> {
    installed(world).await;
    let (group, version) = version.rsplit_once('/').unwrap();
    let kind = GroupVersionKind::gvk(group, version, kind);
    let plural = format!("{}s", kind.kind.to_lowercase());
    let plural = plural.replace("classs", "classes");
    let resource = ApiResource::from_gvk_with_plural(&kind, &plural);
    let namespaced = [CAPACITY_BUFFER.0, RESOURCE_CLAIM.0, RESOURCE_CLAIM_TEMPLATE.0];
    if namespaced.contains(&kind.kind.as_str()) {
        return Api::namespaced_with(world.client.clone(), &world.namespace, &resource);
    }
    Api::all_with(world.client.clone(), &resource)
}

pub(crate) const DEVICE_CLASS: (&str, &str) = ("DeviceClass", "resource.k8s.io/v1");
pub(crate) const RESOURCE_CLAIM: (&str, &str) = ("ResourceClaim", "resource.k8s.io/v1");
pub(crate) const RESOURCE_CLAIM_TEMPLATE: (&str, &str) =
    ("ResourceClaimTemplate", "resource.k8s.io/v1");
pub(crate) const RESOURCE_SLICE: (&str, &str) = ("ResourceSlice", "resource.k8s.io/v1");
pub(crate) const NODE_POOL: (&str, &str) = ("NodePool", "karpenter.sh/v1");
pub(crate) const NODE_CLASS: (&str, &str) = ("EC2NodeClass", "karpenter.k8s.aws/v1");
pub(crate) const NODE_CLAIM: (&str, &str) = ("NodeClaim", "karpenter.sh/v1");
pub(crate) const NODE_OVERLAY: (&str, &str) = ("NodeOverlay", "karpenter.sh/v1alpha1");
pub(crate) const CAPACITY_BUFFER: (&str, &str) = ("CapacityBuffer", "autoscaling.x-k8s.io/v1beta1");

/// A NodePool that breaks no rule.
pub(crate) fn node_pool(name: &str) -> Value {
    let class = json!({ "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" });
    json!({
        "apiVersion": NODE_POOL.1, "kind": NODE_POOL.0, "metadata": { "name": name },
        "spec": { "template": { "spec": { "nodeClassRef": class, "requirements": [] } } },
    })
}

/// A NodeOverlay that breaks no rule.
pub(crate) fn node_overlay(name: &str) -> Value {
    json!({
        "apiVersion": NODE_OVERLAY.1, "kind": NODE_OVERLAY.0, "metadata": { "name": name },
        "spec": { "requirements": [], "price": "1.5" },
    })
}

/// A CapacityBuffer that breaks no rule.
pub(crate) fn capacity_buffer(name: &str) -> Value {
    json!({
        "apiVersion": CAPACITY_BUFFER.1, "kind": CAPACITY_BUFFER.0, "metadata": { "name": name },
        "spec": { "podTemplateRef": { "name": "spare" }, "replicas": 1 },
    })
}

/// An EC2NodeClass that breaks no rule.
pub(crate) fn node_class(name: &str) -> Value {
    let tags = json!([{ "tags": { "karpenter.sh/discovery": "one" } }]);
    json!({
        "apiVersion": NODE_CLASS.1, "kind": NODE_CLASS.0, "metadata": { "name": name },
        "spec": { "role": "node", "amiSelectorTerms": [{ "alias": "al2023@latest" }],
                  "subnetSelectorTerms": tags, "securityGroupSelectorTerms": tags },
    })
}

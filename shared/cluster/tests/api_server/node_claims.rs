//! NodeClaim objects on a real API server, under our own definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use model::NodeClaimName;
use serde_json::{Value, json};
use testkit::{NodeClaimWorld, SeenNodeClaim};

use super::world::World;

struct Others(Api<DynamicObject>);

impl NodeClaimWorld for Others {
    async fn seen(&self, name: &NodeClaimName) -> Option<SeenNodeClaim> {
        let metadata = self.0.get_opt(name.as_str()).await.unwrap()?.metadata;
        Some(SeenNodeClaim {
            revision: metadata.resource_version.unwrap(),
            labels: metadata.labels.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        })
    }

    async fn make(&self, name: &NodeClaimName) {
        let object = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": { "name": name.as_str(), "labels": { "karpenter.sh/nodepool": "general" } },
            "spec": {
                "nodeClassRef":
                    { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [],
            },
        });
        let params = PatchParams::apply("karpenter");
        drop(self.0.patch(name.as_str(), &params, &Patch::Apply(object)).await.unwrap());
    }

    async fn label(&self, name: &NodeClaimName, key: &str, value: &str) {
        let patch = json!({ "metadata": { "labels": { key: value } } });
        let params = PatchParams::default();
        drop(self.0.patch(name.as_str(), &params, &Patch::Merge(patch)).await.unwrap());
    }

    async fn delete(&self, name: &NodeClaimName) {
        drop(self.0.delete(name.as_str(), &DeleteParams::default()).await.unwrap());
    }
}

async fn install(world: &World) -> Api<DynamicObject> {
    let all: Vec<(String, Value)> = api::karpenter::crd::all();
    let (_, definition) =
        all.into_iter().find(|(_, crd)| crd["spec"]["names"]["kind"] == "NodeClaim").unwrap();
    let crds = world.all::<CustomResourceDefinition>();
    world.create(&crds, definition).await;
    let is_served = |crd: Option<&CustomResourceDefinition>| {
        let conditions = crd.and_then(|crd| crd.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|c| c.type_ == "Established" && c.status == "True")
    };
    world.until(&crds, "nodeclaims.karpenter.sh", "served", is_served).await;
    let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
    let resource = ApiResource::from_gvk_with_plural(&kind, "nodeclaims");
    Api::all_with(world.client.clone(), &resource)
}

#[tokio::test]
async fn node_claims_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let absent = ports::NodeClaims::shown(&world.cluster).await.unwrap_err();
    assert_eq!(absent.fault, ports::Fault::NotFound, "nobody knows the kind yet");
    let others = Others(install(&world).await);
    let cases = testkit::node_claims(&world.cluster, &others, &world.namespace).await;
    for case in &cases {
        assert_eq!(case.outcome, Ok(()), "{}", case.name);
    }
    assert!(cases.len() > 8, "{} cases", cases.len());
}

//! NodeClaim objects on a real API server, under our own definition.

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
};
use model::NodeClaimName;
use ports::NodeClaims as _;
use serde_json::json;
use testkit::{NodeClaimWorld, ObservedNodeClaim, assert_kept};

use super::{
    definitions::{NODE_CLAIM, objects},
    world::World,
};

struct Others(Api<DynamicObject>);

impl NodeClaimWorld for Others {
    async fn seen(&self, name: &NodeClaimName) -> Option<ObservedNodeClaim> {
        let metadata = self.0.get_opt(name.as_str()).await.unwrap()?.metadata;
        Some(ObservedNodeClaim {
            revision: metadata.resource_version.unwrap(),
            labels: metadata.labels.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        })
    }

    async fn make(&self, name: &NodeClaimName) {
        self.make_with(name, ("karpenter.sh/nodepool", "general")).await;
    }

    async fn make_standalone(&self, name: &NodeClaimName) {
        self.make_with(name, ("team", "theirs")).await;
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

impl Others {
    async fn make_with(&self, name: &NodeClaimName, (key, value): (&str, &str)) {
        let object = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": { "name": name.as_str(), "labels": { key: value } },
            "spec": {
                "nodeClassRef":
                    { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [],
            },
        });
        let params = PatchParams::apply("karpenter");
        drop(self.0.patch(name.as_str(), &params, &Patch::Apply(object)).await.unwrap());
    }
}

#[tokio::test]
async fn node_claims_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let others = Others(objects(&world, NODE_CLAIM).await);
    assert_kept(&testkit::node_claims(&world.cluster, &others, &world.namespace).await);
}

#[tokio::test]
async fn an_object_of_another_writer_is_listed_and_taken_over() {
    let Some(world) = World::open().await else { return };
    let others = Others(objects(&world, NODE_CLAIM).await);
    let name = NodeClaimName::new(&format!("{}-theirs", world.namespace)).unwrap();
    others.make(&name).await;
    let is_ours = async || {
        let shown = world.cluster.synced().await.unwrap().items;
        shown.iter().any(|shown| shown.name == name)
    };
    let listed = world.cluster.objects().await.unwrap();
    assert!(listed.items.iter().any(|claim| claim.name == name), "{:?}", listed.malformed);
    assert!(!is_ours().await);
    for _ in 0..2 {
        world.cluster.take_over(&name).await.unwrap();
        assert!(is_ours().await);
    }
    world.cluster.remove(&name).await.unwrap();
    assert_eq!(others.seen(&name).await, None);
}

//! The ports' conformance suites on a real API server. `tests/fast/conformance.rs` runs the same ones on
//! the simulator.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::DeleteParams;
use model::wake::WEBHOOKS;
use serde_json::{Value, json};
use testkit::assert_kept;

use super::{
    definitions::{self, CAPACITY_BUFFER, NODE_CLASS, NODE_OVERLAY, NODE_POOL, installed, objects},
    statuses::OtherObjects,
    world::World,
};

#[tokio::test]
async fn nodes_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    assert_kept(&testkit::nodes(&world.cluster, &world).await);
}

#[tokio::test]
async fn the_cluster_keeps_its_contract() {
    let Some(world) = World::open().await else { return };
    assert_kept(installed(&world).await);
    assert_kept(&testkit::cluster(&world.cluster, &world).await);
}

#[tokio::test]
async fn node_classes_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let change = json!({ "spec": { "tags": { "changed": "yes" } } });
    let (api, object) = (objects(&world, NODE_CLASS).await, definitions::node_class);
    let others = OtherObjects { api, object, change };
    assert_kept(&testkit::node_classes(&world.cluster, &others, &world.namespace).await);
}

#[tokio::test]
async fn node_pools_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let change = json!({ "spec": { "weight": 7 } });
    let (api, object) = (objects(&world, NODE_POOL).await, definitions::node_pool);
    let others = OtherObjects { api, object, change };
    assert_kept(&testkit::node_pools(&world.cluster, &others, &world.namespace).await);
}

#[tokio::test]
async fn the_statuses_of_node_overlays_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let change = json!({ "spec": { "weight": 7 } });
    let (api, object) = (objects(&world, NODE_OVERLAY).await, definitions::node_overlay);
    let others = OtherObjects { api, object, change };
    assert_kept(&testkit::node_overlays(&world.cluster, &others, &world.namespace).await);
}

#[tokio::test]
async fn the_statuses_of_capacity_buffers_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    let change = json!({ "spec": { "replicas": 7 } });
    let (api, object) = (objects(&world, CAPACITY_BUFFER).await, definitions::capacity_buffer);
    let others = OtherObjects { api, object, change };
    assert_kept(&testkit::capacity_buffers(&world.cluster, &others, &world.namespace).await);
}

#[tokio::test]
async fn events_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    assert_kept(&testkit::events(&world.cluster, &world).await);
}

#[tokio::test]
async fn leases_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    assert_kept(&testkit::leases(&world.cluster).await);
}

impl testkit::WebhookWorld for World {
    async fn install(&self, urls: &[(&str, &str)]) {
        self.remove().await;
        // It is called for nothing.
        let rule = json!({ "apiGroups": ["journeyman.test"], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["nothing"] });
        let webhook = |(name, url): &(&str, &str)| {
            json!({ "name": name, "clientConfig": { "url": url }, "rules": [rule],
                "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"] })
        };
        let webhooks: Vec<Value> = urls.iter().map(webhook).collect();
        let object = json!({ "metadata": { "name": WEBHOOKS }, "webhooks": webhooks });
        self.create(&self.all::<ValidatingWebhookConfiguration>(), object).await;
    }

    async fn remove(&self) {
        let api = self.all::<ValidatingWebhookConfiguration>();
        match api.delete(WEBHOOKS, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn webhooks_keep_their_contract() {
    let Some(world) = World::open().await else { return };
    assert_kept(&testkit::webhooks(&world.cluster, &world).await);
    testkit::WebhookWorld::remove(&world).await;
}

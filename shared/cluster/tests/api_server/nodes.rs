//! Nodes are found, patched and deleted.

use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use model::{
    NodeName, Taint, TaintEffect,
    node::{Node, NodePatch},
};
use ports::{Fault, Nodes as _};
use serde_json::json;
use testkit::ClusterWorld as _;

use super::world::World;

fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

async fn node(world: &World, name: &NodeName) -> Node {
    world.cluster.node(name).await.unwrap().unwrap()
}

#[tokio::test]
async fn no_taint_is_lost_when_many_move_at_once() {
    let Some(world) = World::open().await else { return };
    // No other controller writes a node that is ready.
    let (name, _) = world.join("b").await;
    let patches = (0..12).map(|index| {
        let wanted = taint(&format!("test/{index}"), "", TaintEffect::PreferNoSchedule);
        NodePatch { add_taints: vec![wanted], ..NodePatch::default() }
    });
    let patched: Vec<_> = stream::iter(patches)
        .map(async |patch| {
            let answer = world.cluster.patch(&name, &patch).await;
            (patch, answer.map_err(|error| error.fault))
        })
        .buffer_unordered(12)
        .collect()
        .await;
    let after = node(&world, &name).await;
    for (patch, answer) in &patched {
        match answer {
            Ok(()) => assert!(patch.is_satisfied_by(&after), "{patch:?} was lost: {after:#?}"),
            Err(fault) => assert_eq!(*fault, Fault::Conflict, "{patch:?}"),
        }
    }
    let accepted = patched.iter().filter(|(_, answer)| answer.is_ok()).count();
    assert!(accepted > 0);
    world.delete_node(&name).await;
}

#[tokio::test]
async fn a_patch_for_a_namesake_is_refused_by_its_uid() {
    let Some(world) = World::open().await else { return };
    let name = world.create_node("c", json!({})).await;
    // What `patch` sends when the node was replaced after it was read.
    let body = json!({ "metadata": { "uid": "another", "labels": { "a": "1" } } });
    let error = world
        .all::<core::Node>()
        .patch(name.as_str(), &PatchParams::default(), &Patch::Merge(body))
        .await
        .unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error:?}") };
    // The adapter takes exactly this for `Conflict`.
    assert_eq!(status.code, 422, "{status:?}");
    let causes = status.details.iter().flat_map(|details| &details.causes);
    assert!(causes.into_iter().any(|cause| cause.field == "metadata.uid"), "{status:?}");
    world.delete_node(&name).await;
}

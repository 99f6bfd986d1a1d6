//! Nodes are found, patched and deleted.

use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use model::{
    InstanceId, Taint, TaintEffect,
    node::{Node, NodePatch},
};
use ports::{Cluster as _, Fault, Nodes as _};
use serde_json::json;

use super::world::World;

const FINALIZER: &str = "karpenter.sh/termination";

fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

async fn node(world: &World, instance: &InstanceId) -> Node {
    world.cluster.node_of_instance(instance).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_node_is_found_by_its_instance_and_patched() {
    let Some(world) = World::open().await else { return };
    let instance = InstanceId::new("i-0123456789abcdef0").unwrap();
    let unregistered = taint("karpenter.sh/unregistered", "", TaintEffect::NoExecute);
    let theirs = taint("team", "a", TaintEffect::NoSchedule);
    let spec = json!({
        "providerID": format!("aws:///us-west-2a/{instance}"),
        "taints": [
            { "key": unregistered.key, "effect": "NoExecute" },
            { "key": theirs.key, "value": theirs.value, "effect": "NoSchedule" },
        ],
    });
    let name = world.create_node("a", spec).await;
    let other = InstanceId::new("i-00000000000000000").unwrap();
    assert_eq!(world.cluster.node_of_instance(&other).await.unwrap(), None);

    let before = node(&world, &instance).await;
    assert_eq!(before.name, name);
    let listing = world.cluster.nodes().await.unwrap();
    assert_eq!(listing.malformed, []);
    assert!(listing.items.iter().any(|node| node.name == name));

    let register = NodePatch {
        labels: [("karpenter.sh/registered".to_owned(), "true".to_owned())].into(),
        annotations: [("karpenter.sh/nodepool-hash".to_owned(), "1".to_owned())].into(),
        add_taints: vec![taint("karpenter.sh/disrupted", "", TaintEffect::NoSchedule)],
        remove_taints: vec![unregistered.clone()],
        add_finalizers: [FINALIZER.to_owned()].into(),
        ..NodePatch::default()
    };
    assert!(!register.is_satisfied_by(&before));
    patch_in_turn(&world, &name, &register).await;
    let after = node(&world, &instance).await;
    assert!(register.is_satisfied_by(&after), "{after:#?}");
    assert!(after.taints.contains(&theirs), "{after:#?}");
    assert!(after.is_registered());
    patch_in_turn(&world, &name, &register).await;

    // The same taint with another value takes the place of the first.
    let replace = NodePatch {
        add_taints: vec![taint("team", "b", TaintEffect::NoSchedule)],
        ..NodePatch::default()
    };
    patch_in_turn(&world, &name, &replace).await;
    let after = node(&world, &instance).await;
    assert!(replace.is_satisfied_by(&after) && register.is_satisfied_by(&after), "{after:#?}");
    assert!(!after.taints.contains(&theirs), "{after:#?}");

    let undo = NodePatch {
        remove_taints: register.add_taints.clone(),
        remove_finalizers: register.add_finalizers.clone(),
        ..NodePatch::default()
    };
    patch_in_turn(&world, &name, &undo).await;
    let after = node(&world, &instance).await;
    assert!(undo.is_satisfied_by(&after), "{after:#?}");
    world.cluster.delete(&name).await.unwrap();
}

#[tokio::test]
async fn no_taint_is_lost_when_many_move_at_once() {
    let Some(world) = World::open().await else { return };
    let name = world.create_node("b", json!({ "providerID": "aws:///us-west-2a/i-b" })).await;
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
    let after = node(&world, &InstanceId::new("i-b").unwrap()).await;
    for (patch, answer) in &patched {
        match answer {
            Ok(()) => assert!(patch.is_satisfied_by(&after), "{patch:?} was lost: {after:#?}"),
            Err(fault) => assert_eq!(*fault, Fault::Conflict, "{patch:?}"),
        }
    }
    let accepted = patched.iter().filter(|(_, answer)| answer.is_ok()).count();
    assert!(accepted > 0);
    world.cluster.delete(&name).await.unwrap();
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
    world.cluster.delete(&name).await.unwrap();
}

/// Patches as a message does that comes again after a conflict: the control plane writes nodes too.
async fn patch_in_turn(world: &World, name: &model::NodeName, patch: &NodePatch) {
    for _ in 0..20 {
        match world.cluster.patch(name, patch).await {
            Err(error) if error.fault == Fault::Conflict => {}
            other => return other.unwrap(),
        }
    }
    panic!("node {name} was never left alone");
}

#[tokio::test]
async fn a_node_is_deleted_when_its_finalizers_are_gone() {
    let Some(world) = World::open().await else { return };
    let instance = InstanceId::new("i-d").unwrap();
    let name = world.create_node("d", json!({ "providerID": "aws:///us-west-2a/i-d" })).await;
    let hold = NodePatch { add_finalizers: [FINALIZER.to_owned()].into(), ..NodePatch::default() };
    patch_in_turn(&world, &name, &hold).await;
    world.cluster.delete(&name).await.unwrap();
    assert!(node(&world, &instance).await.is_deleting);
    world.cluster.delete(&name).await.unwrap();

    let release =
        NodePatch { remove_finalizers: hold.add_finalizers.clone(), ..NodePatch::default() };
    patch_in_turn(&world, &name, &release).await;
    assert_eq!(world.cluster.node_of_instance(&instance).await.unwrap(), None);
    world.cluster.delete(&name).await.unwrap();
    let error = world.cluster.patch(&name, &release).await.unwrap_err();
    assert_eq!(error.fault, Fault::NotFound);
}

//! What instances of the account do in the cluster: their nodes join, and fall silent when they end. The
//! control plane's stand-in for kubelets does the rest.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1 as core;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use model::{
    InstanceId, NodeClaim, ProviderId, Resources, labels,
    launch::{Instance, InstanceState},
};
use serde_json::{Value, json};
use simulator::Sim;

use super::stage::Shared;

/// From a launch to the node of the instance.
const BOOT: jiff::SignedDuration = jiff::SignedDuration::from_secs(3);
const LOOKS: Duration = Duration::from_millis(500);

/// Whether the kubelet of an instance reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kubelet {
    Reports,
    Silent,
}

pub(crate) async fn play(account: Sim, client: Client, shared: Shared) {
    let nodes: Api<core::Node> = Api::all(client);
    let mut kubelets: BTreeMap<InstanceId, Kubelet> = BTreeMap::new();
    let mut looks = tokio::time::interval(LOOKS);
    loop {
        looks.tick().await;
        for described in account.describe_instances().await.unwrap() {
            let Instance { id, state, .. } = &described.instance;
            let is_live = matches!(state, InstanceState::Pending | InstanceState::Running);
            match kubelets.get(id) {
                None if is_live && may_join(&described.instance, &account, &shared) => {
                    let claims = account.claims();
                    let is_its = |claim: &&NodeClaim| {
                        claim.instance.as_ref().is_some_and(|known| known.id == *id)
                    };
                    // Until its launch is written down, nobody knows what it was launched for.
                    let Some(claim) = claims.iter().find(is_its) else { continue };
                    let node = serde_json::from_value(node(&described.instance, claim)).unwrap();
                    drop(nodes.create(&PostParams::default(), &node).await.unwrap());
                    kubelets.insert(id.clone(), Kubelet::Reports);
                }
                Some(Kubelet::Reports) if !is_live => {
                    let silent = json!({ "metadata": {
                        "annotations": { "kubelet.control-plane/ready": "Silent" } } });
                    let (params, patch) = (PatchParams::default(), Patch::Merge(silent));
                    // It may be gone already.
                    drop(nodes.patch(&node_name(id), &params, &patch).await);
                    kubelets.insert(id.clone(), Kubelet::Silent);
                }
                _ => {}
            }
        }
    }
}

fn may_join(instance: &Instance, account: &Sim, shared: &Shared) -> bool {
    let absent = shared.absent.lock().unwrap();
    let pool = instance.node_pool.as_ref();
    pool.is_none_or(|pool| !absent.contains(pool.as_str()))
        && BOOT <= account.now().duration_since(instance.launched_at)
}

/// What the node of an instance is called.
pub(crate) fn node_name(instance: &InstanceId) -> String {
    format!("{instance}.us-west-2.compute.internal")
}

/// The node as its kubelet registers it.
fn node(instance: &Instance, claim: &NodeClaim) -> Value {
    let name = node_name(&instance.id);
    let zone = &instance.zone;
    let provider_id = ProviderId::of_instance(zone, &instance.id);
    json!({
        "metadata": { "name": name, "labels": {
            labels::HOSTNAME: name,
            labels::INSTANCE_TYPE: instance.instance_type.as_str(),
            labels::ZONE: zone.as_str(),
            labels::REGION: "us-west-2",
            labels::OS: "linux",
            labels::ARCH: "amd64",
        } },
        "spec": {
            "providerID": provider_id.as_str(),
            "taints": [{ "key": labels::UNREGISTERED_TAINT, "effect": "NoExecute" }],
        },
        "status": { "capacity": amounts(&claim.capacity), "allocatable": amounts(&claim.allocatable) },
    })
}

fn amounts(resources: &Resources) -> Value {
    json!({
        "cpu": resources.cpu.to_string(),
        "memory": resources.memory.to_string(),
        "ephemeral-storage": resources.ephemeral_storage.to_string(),
        "pods": resources.pods.to_string(),
    })
}

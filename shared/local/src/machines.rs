//! What instances of the account do in the cluster: their nodes join, and fall silent when they end or their
//! host is gone. The control plane's stand-in for kubelets does the rest.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1 as core;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use model::{
    InstanceId, NodeClaim, ProviderId, Resources, labels, launch::Instance,
    resources::format_amount,
};
use serde_json::{Value, json};
use simulator::{DeviceDrivers, Sim, WorldSettings};
use tracing::Instrument as _;

use crate::drivers::Drivers;

const LOOKS: Duration = Duration::from_millis(500);

/// The code of the API server for what is there already.
pub(crate) const CONFLICT: u16 = 409;

/// Whether the kubelet of an instance reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kubelet {
    /// Since this boot: 0 for the first, 1 after one reboot.
    Reports {
        boot: u64,
    },
    /// Until the instance has booted again.
    Boots {
        boot: u64,
        since: Timestamp,
    },
    Silent,
}

/// The machines of an account.
#[derive(Debug)]
pub struct Machines {
    account: Sim,
    nodes: Api<core::Node>,
    region: String,
    boot: SignedDuration,
    kubelets: BTreeMap<InstanceId, Kubelet>,
    drivers: Drivers,
}

impl Machines {
    /// The machines of `account` in `region`, whose nodes join the cluster of `client`, `boot` after the launch.
    pub fn of(account: &Sim, client: Client, region: &str, boot: SignedDuration) -> Self {
        Self {
            account: account.clone(),
            drivers: Drivers::of(DeviceDrivers::default(), &client),
            nodes: Api::all(client),
            region: region.to_owned(),
            boot,
            kubelets: BTreeMap::new(),
        }
    }

    /// Gives nodes the drivers that `installed` names. What claims share of a GPU is as an EC2NodeClass says.
    #[must_use]
    pub fn with_drivers(self, installed: DeviceDrivers) -> Self {
        let drivers = Drivers::of(installed, &self.nodes.clone().into_client());
        Self { drivers, ..self }
    }

    /// Lets them boot, run and end, for ever. Those that `may_join` says no to never join.
    pub async fn play(&mut self, may_join: impl Fn(&Instance) -> bool) {
        let span = tracing::info_span!("machines", who = crate::lines::MACHINES);
        self.look(may_join).instrument(span).await;
    }

    async fn look(&mut self, may_join: impl Fn(&Instance) -> bool) {
        let mut looks = tokio::time::interval(LOOKS);
        loop {
            looks.tick().await;
            let working = self.account.working_instances();
            let booted = working.iter().filter(|instance| self.has_booted(instance));
            let due: Vec<&Instance> = booted.filter(|instance| may_join(instance)).collect();
            if !due.is_empty() {
                let claims = self.account.claims();
                for instance in due {
                    self.join(instance, &claims).await;
                }
            }
            self.drivers.publish(self.account.now(), &working).await;
            self.silence_all_but(&working).await;
            self.reboot().await;
        }
    }

    /// Whether an instance has booted and has no node yet.
    fn has_booted(&self, instance: &Instance) -> bool {
        let age = self.account.now().duration_since(instance.launched_at);
        self.boot <= age && !self.kubelets.contains_key(&instance.id)
    }

    async fn join(&mut self, instance: &Instance, claims: &[NodeClaim]) {
        let is_its = |claim: &&NodeClaim| {
            claim.instance.as_ref().is_some_and(|known| known.id == instance.id)
        };
        // Until its launch is written down, it is not known what it was launched for.
        let Some(claim) = claims.iter().find(is_its) else { return };
        let name = node_name(&instance.id, &self.region);
        let Ok(node) = serde_json::from_value(self.node(instance, claim)) else { return };
        match self.nodes.create(&PostParams::default(), &node).await {
            Ok(_) => tracing::info!("{name} joins"),
            // The answer to an earlier try was lost.
            Err(kube::Error::Api(status)) if status.code == CONFLICT => {}
            Err(error) => {
                tracing::warn!("{name} cannot join: {error}");
                return;
            }
        }
        self.drivers.expect(&name, instance, claim);
        let boot = self.account.reboots(&instance.id);
        self.kubelets.insert(instance.id.clone(), Kubelet::Reports { boot });
    }

    /// The kubelet of an instance that was rebooted is silent until the instance has booted, and then reports another
    /// boot.
    async fn reboot(&mut self) {
        let now = self.account.now();
        for (id, kubelet) in &mut self.kubelets {
            let (Kubelet::Reports { boot } | Kubelet::Boots { boot, .. }) = *kubelet else {
                continue;
            };
            let name = node_name(id, &self.region);
            let last = self.account.reboots(id);
            if boot != last {
                if annotate(&self.nodes, &name, json!("Silent")).await {
                    tracing::info!("{name} reboots");
                }
                *kubelet = Kubelet::Boots { boot: last, since: now };
            } else if let Kubelet::Boots { since, .. } = *kubelet
                && self.boot <= now.duration_since(since)
            {
                let another = json!({ "status": { "nodeInfo": { "bootID": boot_id(id, boot) } } });
                let patch = Patch::Merge(another);
                let has_booted =
                    self.nodes.patch_status(&name, &PatchParams::default(), &patch).await.is_ok();
                if has_booted && annotate(&self.nodes, &name, Value::Null).await {
                    tracing::info!("{name} is back after its reboot");
                    *kubelet = Kubelet::Reports { boot };
                }
            }
        }
    }

    /// The kubelets of all but these instances report no longer.
    async fn silence_all_but(&mut self, working: &[Instance]) {
        for (id, kubelet) in &mut self.kubelets {
            if *kubelet == Kubelet::Silent || working.iter().any(|instance| instance.id == *id) {
                continue;
            }
            let name = node_name(id, &self.region);
            // Its node may be gone already.
            if annotate(&self.nodes, &name, json!("Silent")).await {
                tracing::info!("{name} falls silent");
            }
            *kubelet = Kubelet::Silent;
        }
    }

    /// Deletes every node that joined, whatever finalizers it has: the account is no more. Last come instances whose
    /// request to join may have been under way when the cluster was ended.
    pub(crate) async fn leave(&self) {
        let none = json!({ "metadata": { "finalizers": null } });
        let working = self.account.working_instances().into_iter().map(|instance| instance.id);
        let joining = working.filter(|id| !self.kubelets.contains_key(id));
        let ids: Vec<InstanceId> = self.kubelets.keys().cloned().chain(joining).collect();
        for id in &ids {
            let name = node_name(id, &self.region);
            let patch = Patch::Merge(&none);
            let is_freed = self.nodes.patch(&name, &PatchParams::default(), &patch).await.is_ok();
            if is_freed && self.nodes.delete(&name, &DeleteParams::default()).await.is_err() {
                tracing::warn!("{name} stays: delete it");
            }
        }
    }

    /// The node as its kubelet registers it.
    fn node(&self, instance: &Instance, claim: &NodeClaim) -> Value {
        let name = node_name(&instance.id, &self.region);
        let zone = &instance.zone;
        let provider_id = ProviderId::of_instance(zone, &instance.id);
        let is = |label, otherwise: &str| {
            claim.labels.get(label).map_or_else(|| otherwise.to_owned(), String::clone)
        };
        // User data gives the kubelet those of the claim.
        let mut node_labels = claim.labels.clone();
        let pool = claim.pool_label().map(|(key, value)| (key.to_owned(), value.to_owned()));
        node_labels.extend(pool);
        let seen = [
            (labels::NODE_CLASS, claim.node_class.to_string()),
            (labels::HOSTNAME, name.clone()),
            (labels::INSTANCE_TYPE, instance.instance_type.to_string()),
            (labels::ZONE, zone.to_string()),
            (labels::REGION, self.region.clone()),
            (labels::OS, is(labels::OS, "linux")),
            (labels::ARCH, is(labels::ARCH, "amd64")),
        ];
        node_labels.extend(seen.map(|(key, value)| (key.to_owned(), value)));
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name,
                // KWOK takes such nodes for its own, where it is in the place of kubelets.
                "annotations": { "kwok.x-k8s.io/node": "fake" },
                "labels": node_labels,
            },
            "spec": {
                "providerID": provider_id.as_str(),
                "taints": [{ "key": labels::UNREGISTERED_TAINT, "effect": "NoExecute" }],
            },
            "status": {
                "capacity": amounts(&claim.capacity),
                "allocatable": amounts(&claim.allocatable),
                "addresses": [{ "type": "Hostname", "address": name }],
                "nodeInfo": {
                    "bootID": boot_id(&instance.id, self.account.reboots(&instance.id)),
                    "machineID": instance.id.as_str(),
                    "systemUUID": instance.id.as_str(),
                    "operatingSystem": is(labels::OS, "linux"),
                    "architecture": is(labels::ARCH, "amd64"),
                    "osImage": "simulated",
                    "kernelVersion": "simulated",
                    "containerRuntimeVersion": "simulated",
                    "kubeProxyVersion": "",
                    "kubeletVersion": format!("v{}.0", WorldSettings::default().kubernetes_version),
                },
            },
        })
    }
}

/// Tells the stand-in for kubelets what the node reports: `Silent` is nothing, `null` that it is ready. Returns false
/// if the node is not there.
async fn annotate(nodes: &Api<core::Node>, name: &str, reports: Value) -> bool {
    let annotations = json!({ "kubelet.control-plane/ready": reports });
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
    nodes.patch(name, &PatchParams::default(), &patch).await.is_ok()
}

/// What a kubelet reports of a boot: 0 is the first, 1 the one after the first reboot.
fn boot_id(instance: &InstanceId, boot: u64) -> String {
    format!("{instance}/{boot}")
}

/// What the node of an instance in `region` is called.
pub fn node_name(instance: &InstanceId, region: &str) -> String {
    format!("{instance}.{region}.compute.internal")
}

fn amounts(resources: &Resources) -> Value {
    let amounts =
        resources.iter().map(|(name, amount)| (name.to_owned(), format_amount(name, amount)));
    amounts.map(|(name, amount)| (name, Value::from(amount))).collect()
}

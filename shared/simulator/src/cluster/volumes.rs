//! Stand-ins for what looks after volumes: the controllers that make claims for pods, the one that
//! makes volumes for claims, and what kube-scheduler asks of both.
//!
//! A volume is attached where its pod runs, and detached some seconds after the last pod that uses it there
//! ended; where no kubelet says so, six minutes later.
//!
//! A claim whose class waits for its first pod gets a volume in the zone of that pod's node, or on that node where
//! volumes of its class are local. Claims of classes that do not wait stay without one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    InstanceId, Namespace, NodeName, ObjectName, Pod, Requirement,
    duration::later,
    labels,
    node::Node,
    storage::{PodVolume, Volume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use ports::PodSelection;

use super::ClusterState;
use crate::{
    Sim,
    story::StoryWorkload,
    world::{Event, World},
};

/// What the attach-detach controller waits for a kubelet that does not say that a volume is unmounted.
///
/// Kubernetes: `pkg/controller/volume/attachdetach/attach_detach_controller.go`,
/// `ReconcilerMaxWaitForUnmountDuration`.
const UNMOUNT_WAIT: SignedDuration = SignedDuration::from_mins(6);

/// Those whose volumes are on the disks of nodes.
const LOCAL_PROVISIONERS: [&str; 2] = ["kubernetes.io/no-provisioner", "rancher.io/local-path"];

impl Sim {
    /// The local volume of `pod` whose node is not there, if it has one.
    pub fn lost_volume_of(&self, pod: &Pod) -> Option<String> {
        self.with(|world| world.cluster.lost_volume_of(pod))
    }
}

impl World {
    /// The volumes of a pod are attached to the node that it is bound to.
    pub(super) fn attach_volumes(&mut self, pod: &Pod, node: &NodeName) {
        for volume in self.cluster.volumes_used_by(pod) {
            let name = format!("csi-{volume}-{node}");
            let attachment =
                VolumeAttachment { name: name.clone(), node: node.clone(), volume: Some(volume) };
            self.cluster.attachments.insert(name, attachment);
        }
    }

    /// A pod does not use its volumes any more.
    pub(super) fn release_volumes(&mut self, pod: &Pod) {
        let Some(node) = &pod.node else { return };
        let is_alive = self.is_kubelet_alive(node);
        for volume in self.cluster.volumes_used_by(pod) {
            let after = if is_alive {
                self.chances.cluster.within(self.settings.volume_detaches_after)
            } else {
                UNMOUNT_WAIT
            };
            let at = later(self.now, after);
            self.at(at, Event::VolumeDetaches(node.clone(), volume));
        }
    }

    /// The attach-detach controller detaches a volume, unless a pod uses it there again.
    pub(crate) fn volume_detaches(&mut self, node: &NodeName, volume: &str) {
        let pods = self.cluster.selected(&PodSelection::OnNode(node.clone()));
        let is_used = pods
            .filter(|pod| !pod.is_terminal())
            .any(|pod| self.cluster.volumes_used_by(pod).iter().any(|used| used == volume));
        if !is_used && !self.cluster.stuck_volumes.contains(volume) {
            self.cluster.attachments.remove(&format!("csi-{volume}-{node}"));
        }
    }

    /// Why `instance`, whose node is drained, may not end yet, if so: a volume of a pod that left is attached,
    /// and there is time to wait.
    pub(crate) fn attached_at_the_end(&self, instance: &InstanceId) -> Option<String> {
        let node = self.cluster.node_of_instance.get(instance)?;
        let deletion = self.ledger.claim_of(instance)?.deletion.as_ref()?;
        let is_over = deletion.deadline.is_some_and(|deadline| deadline <= self.now);
        if is_over || !self.is_kubelet_alive(node) {
            return None;
        }
        let pods = self.cluster.selected(&PodSelection::OnNode(node.clone()));
        let used: Vec<String> = pods.flat_map(|pod| self.cluster.volumes_used_by(pod)).collect();
        let attached = self.cluster.attachments.values();
        let mut here = attached.filter(|attached| attached.node == *node);
        let left = here.find_map(|attached| {
            attached.volume.as_ref().filter(|volume| !used.contains(volume))
        })?;
        Some(format!("node {node} was ended while volume {left} was attached to it"))
    }
}

impl ClusterState {
    /// The volumes of the pod called `name` of `workload`, whose claims are made if they are missing.
    pub(super) fn volumes_of(
        &mut self,
        workload: &StoryWorkload,
        name: &ObjectName,
    ) -> Vec<PodVolume> {
        let mut volumes = workload.volumes.clone();
        let ordinal = name.as_str().strip_prefix(workload.name.as_str()).unwrap_or_default();
        for (template, class) in &workload.claim_templates {
            let claim = format!("{template}-{}{ordinal}", workload.name);
            if let Some(claim) = self.ensure_claim(&workload.namespace, &claim, class.as_ref()) {
                volumes.push(PodVolume::Claim(claim));
            }
        }
        for volume in &workload.volumes {
            if let PodVolume::Ephemeral { volume, storage_class } = volume {
                let claim = format!("{name}-{volume}");
                self.ensure_claim(&workload.namespace, &claim, storage_class.as_ref());
            }
        }
        volumes
    }

    fn ensure_claim(
        &mut self,
        namespace: &Namespace,
        name: &str,
        class: Option<&String>,
    ) -> Option<ObjectName> {
        let name = ObjectName::new(name).ok()?;
        let key = VolumeClaimKey { namespace: namespace.clone(), name: name.clone() };
        let storage_class = class.or(self.default_storage_class.as_ref()).cloned();
        let claim = VolumeClaim { storage_class, ..VolumeClaim::default() };
        self.storage.claims.entry(key).or_insert(claim);
        Some(name)
    }

    /// Whether every volume of `pod` can be used on `node`.
    pub(super) fn can_mount(&self, pod: &Pod, node: &Node) -> bool {
        let is_usable = |key: VolumeClaimKey| {
            let claim = self.storage.claims.get(&key);
            claim.is_some_and(|claim| {
                self.is_usable(claim, node)
                    && !(claim.is_for_one_pod && self.is_used_by_another(&key, pod))
            })
        };
        claims_of(pod).all(is_usable) && self.can_attach(pod, node)
    }

    /// Whether `node` attaches the volumes of `pod` beside those of the pods there, as its CSINode says.
    ///
    /// Kubernetes: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
    fn can_attach(&self, pod: &Pod, node: &Node) -> bool {
        let Some(limits) = self.storage.attach_limits.get(&node.name) else { return true };
        let there = self.selected(&PodSelection::OnNode(node.name.clone()));
        let there = there.filter(|other| !other.is_terminal());
        let attached: BTreeSet<VolumeClaimKey> = there.flat_map(claims_of).collect();
        let new: BTreeSet<VolumeClaimKey> =
            claims_of(pod).filter(|key| !attached.contains(key)).collect();
        limits.iter().all(|(driver, limit)| {
            let of_driver = |claims: &BTreeSet<VolumeClaimKey>| {
                claims.iter().filter(|key| self.driver(key) == Some(driver)).count()
            };
            let more = of_driver(&new);
            let sum = u32::try_from(of_driver(&attached) + more).unwrap_or(u32::MAX);
            more == 0 || sum <= *limit
        })
    }

    /// The driver that attaches the volume of a claim.
    fn driver(&self, key: &VolumeClaimKey) -> Option<&str> {
        let claim = self.storage.claims.get(key)?;
        let of_class = || {
            let class = self.storage.classes.get(claim.storage_class.as_ref()?)?;
            Some(class.provisioner.as_str())
        };
        let volume = claim.volume.as_ref().map(|volume| self.storage.volumes.get(volume));
        volume.map_or_else(of_class, |volume| volume?.driver.as_deref())
    }

    fn is_used_by_another(&self, key: &VolumeClaimKey, pod: &Pod) -> bool {
        let mut bound = self.selected(&PodSelection::All).filter(|other| other.node.is_some());
        bound.any(|other| {
            other.key != pod.key
                && !other.is_terminal()
                && claims_of(other).any(|claim| claim == *key)
        })
    }

    fn is_usable(&self, claim: &VolumeClaim, node: &Node) -> bool {
        if claim.is_deleting || claim.is_lost {
            return false;
        }
        if let Some(volume) = &claim.volume {
            let volume = self.storage.volumes.get(volume).filter(|volume| !volume.is_deleting);
            return claim.is_bind_completed
                && volume.is_some_and(|bound| any_holds(&bound.terms, node));
        }
        let class = claim.storage_class.as_ref().and_then(|name| self.storage.classes.get(name));
        class.is_some_and(|class| {
            class.waits_for_first_consumer && any_holds(&class.allowed_topologies, node)
        })
    }

    /// The volumes that the claims of `pod` are bound to.
    fn volumes_used_by(&self, pod: &Pod) -> Vec<String> {
        claims_of(pod).filter_map(|key| self.storage.claims.get(&key)?.volume.clone()).collect()
    }

    fn lost_volume_of(&self, pod: &Pod) -> Option<String> {
        let mut used = self.volumes_used_by(pod).into_iter();
        used.find(|name| {
            let volume = self.storage.volumes.get(name).filter(|volume| volume.is_local);
            volume.is_some_and(|volume| {
                !self.nodes.values().any(|entry| any_holds(&volume.terms, &entry.node))
            })
        })
    }

    /// Makes the volumes that the pod's claims wait for, in the zone of its node.
    pub(super) fn provision_volumes(&mut self, pod: &Pod, node: &NodeName) {
        let Some(entry) = self.nodes.get(node) else { return };
        let place = |label: &str| -> Vec<Vec<Requirement>> {
            let value = entry.node.labels.get(label);
            let term = value.and_then(|value| Requirement::of_label(label, value).ok());
            term.map(|term| vec![term]).into_iter().collect()
        };
        let (of_zone, of_node) = (place(labels::ZONE), place(labels::HOSTNAME));
        for key in claims_of(pod) {
            let Some(claim) = self.storage.claims.get_mut(&key) else { continue };
            if claim.volume.is_some() {
                continue;
            }
            let class = claim.storage_class.as_ref();
            let driver = class
                .and_then(|name| self.storage.classes.get(name))
                .map(|class| class.provisioner.clone());
            let name = format!("pvc-{}-{}", key.namespace, key.name);
            claim.volume = Some(name.clone());
            claim.is_bind_completed = true;
            let is_local =
                driver.as_ref().is_some_and(|driver| LOCAL_PROVISIONERS.contains(&driver.as_str()));
            let terms = if is_local { &of_node } else { &of_zone };
            let volume = Volume { terms: terms.clone(), is_local, driver, ..Volume::default() };
            self.storage.volumes.insert(name, volume);
        }
    }
}

/// The claims of a pod's volumes.
fn claims_of(pod: &Pod) -> impl Iterator<Item = VolumeClaimKey> {
    pod.volumes.iter().filter_map(|volume| {
        let name = match volume {
            PodVolume::Claim(name) => name.clone(),
            PodVolume::Ephemeral { volume, .. } => {
                ObjectName::new(&format!("{}-{volume}", pod.key.name)).ok()?
            }
        };
        Some(VolumeClaimKey { namespace: pod.key.namespace.clone(), name })
    })
}

/// Whether one of the alternatives holds; none is no condition.
fn any_holds(terms: &[Vec<Requirement>], node: &Node) -> bool {
    let labels: &BTreeMap<String, String> = &node.labels;
    let holds = |requirement: &Requirement| {
        labels.get(requirement.key().as_str()).is_some_and(|value| requirement.has(value))
    };
    terms.is_empty() || terms.iter().any(|term| term.iter().all(holds))
}

//! Stand-ins for what looks after volumes: the controllers that make claims for pods, the one that
//! makes volumes for claims, and what kube-scheduler asks of both.
//!
//! A claim whose class waits for its first pod gets a volume in the zone of that pod's node. Claims
//! of classes that do not wait stay without one, and nodes attach as many volumes as there are.

use std::collections::BTreeMap;

use model::{
    Namespace, NodeName, ObjectName, Pod, Requirement, labels,
    node::Node,
    storage::{PodVolume, Volume, VolumeClaim, VolumeClaimKey},
};

use super::ClusterState;
use crate::story::StoryWorkload;

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
        claims_of(pod)
            .all(|key| self.storage.claims.get(&key).is_some_and(|c| self.is_usable(c, node)))
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

    /// Makes the volumes that the pod's claims wait for, in the zone of its node.
    pub(super) fn provision_volumes(&mut self, pod: &Pod, node: &NodeName) {
        let Some(entry) = self.nodes.get(node) else { return };
        let zone = entry.node.labels.get(labels::ZONE).cloned();
        let terms: Vec<Vec<Requirement>> = zone
            .iter()
            .filter_map(|zone| Some(vec![Requirement::of_label(labels::ZONE, zone).ok()?]))
            .collect();
        for key in claims_of(pod) {
            let Some(claim) = self.storage.claims.get_mut(&key) else { continue };
            if claim.volume.is_some() {
                continue;
            }
            let class = claim.storage_class.as_ref();
            let driver = class.and_then(|name| self.storage.classes.get(name));
            let driver = driver.map(|class| class.provisioner.clone());
            let name = format!("pvc-{}-{}", key.namespace, key.name);
            claim.volume = Some(name.clone());
            claim.is_bind_completed = true;
            let volume = Volume { terms: terms.clone(), driver, ..Volume::default() };
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

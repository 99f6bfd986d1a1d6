//! Objects that are not in a cluster yet, as its controllers and its admission would make them:
//! pods of workloads, claims of their volumes, default classes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::objects::{PodManifest, Workload, WorkloadKind};
use jiff::Timestamp;
use model::{
    Namespace, ObjectName, Pod, PodKey, PodUid,
    limits::PODS_PER_PLAN_MAX,
    pod::Owner,
    storage::{PodVolume, Storage, VolumeClaim, VolumeClaimKey},
    words,
};
use report::output::thousands;

use super::{devices::DeviceObjects, input::Loaded};
use crate::{
    admission,
    manifests::{GATED, left_out, unscheduled},
    workloads::deployment_of,
};

/// Pods that one note names.
const PODS_SHOWN: usize = 3;

/// Every pod: those that are there, and those that workloads would make. Storage gets what comes with them.
pub(super) fn pods(loaded: &mut Loaded, now: Timestamp) -> Vec<Pod> {
    let default_class = admission::default_class(&loaded.storage_classes);
    let storage = &mut loaded.surroundings.storage;
    for class in &loaded.storage_classes {
        storage.classes.insert(class.name.clone(), class.class.clone());
    }
    let mut maker = Maker {
        now,
        default_class,
        storage,
        devices: &mut loaded.devices,
        names: BTreeSet::new(),
        room: PODS_PER_PLAN_MAX,
        notes: &mut loaded.notes,
    };
    if !loaded.workloads.is_empty() {
        maker.names = loaded.pods.iter().map(|(read, _)| read.pod.key.clone()).collect();
    }
    let mut pods: Vec<Pod> = Vec::with_capacity(loaded.pods.len());
    let mut gated = BTreeSet::new();
    for (read, is_stored) in std::mem::take(&mut loaded.pods) {
        if read.is_gated && read.pod.node.is_none() && !read.pod.is_terminal() {
            gated.insert(read.pod.key.clone());
        }
        pods.push(if is_stored { read.pod } else { maker.written(read) });
    }
    let existing = Existing::of(&pods);
    let deployments: BTreeSet<PodKey> = loaded
        .workloads
        .iter()
        .filter(|workload| workload.kind == WorkloadKind::Deployment)
        .map(|workload| workload.key.clone())
        .collect();
    for workload in &loaded.workloads {
        let is_made = workload.owner.as_ref().is_some_and(|owner| {
            owner.kind == "Deployment"
                && key(&workload.key.namespace, &owner.name)
                    .is_some_and(|key| deployments.contains(&key))
        });
        if is_made || workload.is_deleting {
            continue;
        }
        let existing = existing.count(workload);
        if let Some(why) = unscheduled(workload) {
            let missing = workload.replicas.saturating_sub(existing);
            maker.notes.extend(left_out(workload.kind.as_str(), &workload.key, missing, &why));
        } else {
            maker.workload(workload, existing, &mut pods);
        }
    }
    maker.notes.extend(nominated(&pods));
    if !gated.is_empty() {
        let names: Vec<String> = gated.iter().map(ToString::to_string).collect();
        let (count, named) = (words::counted(names.len(), "pod"), some(&names));
        maker.notes.push(format!("{count} left out, because {GATED}: {named}"));
        pods.retain(|pod| !gated.contains(&pod.key));
    }
    pods
}

/// The first of `names`, and how many more there are.
fn some(names: &[String]) -> String {
    let first = names.iter().take(PODS_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(PODS_SHOWN) {
        0 => first,
        others => format!("{first} and {} more", words::many(others)),
    }
}

/// The note that pods wait for nodes on which kube-scheduler preempts others for them: no node is launched for these.
fn nominated(pods: &[Pod]) -> Option<String> {
    let waits = |pod: &Pod| {
        let node =
            pod.nominated_node.as_ref().filter(|_| pod.node.is_none() && !pod.is_terminal())?;
        Some(format!("{} for {node}", pod.key))
    };
    let waiting: Vec<String> = pods.iter().filter_map(waits).collect();
    let count = words::counted(waiting.len(), "pod");
    (!waiting.is_empty()).then(|| {
        format!("{count} left out, which kube-scheduler nominated nodes for: {}", some(&waiting))
    })
}

fn key(namespace: &Namespace, name: &str) -> Option<PodKey> {
    Some(PodKey { namespace: namespace.clone(), name: ObjectName::new(name).ok()? })
}

/// What the pods of `workload` that are made here name as their owner: of a Deployment its ReplicaSet, which is not there
/// yet either, by its own name.
pub(super) fn owner(workload: &Workload) -> Owner {
    let kind = match workload.kind {
        WorkloadKind::Deployment => WorkloadKind::ReplicaSet,
        kind => kind,
    };
    kind.owner(&workload.key.name)
}

/// How many live pods each owner has. Of a StatefulSet a pod that is being deleted counts, too: another one of its name
/// cannot be created before it is gone.
#[derive(Default)]
struct Existing(BTreeMap<(Namespace, String, String), u32>);

impl Existing {
    fn of(pods: &[Pod]) -> Self {
        let mut existing = Self::default();
        for pod in pods.iter().filter(|pod| !pod.is_terminal()) {
            let Some(owner) = &pod.owner else { continue };
            if pod.is_terminating() && owner.kind != WorkloadKind::StatefulSet.as_str() {
                continue;
            }
            let mut add = |kind: &str, name: &str| {
                let key = (pod.key.namespace.clone(), kind.to_owned(), name.to_owned());
                *existing.0.entry(key).or_default() += 1;
            };
            add(&owner.kind, &owner.name);
            if let ("ReplicaSet", Some(deployment)) =
                (owner.kind.as_str(), deployment_of(&owner.name))
            {
                add("Deployment", deployment);
            }
        }
        existing
    }

    fn count(&self, workload: &Workload) -> u32 {
        let PodKey { namespace, name } = &workload.key;
        let kind = workload.kind.as_str().to_owned();
        let key = (namespace.clone(), kind, name.as_str().to_owned());
        self.0.get(&key).copied().unwrap_or_default()
    }
}

/// Makes what is not there yet.
struct Maker<'a> {
    now: Timestamp,
    default_class: Option<String>,
    storage: &'a mut Storage,
    devices: &'a mut DeviceObjects,
    /// Names of pods that are taken.
    names: BTreeSet<PodKey>,
    /// How many pods more a plan has room for.
    room: usize,
    /// What is left out, and why.
    notes: &'a mut Vec<String>,
}

impl Maker<'_> {
    /// A pod from a file that no server has stored.
    fn written(&mut self, PodManifest { mut pod, new, .. }: PodManifest) -> Pod {
        if pod.created_at == Timestamp::UNIX_EPOCH {
            pod.created_at = self.now;
        }
        if let Some(new) = new {
            self.devices.make_claims(&mut pod, new.claim_templates());
        }
        self.claim_ephemeral(&pod);
        pod
    }

    /// The pods that `workload` has not made yet; `existing` are there.
    fn workload(&mut self, workload: &Workload, existing: u32, pods: &mut Vec<Pod>) {
        let wanted = workload.replicas.saturating_sub(existing);
        let missing = wanted.min(u32::try_from(self.room).unwrap_or(u32::MAX));
        self.room = self.room.saturating_sub(usize::try_from(missing).unwrap_or(usize::MAX));
        if missing < wanted {
            let (kind, left) = (workload.kind.as_str(), thousands(u128::from(wanted - missing)));
            let most = thousands(u128::try_from(PODS_PER_PLAN_MAX).unwrap_or(u128::MAX));
            self.notes.push(format!(
                "{kind} {}: {left} of its pods are left out: a plan is for {most} at most",
                workload.key
            ));
        }
        let mut made = 0;
        // Of as many names as there are pods at most, enough are free.
        let numbers = (workload.first_ordinal..)
            .take(self.names.len().saturating_add(usize::try_from(missing).unwrap_or(usize::MAX)));
        for number in numbers {
            if missing <= made {
                break;
            }
            let Some(key) =
                key(&workload.key.namespace, &format!("{}-{number}", workload.key.name))
            else {
                break;
            };
            if !self.names.insert(key.clone()) {
                continue;
            }
            made += 1;
            if let Some(pod) = self.pod(workload, key, number) {
                pods.push(pod);
            }
        }
    }

    fn pod(&mut self, workload: &Workload, key: PodKey, number: u32) -> Option<Pod> {
        let name = &workload.key.name;
        let mut volumes = workload.volumes.clone();
        for (template, class) in &workload.claim_templates {
            let claim = ObjectName::new(&format!("{template}-{name}-{number}")).ok()?;
            self.claim(&key.namespace, claim.clone(), class.as_ref());
            volumes.push(PodVolume::Claim(claim));
        }
        let uid = PodUid::new(&format!("{}-{number}", workload.uid)).ok()?;
        let mut pod = Pod {
            owner: Some(Arc::new(owner(workload))),
            volumes,
            unschedulable_at: None,
            ..Pod::waiting(key, uid, Arc::clone(&workload.spec), self.now)
        };
        self.devices.make_claims(&mut pod, workload.new.claim_templates());
        self.claim_ephemeral(&pod);
        Some(pod)
    }

    /// The claims of the pod's ephemeral volumes, which are made after it.
    fn claim_ephemeral(&mut self, pod: &Pod) {
        for volume in &pod.volumes {
            let PodVolume::Ephemeral { volume, storage_class } = volume else { continue };
            if let Ok(name) = ObjectName::new(&format!("{}-{volume}", pod.key.name)) {
                self.claim(&pod.key.namespace, name, storage_class.as_ref());
            }
        }
    }

    fn claim(&mut self, namespace: &Namespace, name: ObjectName, class: Option<&String>) {
        let storage_class = class.cloned().or_else(|| self.default_class.clone());
        let key = VolumeClaimKey { namespace: namespace.clone(), name };
        let claim = VolumeClaim { storage_class, ..VolumeClaim::default() };
        self.storage.claims.entry(key).or_insert(claim);
    }
}

#[cfg(test)]
mod tests;

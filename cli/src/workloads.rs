//! Which workload makes which: a Deployment its ReplicaSets, and those their pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{
    files::Manifest,
    objects::{Object, WorkloadKind},
};
use model::{
    ObjectName, Pod, PodKey,
    pod::{Owner, PodPhase},
};
use simulator::{ClusterObject, StartedPod, StoryWorkload, StoryWorkloadKind};

/// What a Deployment appends to its own name for a ReplicaSet: a number whose ten digits are written
/// with these, so that no word comes of it.
///
/// <https://github.com/kubernetes/apimachinery/blob/master/pkg/util/rand/rand.go>, `SafeEncodeString`.
const HASH_LETTERS: &str = "456789bcdf";

/// The Deployment that made the ReplicaSet called `replica_set`, as far as its name tells.
pub(crate) fn deployment_of(replica_set: &str) -> Option<&str> {
    let (name, hash) = replica_set.rsplit_once('-')?;
    let is_hash = (5..=10).contains(&hash.len())
        && hash.chars().all(|letter| HASH_LETTERS.contains(letter))
        && hash.chars().any(|letter| letter.is_ascii_digit());
    is_hash.then_some(name)
}

/// The workload of a pod that a controller of the simulated cluster made, by its name: `default/web` of
/// `default/web-7d9c8b6f5-x2k4q`.
pub(crate) fn workload_of(pod: &PodKey) -> String {
    let name = pod.name.as_str();
    let workload = name.rsplit_once('-').and_then(|(set, _)| deployment_of(set)).unwrap_or(name);
    format!("{}/{workload}", pod.namespace)
}

/// The workload of a pod: of a ReplicaSet its Deployment's name, as far as it can be told.
pub(crate) fn owner(pod: &Pod) -> String {
    let namespace = &pod.key.namespace;
    match &pod.owner {
        Some(owner) if owner.kind == "ReplicaSet" => {
            format!("{namespace}/{}", deployment_of(&owner.name).unwrap_or(&owner.name))
        }
        Some(owner) => format!("{namespace}/{}", owner.name),
        None => pod.key.to_string(),
    }
}

/// The manifests without what their own workloads make: ReplicaSets of a Deployment that is there,
/// pods of a workload that is there. Who reads a cluster's objects has them all.
pub(crate) fn without_offspring(mut manifests: Vec<Manifest>) -> Vec<Manifest> {
    let objects = || manifests.iter().flat_map(|manifest| &manifest.objects);
    let makers: BTreeSet<(WorkloadKind, PodKey)> = objects()
        .filter_map(|object| match object {
            Object::Workload(workload) => Some((workload.kind, workload.key.clone())),
            _ => None,
        })
        .collect();
    let daemon_sets: BTreeSet<PodKey> = objects()
        .filter_map(|object| match object {
            Object::DaemonSet(set, _) => Some(set.key.clone()),
            _ => None,
        })
        .collect();
    let is_made = |object: &Object| match object {
        Object::Workload(workload) => workload
            .owner
            .as_ref()
            .is_some_and(|owner| makes(&makers, &owner.kind, &workload.key, &owner.name)),
        Object::Pod(read) => read.pod.owner.as_ref().is_some_and(|owner| {
            let key = &read.pod.key;
            makes(&makers, &owner.kind, key, &owner.name)
                || owner.kind == "DaemonSet"
                    && sibling(key, &owner.name).is_some_and(|key| daemon_sets.contains(&key))
                || owner.kind == "ReplicaSet"
                    && deployment_of(&owner.name)
                        .is_some_and(|name| makes(&makers, "Deployment", key, name))
        }),
        _ => false,
    };
    let made: Vec<Vec<bool>> =
        manifests.iter().map(|manifest| manifest.objects.iter().map(is_made).collect()).collect();
    for (manifest, made) in manifests.iter_mut().zip(made) {
        let mut stays = made.iter().map(|is_made| !is_made);
        manifest.objects.retain(|_| stays.next().unwrap_or(true));
        let mut stays = made.iter().map(|is_made| !is_made);
        manifest.places.retain(|_| stays.next().unwrap_or(true));
    }
    manifests
}

/// Pods that run, by the workload that [`without_offspring`] leaves for them: their own name where it
/// leaves them.
pub(crate) fn started(manifests: &[Manifest]) -> BTreeMap<PodKey, Vec<StartedPod>> {
    let objects = || manifests.iter().flat_map(|manifest| &manifest.objects);
    let makers: BTreeSet<(&str, &PodKey)> = objects()
        .filter_map(|object| match object {
            Object::Workload(workload) => Some((workload.kind.as_str(), &workload.key)),
            _ => None,
        })
        .collect();
    let mut started: BTreeMap<PodKey, Vec<StartedPod>> = BTreeMap::new();
    for object in objects() {
        let Object::Pod(read) = object else { continue };
        let pod = &read.pod;
        let Some(node) = pod.node.clone().filter(|_| pod.phase == PodPhase::Running) else {
            continue;
        };
        let maker = pod.owner.as_ref().and_then(|owner| {
            let deployment = deployment_of(&owner.name)
                .filter(|_| owner.kind == "ReplicaSet")
                .map(|name| ("Deployment", name));
            let likely = deployment.into_iter().chain([(owner.kind.as_str(), owner.name.as_str())]);
            let mut likely =
                likely.filter_map(|(kind, name)| Some((kind, sibling(&pod.key, name)?)));
            likely.find(|(kind, key)| makers.contains(&(*kind, key)))
        });
        let key = maker.map_or_else(|| pod.key.clone(), |(_, key)| key);
        started.entry(key).or_default().push(StartedPod { name: pod.key.name.clone(), node });
    }
    started
}

/// The owner of each pod that has one.
pub(crate) fn owners(manifests: &[Manifest]) -> BTreeMap<PodKey, Arc<Owner>> {
    let owner = |object: &Object| match object {
        Object::Pod(read) => Some((read.pod.key.clone(), read.pod.owner.clone()?)),
        _ => None,
    };
    manifests.iter().flat_map(|manifest| &manifest.objects).filter_map(owner).collect()
}

/// `objects` with a workload for pods whose controller, one of `owners`, is not among them: it wants as many pods as there
/// are. Pods of a DaemonSet that is not there are left out.
pub(crate) fn with_owners(
    objects: Vec<ClusterObject>,
    owners: &BTreeMap<PodKey, Arc<Owner>>,
    notes: &mut Vec<String>,
) -> Vec<ClusterObject> {
    let mut missing = BTreeSet::new();
    let mut made: BTreeMap<PodKey, StoryWorkload> = BTreeMap::new();
    let mut kept = Vec::new();
    for object in objects {
        let ClusterObject::Workload(workload) = object else {
            kept.push(object);
            continue;
        };
        let owner = owners.get(&workload.key()).filter(|_| workload.kind == StoryWorkloadKind::Pod);
        let Some(owner) = owner else {
            kept.push(ClusterObject::Workload(workload));
            continue;
        };
        let kind = match owner.kind.as_str() {
            "DaemonSet" => {
                missing.insert(format!("DaemonSet {}/{}", workload.namespace, owner.name));
                continue;
            }
            "StatefulSet" => StoryWorkloadKind::StatefulSet,
            "Job" => StoryWorkloadKind::Job,
            _ => StoryWorkloadKind::Deployment,
        };
        let name = deployment_of(&owner.name).filter(|_| owner.kind == "ReplicaSet");
        let Ok(name) = ObjectName::new(name.unwrap_or(&owner.name)) else { continue };
        let key = PodKey { namespace: workload.namespace.clone(), name: name.clone() };
        match made.get_mut(&key) {
            Some(known) => {
                known.replicas += 1;
                known.started.extend(workload.started);
            }
            None => {
                made.insert(key, StoryWorkload { kind, name, ..workload });
            }
        }
    }
    let note = |set: String| format!("{set} is not among the objects: its pods are left out");
    notes.extend(missing.into_iter().map(note));
    kept.extend(made.into_values().map(ClusterObject::Workload));
    kept
}

fn makes(makers: &BTreeSet<(WorkloadKind, PodKey)>, kind: &str, near: &PodKey, name: &str) -> bool {
    let kinds = [
        WorkloadKind::Deployment,
        WorkloadKind::StatefulSet,
        WorkloadKind::Job,
        WorkloadKind::ReplicaSet,
    ];
    let kind = kinds.into_iter().find(|known| known.as_str() == kind);
    let key = sibling(near, name);
    kind.zip(key).is_some_and(|wanted| makers.contains(&wanted))
}

/// What is called `name` in the namespace of `near`.
fn sibling(near: &PodKey, name: &str) -> Option<PodKey> {
    Some(PodKey { namespace: near.namespace.clone(), name: ObjectName::new(name).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_only_what_is_a_hash_is_taken_off_a_name() {
        let names = [
            ("web-frontend-7d9c8b6f5d", Some("web-frontend")),
            ("web-6bdc5", Some("web")),
            ("web-frontend", None),
            ("web-database", None),
            ("web-7d9c8b6f5a", None),
            ("web-mysql", None),
            ("web-x-prtg", None),
            ("web", None),
        ];
        for (replica_set, deployment) in names {
            assert_eq!(deployment_of(replica_set), deployment, "{replica_set}");
        }
    }

    #[test]
    fn pods_of_a_workload_that_is_not_there_belong_to_one() {
        let pod = |name: &str, kind: &str, owner: &str| {
            format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: {name}, ownerReferences: \
                 [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, controller: true}}]}}\nspec: {{nodeName: n1, \
                 containers: [{{name: m}}]}}\nstatus: {{phase: Running}}\n"
            )
        };
        let pods = [
            pod("web-7d9c8b6f5-a", "ReplicaSet", "web-7d9c8b6f5"),
            pod("web-7d9c8b6f5-b", "ReplicaSet", "web-7d9c8b6f5"),
            pod("db-0", "StatefulSet", "db"),
            pod("agent-a", "DaemonSet", "agent"),
        ];
        let input = crate::manifests::InputFile::named("pods.yaml", &pods.concat());
        let loaded = crate::manifests::parse(&[input]).expect("pods");
        let workloads = loaded.objects.iter().filter_map(|object| match object {
            ClusterObject::Workload(made) => {
                Some((made.key().to_string(), made.kind, made.replicas, made.started.len()))
            }
            _ => None,
        });
        let expected = [
            ("default/db".to_owned(), StoryWorkloadKind::StatefulSet, 1, 1),
            ("default/web".to_owned(), StoryWorkloadKind::Deployment, 2, 2),
        ];
        assert_eq!(workloads.collect::<Vec<_>>(), expected);
        assert_eq!(
            loaded.ignored,
            ["DaemonSet default/agent is not among the objects: its pods are left out"]
        );
    }
}

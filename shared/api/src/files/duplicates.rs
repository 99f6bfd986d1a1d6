//! Objects that stand in the input more than once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Manifest, Place};
use crate::objects::Object;

/// An object that a later one with its name replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Such as `Deployment default/web`.
    pub object: String,
    /// Where the one stands that does not count.
    pub place: Place,
    /// Where the last one stands, which counts.
    pub by: Place,
}

/// Leaves out every object that stands there again later, as `kubectl apply` would end with the last:
/// what was left out, in the order of the input.
pub fn keep_last(manifests: &mut [Manifest]) -> Vec<Replaced> {
    let replaced = replaced(manifests);
    if replaced.is_empty() {
        return Vec::new();
    }
    let mut gone: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut lost = Vec::new();
    for (at, by) in &replaced {
        gone.insert(*at);
        let pair = object_at(manifests, *at).zip(object_at(manifests, *by));
        if let Some(((object, place), (_, by))) = pair {
            let object = key(object).map(shown).unwrap_or_default();
            lost.push(Replaced { object, place: place.clone(), by: by.clone() });
        }
    }
    for (number, manifest) in manifests.iter_mut().enumerate() {
        let objects = std::mem::take(&mut manifest.objects).into_iter().enumerate();
        let stays = |place: &usize| !gone.contains(&(number, *place));
        manifest.objects =
            objects.filter(|(place, _)| stays(place)).map(|(_, object)| object).collect();
        let places = std::mem::take(&mut manifest.places).into_iter().enumerate();
        manifest.places =
            places.filter(|(place, _)| stays(place)).map(|(_, place)| place).collect();
    }
    lost
}

fn object_at(manifests: &[Manifest], at: (usize, usize)) -> Option<(&Object, &Place)> {
    let manifest = manifests.get(at.0)?;
    Some((manifest.objects.get(at.1)?, manifest.places.get(at.1)?))
}

/// Which object each is that does not count, by the numbers of its manifest and of its place there,
/// and which one counts.
fn replaced(manifests: &[Manifest]) -> BTreeMap<(usize, usize), (usize, usize)> {
    let mut last: BTreeMap<Key<'_>, (usize, usize)> = BTreeMap::new();
    let mut earlier = Vec::new();
    for (number, manifest) in manifests.iter().enumerate() {
        for (place, object) in manifest.objects.iter().enumerate() {
            let Some(key) = key(object) else { continue };
            if let Some(before) = last.insert(key, (number, place)) {
                earlier.push((key, before));
            }
        }
    }
    earlier.into_iter().filter_map(|(key, at)| Some((at, *last.get(&key)?))).collect()
}

/// Kind, namespace and name.
type Key<'a> = (&'static str, &'a str, &'a str);

fn key(object: &Object) -> Option<Key<'_>> {
    Some(match object {
        Object::NodePool(pool) => ("NodePool", "", pool.name.as_str()),
        Object::NodeClass(read) => ("EC2NodeClass", "", read.class.name.as_str()),
        Object::NodeClaim(claim) | Object::StandaloneClaim(claim) => {
            ("NodeClaim", "", claim.name.as_str())
        }
        Object::NodeOverlay(overlay) => ("NodeOverlay", "", overlay.name.as_str()),
        Object::CapacityBuffer(buffer) => {
            ("CapacityBuffer", buffer.namespace.as_str(), buffer.name.as_str())
        }
        Object::Node(node) => ("Node", "", node.name.as_str()),
        Object::Pod(read) => ("Pod", read.pod.key.namespace.as_str(), read.pod.key.name.as_str()),
        Object::Workload(workload) => {
            let key = &workload.key;
            (workload.kind.as_str(), key.namespace.as_str(), key.name.as_str())
        }
        Object::DaemonSet(set, _) => {
            ("DaemonSet", set.key.namespace.as_str(), set.key.name.as_str())
        }
        Object::PodTemplate(key, _) => ("PodTemplate", key.namespace.as_str(), key.name.as_str()),
        Object::Service((key, _)) => ("Service", key.namespace.as_str(), key.name.as_str()),
        Object::ReplicationController((key, _)) => {
            ("ReplicationController", key.namespace.as_str(), key.name.as_str())
        }
        Object::Volume(read) => ("PersistentVolume", "", &read.name),
        Object::VolumeClaim(key, _) => {
            ("PersistentVolumeClaim", key.namespace.as_str(), key.name.as_str())
        }
        Object::ResourceSlice(slice) => ("ResourceSlice", "", &slice.name),
        Object::DeviceClass(class) => ("DeviceClass", "", &class.name),
        Object::ResourceClaim(read) => {
            let key = &read.claim.key;
            ("ResourceClaim", key.namespace.as_str(), key.name.as_str())
        }
        Object::ClaimTemplate(template) => {
            let key = &template.key;
            ("ResourceClaimTemplate", key.namespace.as_str(), key.name.as_str())
        }
        Object::StorageClass(class) => ("StorageClass", "", &class.name),
        Object::CsiNode(node, _) => ("CSINode", "", node.as_str()),
        Object::Namespace(name, _) => ("Namespace", "", name.as_str()),
        Object::PriorityClass(class) => ("PriorityClass", "", &class.name),
        Object::RuntimeClass(class) => ("RuntimeClass", "", &class.name),
        Object::LimitRange(range) => ("LimitRange", range.namespace.as_str(), &range.name),
        Object::Admitter(admitter) => {
            let namespace = admitter.namespace.as_deref().unwrap_or_default();
            (admitter.kind, namespace, &admitter.name)
        }
        Object::DisruptionBudget(budget, _) => {
            ("PodDisruptionBudget", budget.key.namespace.as_str(), budget.key.name.as_str())
        }
        Object::Event(_) | Object::Other { .. } => return None,
    })
}

/// `Deployment default/web`
fn shown((kind, namespace, name): Key<'_>) -> String {
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}

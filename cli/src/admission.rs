//! New pods and claims as a cluster has them soon after they are applied: pods with the priority of their class, and with
//! what RuntimeClasses and LimitRanges add; claims bound to volumes that do not wait for pods.

mod unapplied;

use std::{collections::BTreeSet, sync::Arc};

use api::{
    files::{Manifest, Place},
    objects::{
        LimitRange, NewPod, Object, PriorityClass, RuntimeClass, StorageClassManifest,
        VolumeManifest,
    },
};
use model::{
    Namespace, PodSpec,
    storage::{Volume, VolumeClaim, VolumeClaimKey},
};

/// The objects that admission reads.
#[derive(Default)]
struct Admission {
    priorities: Vec<PriorityClass>,
    runtimes: Vec<RuntimeClass>,
    ranges: Vec<LimitRange>,
    /// RuntimeClasses that pods name and that are not there.
    missing: BTreeSet<String>,
}

/// Makes of all objects what they are soon after they are applied. Says what that takes for granted.
pub(crate) fn applied(manifests: &mut [Manifest]) -> Vec<String> {
    [unapplied::lines(manifests), admit(manifests), bind(manifests)].concat()
}

/// Completes all pods and templates that no API server has stored. Says which RuntimeClasses are not there.
fn admit(manifests: &mut [Manifest]) -> Vec<String> {
    let mut admission = Admission::default();
    for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
        match object {
            Object::PriorityClass(class) => admission.priorities.push(class.clone()),
            Object::RuntimeClass(class) => admission.runtimes.push(class.clone()),
            Object::LimitRange(range) => admission.ranges.push(range.clone()),
            _ => {}
        }
    }
    for manifest in manifests {
        for (object, place) in manifest.objects.iter_mut().zip(&manifest.places) {
            admission.complete(object, place.is_stored);
        }
    }
    let missing = admission.missing.into_iter();
    missing
        .map(|name| {
            format!(
                "RuntimeClass {name} is not in the input: its pods are planned without the \
                 overhead, node selector and tolerations that it may add"
            )
        })
        .collect()
}

impl Admission {
    /// The pods of a workload that is stored are yet to come; those of a DaemonSet are on its nodes.
    fn complete(&mut self, object: &mut Object, is_stored: bool) {
        match object {
            Object::Pod(read) => {
                if let Some(new) = &read.new {
                    self.admit(&read.pod.key.namespace, &mut read.pod.spec, new, is_stored);
                }
            }
            Object::Workload(workload) => {
                let namespace = workload.key.namespace.clone();
                self.admit(&namespace, &mut workload.spec, &workload.new, is_stored);
            }
            Object::DaemonSet(set, _) if is_stored => self.prioritize(&mut set.spec),
            Object::DaemonSet(set, new) => {
                self.admit(&set.key.namespace, &mut set.spec, new, is_stored);
            }
            Object::PodTemplate(_, spec) => self.prioritize(spec),
            _ => {}
        }
    }

    fn admit(
        &mut self,
        namespace: &Namespace,
        spec: &mut Arc<PodSpec>,
        new: &NewPod,
        is_stored: bool,
    ) {
        self.prioritize(spec);
        let ranges = self.ranges.iter().filter(|range| range.namespace == *namespace);
        let ranges: Vec<&LimitRange> = ranges.collect();
        let runtime = new.runtime_class();
        let class = self.runtimes.iter().find(|class| Some(class.name.as_str()) == runtime);
        if class.is_some() || !ranges.is_empty() || new.requests_devices() {
            *spec = Arc::new(new.clone().admitted(spec, &ranges, class));
        }
        if let Some(name) = runtime.filter(|_| class.is_none() && !is_stored) {
            self.missing.insert(name.to_owned());
        }
    }

    fn prioritize(&self, spec: &mut Arc<PodSpec>) {
        let class = self.priorities.iter().find(|class| match spec.priority_class.as_str() {
            "" => class.is_global_default,
            name => class.name == name,
        });
        if let Some(class) =
            class.filter(|class| class.value != spec.priority && spec.priority == 0)
        {
            Arc::make_mut(spec).priority = class.value;
        }
    }
}

/// The class of claims that name none: of the default classes the newest, then the first by name. The API server writes
/// it into new claims, and a controller into those that have waited for it.
///
/// <https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass>
pub(crate) fn default_class<'c>(
    classes: impl IntoIterator<Item = &'c StorageClassManifest>,
) -> Option<String> {
    let mut defaults: Vec<&StorageClassManifest> =
        classes.into_iter().filter(|class| class.is_default).collect();
    defaults.sort_by(|a, b| (b.created_at, &a.name).cmp(&(a.created_at, &b.name)));
    defaults.first().map(|class| class.name.clone())
}

/// Binds new claims whose volumes do not wait for pods, as the controllers of the cluster do soon after they are stored.
/// Says of which claims the volume is made only then: it may be in any zone.
fn bind(manifests: &mut [Manifest]) -> Vec<String> {
    let mut binder = Binder::of(manifests);
    let mut notes = Vec::new();
    for manifest in manifests {
        let mut made = Vec::new();
        for (object, place) in manifest.objects.iter_mut().zip(&manifest.places) {
            let Object::VolumeClaim(key, claim) = object else { continue };
            if place.is_stored || claim.is_bind_completed {
                continue;
            }
            let Some(volume) = binder.bind(key, claim) else { continue };
            notes.push(format!(
                "PersistentVolumeClaim {}/{} counts as bound: StorageClass {} makes its volume at \
                 once, in a zone that is not known",
                key.namespace, key.name, volume.storage_class
            ));
            made.push((Object::Volume(volume), place.clone()));
        }
        let (volumes, places): (Vec<Object>, Vec<Place>) = made.into_iter().unzip();
        manifest.objects.extend(volumes);
        manifest.places.extend(places);
    }
    notes
}

/// The volumes that claims can have.
#[derive(Default)]
struct Binder {
    default_class: Option<String>,
    classes: Vec<StorageClassManifest>,
    volumes: Vec<VolumeManifest>,
}

impl Binder {
    fn of(manifests: &[Manifest]) -> Self {
        let mut binder = Self::default();
        for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
            match object {
                Object::StorageClass(class) => binder.classes.push(class.clone()),
                Object::Volume(volume) => binder.volumes.push(volume.clone()),
                _ => {}
            }
        }
        binder.default_class = default_class(&binder.classes);
        binder
    }

    /// Binds `claim` if its volume does not wait for a pod. Returns the volume if it is made for the claim.
    ///
    /// Kubernetes: `pkg/controller/volume/persistentvolume/pv_controller.go`, `syncUnboundClaim`. Sizes, access modes and
    /// selectors are not compared.
    fn bind(&mut self, key: &VolumeClaimKey, claim: &mut VolumeClaim) -> Option<VolumeManifest> {
        if claim.volume.is_none() {
            claim.storage_class = claim.storage_class.take().or_else(|| self.default_class.clone());
        }
        let name = claim.storage_class.clone().unwrap_or_default();
        let class = self.classes.iter().find(|class| class.name == name);
        let waits = class.is_some_and(|class| class.class.waits_for_first_consumer);
        let is_its = |volume: &&mut VolumeManifest| match (&claim.volume, &volume.claim) {
            (Some(wanted), _) => *wanted == volume.name,
            (None, Some(kept_for)) => kept_for == key,
            (None, None) => volume.storage_class == name && !waits,
        };
        if let Some(volume) = self.volumes.iter_mut().find(is_its) {
            volume.claim = Some(key.clone());
            claim.volume = Some(volume.name.clone());
            claim.is_bind_completed = true;
            return None;
        }
        let class = class.filter(|_| !waits && claim.volume.is_none())?;
        let made = VolumeManifest {
            name: format!("pvc-{}-{}", key.namespace, key.name),
            volume: Volume {
                terms: class.class.allowed_topologies.clone(),
                driver: Some(class.class.provisioner.clone()),
                ..Volume::default()
            },
            claim: Some(key.clone()),
            storage_class: name,
        };
        (claim.volume, claim.is_bind_completed) = (Some(made.name.clone()), true);
        Some(made)
    }
}

#[cfg(test)]
mod tests;

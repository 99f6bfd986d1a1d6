//! What the volumes of a pod ask of its node: where they are, whether they can be used at all, and
//! how many of them a node must attach.
//!
//! Storage classes are not chosen here: the API server writes the default one into a claim, and
//! only what is written counts.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/volumetopology.go` and
//! `pkg/scheduling/volumeusage.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ObjectName, Pod, PodKey, Requirement, Requirements, labels,
    storage::{PodVolume, Storage, Volume, VolumeClaim, VolumeClaimKey},
};

/// The claims that pods attach, by CSI driver. A claim that several pods share is there once.
pub type Attachments = BTreeMap<String, BTreeSet<VolumeClaimKey>>;

/// What became of the provisioners that were once part of Kubernetes.
///
/// Kubernetes: `staging/src/k8s.io/csi-translation-lib/plugins`.
const MIGRATED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// What a node must have so that the pod's volumes can be used there: one of these, the first that
/// works. Never empty: without such a preference it is one that asks for nothing.
///
/// Each volume brings its own alternatives, all are combined, and those that contradict themselves
/// are left out; if all do they stay, so that the pod fails for what it asks. A claim that is
/// missing brings none: [`problems`] says so.
pub fn alternatives(pod: &Pod, storage: &Storage) -> Vec<Requirements> {
    let mut requirements = vec![Requirements::default()];
    for (_, claim) in claims(pod, storage) {
        let alternatives = claim.map(|claim| of_claim(claim, storage)).unwrap_or_default();
        if alternatives.is_empty() {
            continue;
        }
        let pairs = || {
            requirements
                .iter()
                .flat_map(|before| alternatives.iter().map(move |after| (before, after)))
        };
        let fitting: Vec<_> =
            pairs().filter(|(before, requirements)| fit(before, requirements)).collect();
        let kept = if fitting.is_empty() { pairs().collect() } else { fitting };
        requirements = kept.into_iter().map(|(before, one)| both(before, one)).collect();
    }
    requirements
}

/// What each volume of the pod needs of a node: one of the alternatives of its claim. Volumes that can be used anywhere
/// are left out.
pub(crate) fn of_each(pod: &Pod, storage: &Storage) -> Vec<(ObjectName, Vec<Requirements>)> {
    let volumes = claims(pod, storage).map(|(key, claim)| {
        (key.name, claim.map(|claim| of_claim(claim, storage)).unwrap_or_default())
    });
    volumes.filter(|(_, alternatives)| !alternatives.is_empty()).collect()
}

fn fit(before: &Requirements, requirements: &Requirements) -> bool {
    before.intersects(requirements).is_ok()
}

fn both(before: &Requirements, requirements: &Requirements) -> Requirements {
    let mut joined = before.clone();
    joined.add_all(requirements);
    joined
}

/// The alternatives of one claim; none is anywhere.
fn of_claim(claim: &VolumeClaim, storage: &Storage) -> Vec<Requirements> {
    if let Some(name) = bound_to(claim) {
        return storage.volumes.get(name).map(of_volume).unwrap_or_default();
    }
    let class = class_of(claim).and_then(|name| storage.classes.get(name));
    let terms = class.into_iter().flat_map(|class| &class.allowed_topologies);
    terms.filter(|term| !term.is_empty()).map(|term| term.iter().cloned().collect()).collect()
}

/// The node of a volume that lies on a node's own disk is the old one: a new node is as good.
fn of_volume(volume: &Volume) -> Vec<Requirements> {
    let is_asked = |requirement: &&Requirement| {
        !volume.is_local || requirement.key().as_str() != labels::HOSTNAME
    };
    let terms = volume.terms.iter().filter(|term| !term.is_empty());
    terms.map(|term| term.iter().filter(is_asked).cloned().collect()).collect()
}

/// Why no node can be found for the pod because of its volumes, in words. Empty when nothing is in
/// the way.
///
/// Karpenter knows drivers and topology keys that a provider declares unsupported; AWS declares
/// none. A claim that `others` use is in the way only here: docs/compatibility.md.
pub fn problems(pod: &Pod, storage: &Storage, others: &[Pod]) -> Vec<String> {
    let problem = |(key, claim): (VolumeClaimKey, Option<&VolumeClaim>)| {
        let why = match claim {
            Some(claim) if claim.is_for_one_pod && problem_of(claim, storage).is_none() => {
                let holder = used_by_another(pod, &key, others)?;
                return Some(in_use(&key.name, &format!("pod {holder} uses it")));
            }
            Some(claim) => problem_of(claim, storage)?,
            None => "it does not exist".to_owned(),
        };
        Some(format!("PersistentVolumeClaim {}: {why}", key.name))
    };
    claims(pod, storage).filter_map(problem).collect()
}

/// The claims of the pod's volumes that one pod at a time may use.
pub(crate) fn exclusive(pod: &Pod, storage: &Storage) -> Vec<VolumeClaimKey> {
    let is_for_one = |claim: &VolumeClaim| claim.is_for_one_pod;
    claims(pod, storage)
        .filter_map(|(key, claim)| claim.is_some_and(is_for_one).then_some(key))
        .collect()
}

/// That another pod, `holder`, has the claim called `claim`, which one pod at a time may use.
pub(crate) fn in_use(claim: &ObjectName, holder: &str) -> String {
    format!(
        "PersistentVolumeClaim {claim}: its access mode ReadWriteOncePod is for one pod, and {holder}"
    )
}

/// The pod of `pods` that has the claim called `key`, which one pod at a time may use. One that ends makes way.
fn used_by_another<'a>(pod: &Pod, key: &VolumeClaimKey, pods: &'a [Pod]) -> Option<&'a PodKey> {
    let holds = |other: &&Pod| {
        other.node.is_some()
            && other.key != pod.key
            && other.key.namespace == key.namespace
            && !other.is_terminal()
            && !other.is_terminating()
            && names(other).any(|name| name == key.name)
    };
    pods.iter().find(holds).map(|holder| &holder.key)
}

fn problem_of(claim: &VolumeClaim, storage: &Storage) -> Option<String> {
    if claim.is_deleting {
        return Some("it is being deleted".to_owned());
    }
    if claim.is_lost {
        return Some("its PersistentVolume is lost".to_owned());
    }
    match bound_to(claim) {
        Some(volume) => match storage.volumes.get(volume) {
            None => Some(format!("its PersistentVolume {volume} does not exist")),
            Some(found) if found.is_deleting => {
                Some(format!("its PersistentVolume {volume} is being deleted"))
            }
            Some(_) if !claim.is_bind_completed => Some(format!(
                "its binding to PersistentVolume {volume} is not complete: it has no annotation \
                 pv.kubernetes.io/bind-completed"
            )),
            Some(_) => None,
        },
        None => unbound_problem(claim, storage),
    }
}

fn unbound_problem(claim: &VolumeClaim, storage: &Storage) -> Option<String> {
    let Some(class) = class_of(claim) else {
        return Some("it is not bound and has no StorageClass".to_owned());
    };
    match storage.classes.get(class) {
        None => Some(format!("its StorageClass {class} does not exist")),
        Some(storage_class) if !storage_class.waits_for_first_consumer => Some(format!(
            "it is not bound, and its StorageClass {class} with volumeBindingMode Immediate does \
             not wait for its pod"
        )),
        Some(_) => None,
    }
}

/// What the pod attaches. Claims and classes that are missing count nothing.
///
/// # Errors
///
/// When a volume that a claim is bound to does not exist, its driver is not known: then it is not known
/// which nodes have room for the pod. The text names the volume.
pub fn attachments(pod: &Pod, storage: &Storage) -> Result<Attachments, String> {
    let mut volume_claim_keys = Attachments::new();
    for (key, claim) in claims(pod, storage) {
        let Some(claim) = claim else { continue };
        if let Some(driver) = driver_of(claim, storage)? {
            volume_claim_keys.entry(driver.to_owned()).or_default().insert(key);
        }
    }
    Ok(volume_claim_keys)
}

fn driver_of<'a>(claim: &VolumeClaim, storage: &'a Storage) -> Result<Option<&'a str>, String> {
    if let Some(name) = bound_to(claim) {
        let volume = storage
            .volumes
            .get(name)
            .ok_or_else(|| format!("PersistentVolume {name} does not exist"))?;
        return Ok(volume.driver.as_deref());
    }
    let class = class_of(claim).and_then(|name| storage.classes.get(name));
    Ok(class.map(|class| translated(&class.provisioner)).filter(|driver| !driver.is_empty()))
}

/// The CSI driver behind a provisioner that was once part of Kubernetes; others are drivers.
fn translated(provisioner: &str) -> &str {
    let entry = MIGRATED.iter().find(|(name, _)| *name == provisioner);
    entry.map_or(provisioner, |(_, driver)| driver)
}

/// Whether a node that attaches `used` may attach `more` as well: within `limits`, the
/// maximum number of claims of each driver. A driver that is not limited takes any number.
pub fn can_attach(limits: &BTreeMap<String, u32>, used: &Attachments, more: &Attachments) -> bool {
    more.iter().all(|(driver, wanted)| {
        let Some(limit) = limits.get(driver) else { return true };
        let volume_claim_keys = used.get(driver);
        let new = wanted
            .iter()
            .filter(|key| !volume_claim_keys.is_some_and(|attached| attached.contains(*key)))
            .count();
        let count = volume_claim_keys.map_or(0, BTreeSet::len).saturating_add(new);
        u32::try_from(count).is_ok_and(|count| count <= *limit)
    })
}

/// The claims of a pod's volumes, in their order.
fn claims<'a>(
    pod: &'a Pod,
    storage: &'a Storage,
) -> impl Iterator<Item = (VolumeClaimKey, Option<&'a VolumeClaim>)> {
    names(pod).map(|name| {
        let key = VolumeClaimKey { namespace: pod.key.namespace.clone(), name };
        let claim = storage.claims.get(&key);
        (key, claim)
    })
}

/// What the claims of a pod's volumes are called.
fn names(pod: &Pod) -> impl Iterator<Item = ObjectName> {
    pod.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Claim(name) => Some(name.clone()),
        PodVolume::Ephemeral { volume, .. } => {
            ObjectName::new(&format!("{}-{volume}", pod.key.name)).ok()
        }
    })
}

fn bound_to(claim: &VolumeClaim) -> Option<&str> {
    claim.volume.as_deref().filter(|name| !name.is_empty())
}

fn class_of(claim: &VolumeClaim) -> Option<&str> {
    claim.storage_class.as_deref().filter(|name| !name.is_empty())
}

//! What volumes ask: to be usable at all, to be where the node is, and not to be too many for it
//! (specification §7.3 to §7.5).

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeName, Pod, Requirement, Requirements, labels,
    storage::{PodVolume, Storage, VolumeClaim, VolumeClaimKey},
};

use crate::Violation;

/// Names of Kubernetes' own that stand for CSI drivers.
const IN_TREE: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

fn names(pod: &Pod) -> Vec<VolumeClaimKey> {
    let mut volume_claim_keys = Vec::new();
    for volume in &pod.volumes {
        let name = match volume {
            PodVolume::Claim(name) => name.to_string(),
            PodVolume::Ephemeral { volume, .. } => format!("{}-{volume}", pod.key.name),
        };
        let namespace = pod.key.namespace.clone();
        volume_claim_keys.extend(name.parse().ok().map(|name| VolumeClaimKey { namespace, name }));
    }
    volume_claim_keys
}

/// Whether one claim keeps a pending pod from every node.
pub(crate) fn unusable(storage: &Storage, pod: &Pod) -> Option<String> {
    let wrong = |key: &VolumeClaimKey| {
        let is_wrong = storage.claims.get(key).is_none_or(|claim| is_unusable(storage, claim));
        is_wrong.then(|| format!("PersistentVolumeClaim {} cannot be used", key.name))
    };
    names(pod).iter().find_map(wrong)
}

fn is_unusable(storage: &Storage, claim: &VolumeClaim) -> bool {
    if claim.is_deleting || claim.is_lost {
        return true;
    }
    match claim.volume.as_deref() {
        Some(volume) if !volume.is_empty() => {
            let volume = storage.volumes.get(volume);
            !claim.is_bind_completed || volume.is_none_or(|volume| volume.is_deleting)
        }
        _ => {
            let class = claim.storage_class.as_deref().and_then(|name| storage.classes.get(name));
            class.is_none_or(|class| !class.waits_for_first_consumer)
        }
    }
}

/// Sets of requirements of which a node must meet one so that every volume is in its reach.
pub(crate) fn alternatives(storage: &Storage, pod: &Pod) -> Vec<Requirements> {
    let mut requirements = vec![Requirements::new()];
    for claim in names(pod).iter().filter_map(|key| storage.claims.get(key)) {
        let own = places(storage, claim);
        if own.is_empty() {
            continue;
        }
        let mut joined = Vec::new();
        for before in &requirements {
            for place in &own {
                let mut both = before.clone();
                both.add_all(place);
                joined.push(both);
            }
        }
        requirements = joined;
    }
    requirements
}

fn places(storage: &Storage, claim: &VolumeClaim) -> Vec<Requirements> {
    let keeps = |is_local: bool| {
        move |requirement: &&Requirement| {
            !(is_local && requirement.key().as_str() == labels::HOSTNAME)
        }
    };
    let (terms, is_local) = match claim.volume.as_deref() {
        Some(name) if !name.is_empty() => match storage.volumes.get(name) {
            Some(volume) => (&volume.terms, volume.is_local),
            None => return Vec::new(),
        },
        _ => match claim.storage_class.as_deref().and_then(|name| storage.classes.get(name)) {
            Some(class) => (&class.allowed_topologies, false),
            None => return Vec::new(),
        },
    };
    let terms = terms.iter().filter(|term| !term.is_empty());
    terms.map(|term| term.iter().filter(keeps(is_local)).cloned().collect()).collect()
}

/// More volumes on an existing node than its drivers attach. `bound` are there already.
pub(crate) fn check_attachments(
    storage: &Storage,
    node: &NodeName,
    bound: &[&Pod],
    placed: &[&Pod],
    violations: &mut Vec<Violation>,
) {
    let Some(limits) = storage.attach_limits.get(node) else { return };
    let mut attached: BTreeMap<String, BTreeSet<VolumeClaimKey>> = BTreeMap::new();
    let mut grown: BTreeSet<String> = BTreeSet::new();
    for (pods, is_new) in [(bound, false), (placed, true)] {
        for key in pods.iter().flat_map(|pod| names(pod)) {
            let claim = storage.claims.get(&key);
            let Some(driver) = claim.and_then(|claim| driver(storage, claim)) else { continue };
            if attached.entry(driver.clone()).or_default().insert(key) && is_new {
                grown.insert(driver);
            }
        }
    }
    for driver in grown {
        let count = attached.get(&driver).map_or(0, BTreeSet::len);
        let Some(limit) = limits.get(&driver) else { continue };
        if u32::try_from(count).is_ok_and(|count| count <= *limit) {
            continue;
        }
        let place = format!("node {node}");
        let pods = placed.iter().map(|pod| pod.key.clone()).collect();
        violations.push(Violation::Attachments { place, pods, driver, count, limit: *limit });
    }
}

fn driver(storage: &Storage, claim: &VolumeClaim) -> Option<String> {
    if let Some(name) = claim.volume.as_deref().filter(|name| !name.is_empty()) {
        return storage.volumes.get(name)?.driver.clone();
    }
    let class = storage.classes.get(claim.storage_class.as_deref()?)?;
    let text = class.provisioner.as_str();
    let migrated = IN_TREE.iter().find(|(name, _)| *name == text).map(|(_, driver)| *driver);
    Some(migrated.unwrap_or(text).to_owned())
}

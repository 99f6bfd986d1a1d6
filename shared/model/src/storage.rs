//! Volumes: only what decides where a pod may run.
//!
//! <https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode>

use std::collections::BTreeMap;

use crate::{Namespace, NodeName, ObjectName, Requirement};

/// Names a PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeClaimKey {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
}

/// A volume of a pod that is, or will be, a PersistentVolumeClaim. Volumes of other kinds decide
/// nothing about nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodVolume {
    /// `persistentVolumeClaim`, or the claim that a StatefulSet makes for its pod.
    Claim(ObjectName),
    /// `ephemeral`: the claim is called `<pod>-<volume>`.
    Ephemeral {
        /// The name of the volume in the pod.
        volume: String,
        /// `volumeClaimTemplate.spec.storageClassName`.
        storage_class: Option<String>,
    },
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each comes from another field of the object")]
pub struct VolumeClaim {
    /// `spec.volumeName`: the volume that it is bound to.
    pub volume: Option<String>,
    /// `spec.storageClassName`; an empty one is as good as none.
    pub storage_class: Option<String>,
    /// The annotation `pv.kubernetes.io/bind-completed` is there.
    pub is_bind_completed: bool,
    /// It is being deleted.
    pub is_deleting: bool,
    /// `status.phase` is `Lost`.
    pub is_lost: bool,
    /// `ReadWriteOncePod` is among its `spec.accessModes`: one pod at a time may use it.
    pub is_for_one_pod: bool,
}

/// A PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// `spec.nodeAffinity.required`: alternatives. Empty is anywhere.
    pub terms: Vec<Vec<Requirement>>,
    /// It is `local` or `hostPath`: the node's name in its terms says nothing about new nodes.
    pub is_local: bool,
    /// `spec.csi.driver`, or the driver that an in-tree volume was migrated to.
    pub driver: Option<String>,
    /// It is being deleted.
    pub is_deleting: bool,
}

/// A VolumeAttachment: that a volume is attached to a node, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeAttachment {
    /// Its name.
    pub name: String,
    /// `spec.nodeName`.
    pub node: NodeName,
    /// `spec.source.persistentVolumeName`; a volume that stands in a pod alone has none. Of a VolumeAttachment that cannot
    /// be read, its own name stands for the volume: some volume is attached.
    pub volume: Option<String>,
}

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// `provisioner` as written.
    pub provisioner: String,
    /// `volumeBindingMode: WaitForFirstConsumer`; absent is `Immediate`.
    pub waits_for_first_consumer: bool,
    /// `allowedTopologies`: alternatives. Empty is anywhere.
    pub allowed_topologies: Vec<Vec<Requirement>>,
}

/// Everything about volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// PersistentVolumeClaims.
    pub claims: BTreeMap<VolumeClaimKey, VolumeClaim>,
    /// PersistentVolumes by name.
    pub volumes: BTreeMap<String, Volume>,
    /// StorageClasses by name.
    pub classes: BTreeMap<String, StorageClass>,
    /// CSINodes: by node, how many volumes of each driver it attaches; a driver without a count is
    /// missing, and unlimited.
    pub attach_limits: BTreeMap<NodeName, BTreeMap<String, u32>>,
}

//! CapacityBuffers: headroom that is kept by pods that do not exist.
//!
//! <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/buffers.md>

use std::{collections::BTreeMap, sync::Arc};

use crate::{Condition, Namespace, ObjectName, PodKey, PodSpec, PodUid, ResourceName};

/// A CapacityBuffer; what it refers to is looked up, unless `T` says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityBuffer<T = BufferTarget> {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
    /// Its uid.
    pub uid: PodUid,
    /// `spec.replicas`.
    pub replicas: Option<u32>,
    /// `spec.percentage` of the workload's replicas.
    pub percentage: Option<u32>,
    /// `spec.limits`, in the unit of [`crate::Resources::get`].
    pub limits: BTreeMap<ResourceName, u64>,
    /// The pods that it stands for.
    pub target: T,
}

/// What a buffer refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferTarget {
    /// `podTemplateRef`.
    Template(Arc<PodSpec>),
    /// `scalableRef`, with the workload's replicas.
    Workload(Arc<PodSpec>, u32),
    /// It cannot be looked up, or the buffer breaks a rule; in words.
    Missing(String),
}

/// A CapacityBuffer as it was listed: what its status says beside what decisions are made of, so that what is written
/// is about that very spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedBuffer {
    /// Its namespace and name.
    pub key: PodKey,
    /// `metadata.uid`: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// `spec.provisioningStrategy`.
    pub strategy: Option<String>,
    /// What it refers to.
    pub refers_to: Reference,
    /// What its status says.
    pub status: BufferStatus,
    /// The oldest generation that one of its conditions is about; `None` without conditions.
    pub status_generation: Option<i64>,
}

/// What a CapacityBuffer refers to, whether or not that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A PodTemplate, and its generation if it is there.
    Template(ObjectName, Option<i64>),
    /// A workload.
    Workload,
    /// Nothing that can be used.
    Unusable,
}

/// What the status of a CapacityBuffer says.
///
/// Karpenter: `pkg/apis/autoscaling/v1beta1/capacitybuffer.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// For how many pods room is kept.
    pub replicas: Option<u32>,
    /// The PodTemplate that is used, and its generation.
    pub template: Option<(ObjectName, i64)>,
    /// How the room is kept: a copy of `spec.provisioningStrategy`.
    pub strategy: Option<String>,
    /// In any order. When it is written, stored conditions of other types stay.
    pub conditions: Vec<Condition>,
}

//! CapacityBuffers: headroom that is kept by pods that do not exist.
//!
//! <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/buffers.md>

use std::{collections::BTreeMap, sync::Arc};

use crate::{Namespace, ObjectName, PodSpec, PodUid, ResourceName};

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

//! Karpenter's own kinds as the API server stores them, field by field.
//!
//! From these types come the CustomResourceDefinitions (`crd`) and the drift hashes (`hash`). What
//! an object means is not here: `manifest` reads it into the model and says what is wrong with it.
//! Fields are named as in Karpenter's Go types, with Rust's spelling; what is absent stays absent.
//!
//! Karpenter: `pkg/apis/v1`, `pkg/apis/v1alpha1`, `pkg/apis/autoscaling/v1beta1`; the AWS provider's
//! `pkg/apis/v1`. Fields that came after release 1.14.1 are marked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub mod capacity_buffer;
mod common;
pub mod conditions;
pub mod crd;
pub mod hash;
pub mod node_claim;
pub mod node_class;
pub mod node_class_parts;
pub mod node_class_patch;
pub mod node_class_status;
pub mod node_overlay;
pub mod node_pool;
pub mod node_pool_patch;
pub mod projection;
pub mod status_patch;

pub use common::{
    Condition, ConditionStatus, NodeClassReference, Operator, OptionalReason, Quantity,
    Requirement, Taint, TaintEffect,
};

/// A kind of object: what its `spec` and `status` are, and how it is installed.
pub trait Kind: Default + Serialize + DeserializeOwned + schemars::JsonSchema {
    /// What controllers write.
    type Status: Serialize + DeserializeOwned + schemars::JsonSchema;
    /// Names, columns and subresources.
    const NAMES: crd::Names;
}

/// An object: `spec` by users, `status` by controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct Object<S: Kind> {
    /// Group and version.
    pub api_version: String,
    /// The kind's name.
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(default)]
    pub spec: S,
    /// What is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<S::Status>,
}

/// The part of `metadata` that anything here reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Unique within kind and namespace.
    #[serde(default)]
    pub name: String,
    /// Of namespaced kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// For selectors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// For everything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Counts changes of `spec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
}

/// `karpenter.sh/v1` NodePool.
pub type NodePool = Object<node_pool::NodePoolSpec>;
/// `karpenter.sh/v1` NodeClaim.
pub type NodeClaim = Object<node_claim::NodeClaimSpec>;
/// `karpenter.sh/v1alpha1` NodeOverlay.
pub type NodeOverlay = Object<node_overlay::NodeOverlaySpec>;
/// `karpenter.k8s.aws/v1` EC2NodeClass.
pub type Ec2NodeClass = Object<node_class::Ec2NodeClassSpec>;
/// `autoscaling.x-k8s.io/v1beta1` CapacityBuffer.
pub type CapacityBuffer = Object<capacity_buffer::CapacityBufferSpec>;

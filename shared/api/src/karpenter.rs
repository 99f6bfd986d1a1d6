//! Karpenter's own kinds as the API server stores them, field by field.
//!
//! From these types come the CustomResourceDefinitions (`crd`) and the drift hashes (`hash`). What
//! an object means is not here: `objects` reads it into the model and says what is wrong with it.
//! Fields are named as in Karpenter's Go types, with Rust's spelling; what is absent stays absent.
//!
//! Karpenter: `pkg/apis/v1`, `pkg/apis/v1alpha1`, `pkg/apis/autoscaling/v1beta1`; the AWS provider's
//! `pkg/apis/v1`. Fields that came after release 1.14.1 are marked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

mod capacity_buffer;
mod common;
mod conditions;
pub mod crd;
pub(crate) mod hash;
mod node_claim;
pub mod node_claim_patch;
mod node_class;
mod node_class_parts;
pub mod node_class_patch;
mod node_class_status;
mod node_overlay;
mod node_pool;
pub mod node_pool_patch;
pub mod status_patch;

pub(crate) use common::{
    Condition, ConditionStatus, NodeClassReference, Operator, OptionalReason, Quantity,
    Requirement, Taint, TaintEffect,
};

/// A kind of object: what its `spec` and `status` are, and how it is installed.
pub(crate) trait Kind:
    Default + Serialize + DeserializeOwned + schemars::JsonSchema
{
    /// What controllers write.
    type Status: Serialize + DeserializeOwned + schemars::JsonSchema;
    /// Names, columns and subresources.
    const NAMES: crd::Names;
}

/// An object: `spec` by users, `status` by controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub(crate) struct Object<S: Kind> {
    /// Group and version.
    pub(crate) api_version: String,
    /// The kind's name.
    pub(crate) kind: String,
    /// Name, labels, annotations.
    pub(crate) metadata: Metadata,
    /// What is wanted.
    #[serde(default)]
    pub(crate) spec: S,
    /// What is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<S::Status>,
}

/// The part of `metadata` that anything here reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// Unique within kind and namespace.
    #[serde(default)]
    pub(crate) name: String,
    /// Of namespaced kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// For selectors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    /// For everything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    /// Counts changes of `spec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
}

/// `karpenter.sh/v1` NodePool.
pub(crate) type NodePool = Object<node_pool::NodePoolSpec>;
/// `karpenter.sh/v1` NodeClaim.
pub(crate) type NodeClaim = Object<node_claim::NodeClaimSpec>;
/// `karpenter.k8s.aws/v1` EC2NodeClass.
pub(crate) type Ec2NodeClass = Object<node_class::Ec2NodeClassSpec>;

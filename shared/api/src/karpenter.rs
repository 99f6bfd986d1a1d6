//! Karpenter's own kinds as the API server stores them, field by field.
//!
//! From these types come the CustomResourceDefinitions (`crd`) and the drift hashes (`hash`). What
//! an object means is not here: `objects` reads it into the model and says what is wrong with it.
//! Fields are named as in Karpenter's Go types, with Rust's spelling; what is absent stays absent.
//!
//! Karpenter: `pkg/apis/v1`, `pkg/apis/v1alpha1`, `pkg/apis/autoscaling/v1beta1`; the AWS provider's
//! `pkg/apis/v1`. Fields that came after release 1.14.1 are marked.

mod capacity_buffer;
mod common;
mod conditions;
pub mod crd;
pub(crate) mod hash;
mod kind;
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
pub(crate) mod word;

use kind::Object;

/// `karpenter.sh/v1` NodePool.
pub(crate) type NodePool = Object<node_pool::NodePoolSpec>;
/// `karpenter.sh/v1` NodeClaim.
pub(crate) type NodeClaim = Object<node_claim::NodeClaimSpec>;
/// `karpenter.k8s.aws/v1` EC2NodeClass.
pub(crate) type Ec2NodeClass = Object<node_class::Ec2NodeClassSpec>;

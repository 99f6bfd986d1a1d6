//! Karpenter's own kinds as the API server stores them, field by field.
//!
//! From these types come the CustomResourceDefinitions (`crd`) and the drift hashes (`hash`). What
//! an object means is not here: `objects` reads it into the model and says what is wrong with it.
//! Fields are named as in Karpenter's Go types, with Rust's spelling; what is absent stays absent.
//!
//! Karpenter: `pkg/apis/v1`, `pkg/apis/v1alpha1`, `pkg/apis/autoscaling/v1beta1`; the AWS provider's
//! `pkg/apis/v1`. Fields that came after release 1.14.1 are marked.

pub mod alpha_status_patch;
pub mod capacity_buffer;
pub mod common;
pub mod conditions;
pub mod crd;
pub mod hash;
pub mod kind;
pub mod node_claim;
pub mod node_claim_patch;
pub mod node_class;
pub mod node_class_parts;
pub mod node_class_patch;
mod node_class_rules;
pub mod node_class_status;
pub mod node_overlay;
pub mod node_pool;
pub mod node_pool_patch;
pub(crate) mod pattern;
pub(crate) mod pool_rules;
pub(crate) mod rule;
pub(crate) mod schema;
pub mod status_patch;
pub(crate) mod walk;
pub mod word;

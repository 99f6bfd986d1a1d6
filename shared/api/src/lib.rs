//! Karpenter's and Kubernetes' objects as text, and what they mean.
//!
//! Text becomes `model` values here and nowhere else, and the other way round: `model` has no
//! serde, so that no wire format freezes it. Pure: bytes in, values and complaints out; no files,
//! no clock, no network.

pub mod convert;
mod fields;
pub mod karpenter;
pub mod kubernetes;
pub mod launch_facts;
pub mod manifest;
mod tree;
pub mod yaml;

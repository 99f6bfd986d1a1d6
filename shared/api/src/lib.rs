//! Karpenter's objects, Kubernetes' objects, messages and stored records as text, and what they mean.
//!
//! Text becomes `model` values here and nowhere else, and the other way round: `model` has no
//! serde, so that no wire format freezes it. Pure: bytes in, values and complaints out; no files,
//! no clock, no network.

pub mod catalog;
pub mod convert;
pub mod event;
mod fields;
pub mod karpenter;
pub mod kubernetes;
pub mod launch_facts;
pub mod manifest;
pub mod message;
pub mod record;
pub mod stream;
mod tree;
pub mod yaml;

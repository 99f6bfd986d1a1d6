//! Karpenter's and Kubernetes' objects as text, and what they mean.
//!
//! ```text
//! text ──► document ──► objects ──► lists ────► files    what people write and save
//!                        ▲    └──► convert ─────┘
//!                    karpenter     objects of older versions
//! ```
//!
//! Text becomes `model` values here and nowhere else, and the other way round: `model` has no
//! serde, so that no wire format freezes it. Pure: bytes in, values and complaints out; no files,
//! no clock, no network.

pub mod convert;
pub mod document;
pub mod files;
pub mod karpenter;
pub mod lists;
pub mod objects;
pub mod probe;

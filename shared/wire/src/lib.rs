//! Messages between functions, events from outside and stored records as text, and back.
//!
//! `model` has no serde, so that no wire format freezes it; what is sent or stored is a type of this
//! crate, with a version. What is not understood is an error that names the field. Pure: text in,
//! values out, and the other way round; no files, no clock, no network.

pub mod admission;
pub mod event;
pub mod message;
pub mod packed;
pub mod record;
pub mod recorded;

//! What the objects of a kind mean for scheduling: nothing here knows of a pod's place.

pub mod buffer;
pub(crate) mod device;
pub mod overlay;
pub mod volume;

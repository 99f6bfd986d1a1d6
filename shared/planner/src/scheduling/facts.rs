//! What the objects of a kind mean for scheduling: nothing here knows of a pod's place.

pub(crate) mod buffer;
pub(crate) mod daemons;
pub(crate) mod overlay;
pub(crate) mod volume;

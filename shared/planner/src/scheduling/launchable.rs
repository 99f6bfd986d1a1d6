//! What NodePools can launch: instance types with their offerings, what a pool makes of them, and the
//! domains in which it could launch them.

pub mod cause;
pub mod known;
pub mod offer;
pub(crate) mod rooms;
pub mod template;
pub(crate) mod type_index;
pub(crate) mod universe;

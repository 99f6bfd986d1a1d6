//! What NodePools can launch: instance types with their offerings, what a pool makes of them, and the
//! domains in which it could launch them.

pub(crate) mod cause;
pub(crate) mod known;
pub(crate) mod offer;
pub(crate) mod rooms;
pub(crate) mod template;
pub(crate) mod type_index;
pub(crate) mod universe;

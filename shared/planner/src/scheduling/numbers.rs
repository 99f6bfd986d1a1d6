//! Names as numbers: resources, requirements with their sets, and the domains of labels.

pub(crate) mod amounts;
pub(crate) mod domains;
pub(crate) mod sets;

//! Names as numbers: resources, requirements with their sets, and the domains of labels.

pub mod amounts;
pub(crate) mod domains;
pub mod sets;

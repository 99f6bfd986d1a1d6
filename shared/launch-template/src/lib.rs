//! The core: user data, launch templates and fleet requests for a NodeClaim.

mod name;
mod offer;
mod reaction;
mod request;

pub use name::{instance_profile_name, instance_profile_tags, node_labels, resource_tags};
pub use offer::offer;
pub use reaction::{cooling_ends, reaction};
pub use request::{Launch, Refusal, requests};

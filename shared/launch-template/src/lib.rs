//! The core: user data, launch templates and fleet requests for NodeClaims, and instance types as
//! the nodes of an EC2NodeClass have them.
//!
//! Pure: nothing is read, sent or measured here, and the same arguments give the same bytes. The
//! families AL2023 and Bottlerocket are known; for the others [`requests`] says "not supported
//! yet" and [`offer`] has no types. So it is with capacity reservations, placement groups, network
//! interfaces of one's own and EFA.

mod capacity;
mod digest;
mod family;
mod filter;
mod image;
mod instance_store;
mod name;
mod offer;
mod reaction;
mod request;
mod template;
#[cfg(test)]
mod testing;
mod user_data;

pub use name::{instance_profile_name, instance_profile_tags, node_labels, resource_tags};
pub use offer::offer;
pub use reaction::{cooling_ends, reaction};
pub use request::{Launch, Refusal, requests};
pub use user_data::dropped_settings;

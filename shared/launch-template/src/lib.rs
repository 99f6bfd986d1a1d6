//! The core: user data, launch templates and fleet requests for NodeClaims, and instance types as
//! the nodes of an EC2NodeClass have them.
//!
//! Pure: nothing is read, sent or measured here, and the same arguments give the same bytes.

mod capacity;
mod described;
mod digest;
pub mod dry_run;
mod expressions;
mod family;
mod filter;
mod image;
mod measured;
mod name;
mod named;
mod node_settings;
mod offer;
mod reaction;
mod readiness;
mod request;
pub mod selection;
mod stored;
mod template;
#[cfg(test)]
mod testing;
mod user_data;
mod volumes;

pub use capacity::{Overhead, expression_failure};
pub use described::catalog;
pub use expressions::{invalid_expressions, open_expressions};
pub use image::images_of_types;
pub use name::{
    instance_profile_name, instance_profile_path, instance_profile_paths, instance_profile_tags,
    node_labels,
};
pub use named::named_template;
pub use node_settings::{NodeSettings, Share};
pub use offer::{OfferedType, Offers, all_types, choose_last, offer, types_of};
pub use reaction::{in_words, is_without_capacity, quota, reaction, unavailable_until};
pub use readiness::{
    Checks, DryRun, ExpressionCheck, Findings, Readiness, Selected, own_obstacles, readiness,
    resolved,
};
pub use request::{BatchRefusal, Launch, PricedTypes, requests, requests_with};
pub use stored::{Live, of_status, selected};
pub use user_data::{check_user_data, own_labels, user_data_warnings};
pub use volumes::{VolumePrice, volume_price};

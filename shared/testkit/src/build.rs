//! Builders of model objects with readable defaults.
//!
//! Everything is as small as it can be: set what a test is about, with struct update or the chained
//! setters of [`PodBuilder`] and [`TypeBuilder`], and leave the rest.

mod claim;
mod decision;
mod facts;
mod instance_type;
mod launch;
mod pod;
mod text;
mod topology;

pub use claim::{batch, claim, commit, promise};
pub use decision::{decision, pod_with_uid, recorded_facts};
pub use facts::{facts, node, node_class, node_of, node_pool};
pub use instance_type::{TypeBuilder, instance_type};
pub use launch::{
    TEMPLATE, fleet_override, fleet_request, launched_instance, reservation, template,
    template_data,
};
pub use pod::{PodBuilder, daemon_set, pod, pod_key};
pub use text::{
    at, id, price, requirement, requirements, resources, taint, tolerates_everything, tolerates_key,
};
pub use topology::{spread, storage, term};

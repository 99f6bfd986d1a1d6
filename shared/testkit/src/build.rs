//! Model objects with readable defaults, from the language of [`words`].
//!
//! Everything is as small as it can be: write what a test is about, or set it with struct update, and
//! leave the rest.

mod claim;
mod decision;
mod devices;
mod facts;
mod instance_type;
mod launch;
mod pod;
mod text;
mod topology;
pub mod words;

pub use claim::{batch, claim, commit, new_claim};
pub use decision::{decision, pod_with_uid, recorded_facts};
pub use devices::{claim_key, devices};
pub use facts::{facts, limits, node, node_class, node_of, node_pool};
pub use instance_type::instance_type;
pub use launch::{
    TEMPLATE, fleet_override, fleet_request, launched_instance, reservation, template,
    template_data,
};
pub use pod::{daemon_set, owner, pod, pod_key, pods, spec, with};
pub use text::{
    ago, at, id, now, price, requirement, requirements, resources, taint, tolerates_everything,
    tolerates_key,
};
pub use topology::{storage, term};
pub use words::{read_world, world};

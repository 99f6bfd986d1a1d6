//! The ports on the handle: each method is one step and one effect on the world.

mod cloud;
mod cluster;
mod ledger;

//! The command `journeyman`: what it understands, and the world it plays on.
//!
//! `main` only parses arguments and prints; everything else is here, so that tests of the whole
//! workspace use the same wiring as the command.

mod admission;
pub mod args;
mod assumed;
pub mod authority;
mod cards;
pub mod catalog;
mod cluster_facts;
pub mod convert;
pub mod crds;
pub mod explain;
mod gates;
pub mod get;
pub mod hash;
mod hashes;
pub mod help;
mod least;
mod list_price;
pub mod local;
pub mod manifests;
mod near;
pub mod options;
pub mod plan;
pub mod rbac;
pub mod records;
pub mod render;
pub mod replay;
pub mod run;
pub mod shadow;
pub mod simulate;
pub mod template;
pub mod validate;
pub mod version;
mod workloads;

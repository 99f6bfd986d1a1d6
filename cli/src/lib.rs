//! The command `journeyman`: what it understands, and the world it plays on.
//!
//! `main` only parses arguments and prints; everything else is here, so that tests of the whole
//! workspace use the same wiring as the command.

pub mod args;
mod assumed;
pub mod catalog;
mod cluster_facts;
pub mod convert;
pub mod crds;
pub mod doctor;
pub mod error;
pub mod explain;
pub mod get;
pub mod handover;
pub mod hash;
pub mod install;
pub mod installation;
mod least;
mod live;
pub mod local;
pub mod manifests;
pub mod output;
pub mod plan;
pub mod rbac;
pub mod records;
pub mod render;
pub mod replay;
mod report;
pub mod screen;
pub mod shadow;
pub mod simulate;
pub mod uninstall;
pub mod validate;
mod workloads;

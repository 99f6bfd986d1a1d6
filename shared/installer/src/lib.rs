//! Installations: whether one is whole, and how it comes into a cluster and an account, changes hands and is taken out.
//!
//! What is judged and worked out before anything is done is pure. The clients of Kubernetes and AWS are compiled with
//! the feature `live` only.

pub mod deploy;
pub mod doctor;
pub mod found;
pub mod handover;
pub mod install;
pub mod installation;
pub mod live;
pub mod named;
pub mod uninstall;
pub mod upgrade;
pub mod wake;

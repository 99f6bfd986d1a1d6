//! The ports over the Kubernetes API, and the token that EKS wants.
//!
//! The only crate of what is deployed that names `kube`. It chooses nothing: each method is a request or two and the
//! meaning of the answer. It repeats nothing either (the queue is the backoff), but for a list whose
//! pages expired while they were read.

mod alpha_statuses;
mod ca_bundle;
mod call;
mod connect;
mod devices;
mod events;
mod eviction;
mod leases;
mod list;
mod node_claims;
mod node_classes;
mod node_patch;
mod node_pools;
mod nodes;
mod presign;
mod probe;
mod selectors;
mod status;
mod surroundings;
mod token;
mod transport;
mod webhooks;

#[cfg(test)]
mod wire_tests;

pub use ca_bundle::CaBundleError;
pub use connect::{ConnectError, KubeCluster};
pub use transport::TransportError;

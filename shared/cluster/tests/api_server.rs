//! The ports against a real API server: what only a real one can show.
//!
//! Runs when `JOURNEYMAN_KUBECONFIG` names the kubeconfig of a control plane that no other program uses,
//! with a scheduler, controllers and something that plays the kubelets; `tests/live/cluster` starts
//! one. Otherwise each test says that it was skipped.

// Clippy takes a module of this name for a test, helpers included.
#[cfg(test)]
mod api_server {
    pub(crate) mod conformance;
    pub(crate) mod definitions;
    pub(crate) mod devices;
    pub(crate) mod evictions;
    pub(crate) mod identity;
    pub(crate) mod lists;
    pub(crate) mod node_claims;
    pub(crate) mod nodes;
    pub(crate) mod others;
    pub(crate) mod rights;
    pub(crate) mod statuses;
    pub(crate) mod world;
}

//! Stories of nodes on a real API server: the functions' handlers, the cluster's adapter as each function
//! has it, and the simulated account with its ledger.
//!
//! Runs when `JOURNEYMAN_KUBECONFIG` names the kubeconfig of a control plane that no other program uses, with
//! our definitions and roles installed; `tests/live/stories` starts one. Otherwise each test says that it
//! was skipped. All stories are played at once in one cluster, so there have to be as many threads as stories.

// Clippy takes a module of this name for a test, helpers included.
#[cfg(test)]
mod stories {
    pub(crate) mod deletions;
    pub(crate) mod drains;
    pub(crate) mod failures;
    pub(crate) mod stage;
    pub(crate) mod story;
}

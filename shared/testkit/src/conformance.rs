//! One suite per port. Each runs against any implementation and reports case by case.
//!
//! Suites are plain async functions: the caller's executor runs them, on the simulator or over the
//! wire. Where an answer may lag, the caller's `wait` is awaited before asking again: it sleeps in
//! real time or moves virtual time on.

mod catalog;
mod cloud;
mod cluster;
mod cluster_world;
mod decisions;
mod discovery;
mod events;
mod eviction;
mod forensics;
mod leases;
mod ledger;
mod node_claims;
mod nodes;
mod race;
mod reservation;
mod status_world;
mod statuses;
mod webhooks;

pub use catalog::{MarketWorld, catalog, catalog_store, market};
pub use cloud::{FleetWorld, fleet, mailbox};
pub use cluster::{ListedWorld, cluster, without_definitions};
pub use cluster_world::{ClusterWorld, Deployed, PodState};
pub use decisions::decisions;
pub use discovery::{DiscoveryWorld, discovery, profiles};
pub use events::{EventWorld, events};
pub use forensics::forensics;
pub use leases::leases;
pub use ledger::{Clusters, ledger};
pub use node_claims::{NodeClaimWorld, ObservedNodeClaim, node_claims};
pub use nodes::nodes;
pub use reservation::{ReservationWorld, reservations};
pub use status_world::{StatusWorld, StoredCondition, StoredObject};
pub use statuses::{capacity_buffers, node_classes, node_overlays, node_pools};
pub use webhooks::{WebhookWorld, webhooks};

use std::fmt;

use model::NodeName;
use ports::{Nodes, PortError};

/// What became of one case of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The rule, as a sentence.
    pub name: &'static str,
    /// What was seen instead, if it was not kept.
    pub outcome: Result<(), String>,
}

impl Case {
    fn of(name: &'static str, outcome: Result<(), Failure>) -> Self {
        Self { name, outcome: outcome.map_err(|Failure(text)| text) }
    }
}

impl fmt::Display for Case {
    /// One line: `ok   name`, or `FAIL name: what was seen`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(()) => write!(f, "ok   {}", self.name),
            Err(seen) => write!(f, "FAIL {}: {seen}", self.name),
        }
    }
}

/// Every case was kept.
///
/// # Panics
///
/// When one was not, or when there is none. Each that was not is one line.
#[track_caller]
pub fn assert_kept(cases: &[Case]) {
    assert!(!cases.is_empty(), "the suite has no case");
    let failed: Vec<String> =
        cases.iter().filter(|case| case.outcome.is_err()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Why a case failed.
#[derive(Debug)]
struct Failure(String);

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        let source = error.source.as_ref().map(|source| format!(": {source}"));
        Self(format!("{error}{}", source.unwrap_or_default()))
    }
}

/// Fails with both values unless they are the same.
fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, wanted: &T) -> Result<(), Failure> {
    if seen == wanted {
        return Ok(());
    }
    Err(Failure(format!("{what} is {seen:?}, it should be {wanted:?}")))
}

/// Deletes the node called `name`, as it is now.
async fn delete_node(port: &impl Nodes, name: &NodeName) -> Result<(), Failure> {
    let node = port.node(name).await?;
    Ok(port.delete(&node.ok_or_else(|| Failure(format!("{name} is not there")))?).await?)
}

/// Fails with `what` unless it holds.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(what())) }
}

/// How often an answer that may lag is asked for.
const ATTEMPTS_MAX: u32 = 60;

//! What the handlers need from outside, and how it can fail.
//!
//! A port is a small trait in the domain's words: one method is one question or one effect.
//! Arguments and answers are `model` types. Every write says what makes it idempotent. Nothing
//! above an adapter retries: the queue is the backoff.
//!
//! Ports are declared with the macro of the module `port`, which makes of each trait also what lets one function
//! through ([`Only`]) and the names of its calls ([`PORTS`]).

mod adapters;
mod cloud;
mod cluster;
mod fault;
mod ledger;
mod only;
mod port;
pub mod rights;

pub use adapters::Adapters;
pub use cloud::{
    Catalog, CatalogStore, Discovery, Fleet, Forensics, Mailbox, Market, Profiles, Templates,
};
pub use cluster::{
    AlphaStatuses, Cluster, Events, FoundDevices, FoundSelectors, Leases, Listing, Malformed,
    NodeClaims, NodeClasses, NodePools, Nodes, PodSelection, Surrounded, Webhooks,
};
pub use fault::{BoxError, Fault, PortError, Refusal};
pub use ledger::{Decisions, Ledger, LedgerLayer};
pub use only::{Caller, Only};
pub use port::{Port, Side};

use jiff::{SignedDuration, Timestamp};
use model::{ClusterName, duration::later};

/// Every port, by the module that declares it.
pub const PORTS: [&[Port]; 3] = [cloud::PORTS, cluster::PORTS, ledger::PORTS];

/// The clock on the wall, for nothing but stopping in time and waiting for a moment: decisions have the
/// one present of their [`Invocation`].
pub trait Clock {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Comes back at `time`, or at once where it is past.
    async fn wait_until(&self, time: Timestamp);
}

/// One call of a handler. It has one present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Identity of what is delivered: the same when it is delivered again.
    pub id: String,
    /// The cluster that it is about.
    pub cluster: ClusterName,
    /// The present of the whole call.
    pub now: Timestamp,
    /// Until when it should end.
    pub deadline: Timestamp,
}

impl Invocation {
    /// `now` with `duration` added; the far future when that does not fit.
    pub fn after(&self, duration: SignedDuration) -> Timestamp {
        later(self.now, duration)
    }
}

//! What the functions are played on.

use simulator::Sim;

/// What stands behind every port, as handles to one world. A simulated world is all of it by itself.
pub trait World: Clone + 'static {
    /// The account, the ledger and the time.
    type Account: ports::Catalog
        + ports::CatalogStore
        + ports::Clock
        + ports::Discovery
        + ports::Fleet
        + ports::Forensics
        + ports::Ledger
        + ports::Mailbox
        + ports::Market
        + ports::Profiles
        + ports::Templates;
    /// The API server.
    type Cluster: ports::AlphaStatuses
        + ports::Cluster
        + ports::Events
        + ports::Leases
        + ports::NodeClaims
        + ports::NodeClasses
        + ports::NodePools
        + ports::Nodes
        + ports::Webhooks;

    /// The account, the ledger and the time.
    fn account(&self) -> &Self::Account;
    /// The API server.
    fn cluster(&self) -> &Self::Cluster;
}

impl World for Sim {
    type Account = Self;
    type Cluster = Self;

    fn account(&self) -> &Self {
        self
    }

    fn cluster(&self) -> &Self {
        self
    }
}

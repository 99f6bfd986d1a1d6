//! Which adapter stands behind each port.

/// A choice of one adapter for each port: those over AWS and Kubernetes for a deployed function, or a
/// simulated world for all of them.
///
/// Handlers are written for any choice. Each takes a struct that borrows the ports which it may touch,
/// and can touch no others.
pub trait Adapters {
    /// The status of NodeOverlays and CapacityBuffers.
    type AlphaStatuses: crate::AlphaStatuses;
    /// What can be bought.
    type Catalog: crate::Catalog;
    /// The time that is left.
    type Clock: crate::Clock;
    /// What can be read from the cluster.
    type Cluster: crate::Cluster;
    /// What selectors of EC2NodeClasses name.
    type Discovery: crate::Discovery;
    /// Events of Kubernetes.
    type Events: crate::Events;
    /// Instances.
    type Fleet: crate::Fleet;
    /// What can be seen of instances whose nodes do not join.
    type Forensics: crate::Forensics;
    /// Who provisions the cluster.
    type Leases: crate::Leases;
    /// The table of claims.
    type Ledger: crate::Ledger;
    /// Queues.
    type Mailbox: crate::Mailbox;
    /// What EC2 and its price list say about what is sold.
    type Market: crate::Market;
    /// NodeClaim objects.
    type NodeClaims: crate::NodeClaims;
    /// EC2NodeClasses and their status.
    type NodeClasses: crate::NodeClasses;
    /// NodePools and their status.
    type NodePools: crate::NodePools;
    /// One node and the pods on it.
    type Nodes: crate::Nodes;
    /// Instance profiles.
    type Profiles: crate::Profiles;
    /// What is sold, as it is stored.
    type CatalogStore: crate::CatalogStore;
    /// Launch templates.
    type Templates: crate::Templates;
    /// The webhooks that call `wake`.
    type Webhooks: crate::Webhooks;
}

/// What is every port by itself, such as a simulated world, stands behind all of them.
impl<W> Adapters for W
where
    W: crate::AlphaStatuses
        + crate::Catalog
        + crate::Clock
        + crate::Cluster
        + crate::Discovery
        + crate::Events
        + crate::Fleet
        + crate::Forensics
        + crate::Leases
        + crate::Ledger
        + crate::Mailbox
        + crate::Market
        + crate::NodeClaims
        + crate::NodeClasses
        + crate::NodePools
        + crate::Nodes
        + crate::Profiles
        + crate::CatalogStore
        + crate::Templates
        + crate::Webhooks,
{
    type AlphaStatuses = W;
    type Catalog = W;
    type Clock = W;
    type Cluster = W;
    type Discovery = W;
    type Events = W;
    type Fleet = W;
    type Forensics = W;
    type Leases = W;
    type Ledger = W;
    type Mailbox = W;
    type Market = W;
    type NodeClaims = W;
    type NodeClasses = W;
    type NodePools = W;
    type Nodes = W;
    type Profiles = W;
    type CatalogStore = W;
    type Templates = W;
    type Webhooks = W;
}

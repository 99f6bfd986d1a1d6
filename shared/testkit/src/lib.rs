//! What tests of every crate share: builders of model objects, and one conformance suite per port.
//!
//! Builders take texts as manifests write them (`500m`, `key In a b`, `dedicated=gpu:NoSchedule`) and
//! panic on a bad one, which names the text and the line of the test. Suites are generic over the
//! port, know no executor and judge nothing but the port's contract: they run on the simulator and,
//! over the wire, on a real engine.

pub mod build;
pub mod conformance;

pub use conformance::{
    Case, ClusterWorld, Clusters, Deployed, DiscoveryWorld, EventWorld, FleetWorld, ListedWorld,
    MarketWorld, NodeClaimWorld, ObservedNodeClaim, PodState, ReservationWorld, StatusWorld,
    StoredCondition, StoredObject, WebhookWorld, assert_kept, capacity_buffers, catalog,
    catalog_store, cluster, decisions, discovery, events, fleet, forensics, leases, ledger,
    mailbox, market, node_claims, node_classes, node_overlays, node_pools, nodes, profiles,
    reservations, webhooks, without_definitions,
};

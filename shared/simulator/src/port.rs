//! The ports on the handle: each method is one step and one effect on the world.

mod cloud;
mod cluster;
mod ledger;

use ports::Adapters;

use crate::Sim;

impl Adapters for Sim {
    type Catalog = Self;
    type Cluster = Self;
    type Discovery = Self;
    type Fleet = Self;
    type Ledger = Self;
    type Mailbox = Self;
    type Market = Self;
    type NodeClaims = Self;
    type NodeClasses = Self;
    type NodePools = Self;
    type Nodes = Self;
    type Profiles = Self;
    type Shelf = Self;
    type Templates = Self;
}

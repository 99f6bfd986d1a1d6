//! What would be given up, what comes in its place, and why.

use model::{
    HourlyPrice, InstanceTypeName, NodeClaimName, NodeName, NodePoolName, OfferingKey, PodKey,
    Requirements, plan::Target,
};

use super::Method;

/// Nodes to give up together, once their replacements are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// How it was found.
    pub method: Method,
    /// The nodes that would go.
    pub candidates: Vec<Disrupted>,
    /// The nodes that would come.
    pub replacements: Vec<Replacement>,
    /// Where the pods of the candidates would go.
    pub moves: Vec<Move>,
    /// What the candidates cost in one hour.
    pub price_before: HourlyPrice,
    /// What the replacements cost at least.
    pub price_after: HourlyPrice,
    /// What else was tried and refused, and why.
    pub rejected: Vec<String>,
}

impl Command {
    /// What it saves in one hour, 0 when it costs more.
    pub fn saving(&self) -> HourlyPrice {
        HourlyPrice(self.price_before.0.saturating_sub(self.price_after.0))
    }

    /// The names of the nodes that would go.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.candidates.iter().map(|one| &one.node)
    }
}

/// A node that would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disrupted {
    /// Its name.
    pub node: NodeName,
    /// Its claim.
    pub claim: NodeClaimName,
    /// Its pool.
    pub node_pool: NodePoolName,
    /// What it costs in one hour; 0 when that is not known.
    pub price: HourlyPrice,
    /// What speaks for giving it up.
    pub reason: String,
}

/// A node that would come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Its pool.
    pub node_pool: NodePoolName,
    /// The types that it may become, cheapest first; none for a static pool, whose claims are made
    /// from the pool alone.
    pub instance_types: Vec<InstanceTypeName>,
    /// What its claim asks for.
    pub requirements: Requirements,
    /// The cheapest offering that it may become, and its price.
    pub cheapest: Option<(OfferingKey, HourlyPrice)>,
    /// The pods that go onto it.
    pub pods: Vec<PodKey>,
}

/// Where a pod would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pod.
    pub pod: PodKey,
    /// The node that it runs on.
    pub from: NodeName,
    /// Where to.
    pub to: Destination,
}

/// Where a pod would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// What is there or on its way.
    Existing(Target),
    /// One of the command's replacements, by its place.
    Replacement(usize),
}

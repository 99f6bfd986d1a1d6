//! A command with what speaks for it: where its pods would go, and what it would save.

use jiff::SignedDuration;
use model::{
    HourlyPrice, NodeClaimName, NodeName, NodePoolName, PodKey, disruption::Command, plan::Target,
};

use super::validation::Valid;

/// A command, and what is to be said for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The command.
    pub command: Command,
    /// Its candidates, in its order.
    pub disrupted: Vec<Disrupted>,
    /// Where the pods of the candidates would go.
    pub moves: Vec<Move>,
    /// What the candidates cost in one hour.
    pub price_before: HourlyPrice,
    /// What the replacements cost in one hour at least.
    pub price_after: HourlyPrice,
    /// What else was tried and refused, each with its reason.
    pub rejected: Vec<String>,
    /// Whether the candidates go before anything is launched in their place, for there is no room for
    /// both.
    pub is_terminate_first: bool,
}

impl Proposal {
    /// What it saves in one hour, 0 when it costs more.
    pub fn saving(&self) -> HourlyPrice {
        self.price_before.saturating_sub(self.price_after)
    }

    /// The names of the nodes that would go.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.disrupted.iter().map(|disrupted| &disrupted.node)
    }

    /// What is left of it once it was looked at again.
    #[must_use]
    pub fn narrowed(mut self, valid: Valid) -> Self {
        if !valid.dropped.is_empty() {
            self.disrupted.retain(|disrupted| valid.command.candidates.contains(&disrupted.claim));
            self.rejected.extend(valid.dropped.iter().map(ToString::to_string));
            let prices = self.disrupted.iter().map(|disrupted| disrupted.price);
            self.price_before = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
        }
        Self { command: valid.command, ..self }
    }
}

/// A node that would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disrupted {
    /// Its name.
    pub node: NodeName,
    /// The name of its claim.
    pub claim: NodeClaimName,
    /// The name of its NodePool.
    pub node_pool: NodePoolName,
    /// What it costs in one hour; 0 when that is not known.
    pub price: HourlyPrice,
    /// Why it should be disrupted.
    pub reason: String,
    /// How long it may drain, where that is bounded by more than its NodeClaim.
    pub drain: Option<SignedDuration>,
}

/// A pod that would move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pod.
    pub pod: PodKey,
    /// The node that it runs on.
    pub from: NodeName,
    /// Where it would go.
    pub to: Destination,
}

/// Where a pod would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Onto what is there or on its way.
    Existing(Target),
    /// Onto a replacement of the command, by its place among them.
    Replacement(usize),
}

//! What a decision intends, with its reasons. A plan leaves nothing to choose.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    CommandId, HourlyPrice, InstanceTypeName, NodeClaim, NodeClaimName, NodeName, NodePoolName,
    OfferingKey, PodKey,
    disruption::Command,
    ledger::{Counters, Decision, RejectionReason},
};

/// What should change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The counters of the ledger that it was made on.
    pub parent: Counters,
    /// Claims to create, and for which pods.
    pub new_claims: Vec<NewClaim>,
    /// Claims as they should become: most are deleted.
    pub changes: Vec<NodeClaim>,
    /// Pods that fit onto what is there or coming.
    pub placements: Vec<Placement>,
    /// Pods that find no place, and why.
    pub unplaced: Vec<Unplaced>,
    /// Commands as they are from now on, by id.
    pub started: BTreeMap<CommandId, Command>,
    /// Commands that are done.
    pub ended: BTreeSet<CommandId>,
    /// Offerings not to be used until a time.
    pub unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// Why.
    pub decisions: Vec<Decision>,
}

impl Plan {
    /// Whether it changes anything.
    pub fn is_empty(&self) -> bool {
        self.new_claims.is_empty()
            && self.changes.is_empty()
            && self.started.is_empty()
            && self.ended.is_empty()
            && self.unavailable_offerings.is_empty()
    }
}

/// A claim to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewClaim {
    /// The claim, with the pods that it is for.
    pub claim: NodeClaim,
    /// Every instance type that is possible, cheapest first; the claim keeps no more of them than
    /// a launch considers.
    pub possible: Arc<[InstanceTypeName]>,
    /// The cheapest offering that it may become.
    pub cheapest: OfferingKey,
    /// Its price.
    pub price: HourlyPrice,
}

/// Pods that go onto capacity that is there or coming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where.
    pub target: Target,
    /// Which, in the order they were placed.
    pub pods: Vec<PodKey>,
}

/// Capacity that is there or coming.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A node.
    Node(NodeName),
    /// A claim whose node did not join yet.
    Claim(NodeClaimName),
}

/// A pod that finds no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplaced {
    /// Which.
    pub pod: PodKey,
    /// Why, for each pool that was tried; one without a pool is about the pod itself.
    pub reasons: Vec<Reason>,
}

/// Why a pod does not go to a pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The pool; `None` is about the pod itself.
    pub node_pool: Option<NodePoolName>,
    /// As a word.
    pub reason: RejectionReason,
    /// In words that a user understands.
    pub text: String,
}

impl fmt::Display for Reason {
    /// `general: needs 10Ti memory, …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node_pool {
            Some(pool) => write!(f, "{pool}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

//! The ledger's words: generations, commits and their answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;

use crate::{
    BatchId, Bytes, CommitId, Function, HourlyPrice, ImageId, InstanceTypeName, NodeClaim,
    NodeClaimName, NodePoolName, OfferingKey, limits,
};

/// The version of a claim that nobody wrote to since it was promised.
pub const PROMISED_VERSION: u64 = 1;

/// Version of a cluster's promises. Every commit makes the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// The one after this.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What the ledger holds about a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Of the head that was read before everything else.
    pub generation: Generation,
    /// Every claim that is not gone, by name.
    pub claims: BTreeMap<NodeClaimName, NodeClaim>,
    /// Offerings that are unavailable, and until when.
    pub unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// The least memory that nodes were seen with.
    pub measured: BTreeMap<MeasuredKey, Bytes>,
}

/// Nodes that have the same memory: how much of an instance's the firmware and the kernel keep for
/// themselves depends on the image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasuredKey {
    /// Their instance type.
    pub instance_type: InstanceTypeName,
    /// What they were started from.
    pub image: ImageId,
}

/// A plan made real: everything in it happens, or nothing.
///
/// Idempotent by `id`: when the head is the one that a commit with this id made, the commit is
/// recognized as done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Identity, the same when the commit is repeated.
    pub id: CommitId,
    /// The generation that was observed; the commit makes the next one.
    pub parent: Generation,
    /// Claims that are promised. Neither they nor their batches may exist.
    pub promised: Vec<NodeClaim>,
    /// Claims that change: none that is only promised, which only its launch does. The stored version
    /// must be one below theirs.
    pub changed: Vec<NodeClaim>,
    /// Offerings that are unavailable, and until when. A later time that stands already is kept.
    pub unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// Why.
    pub decisions: Vec<Decision>,
}

impl Commit {
    /// How many items the transaction has, its head included.
    pub fn items(&self) -> usize {
        1 + batch_items(&self.promised).len()
            + self.changed.len()
            + self.unavailable_offerings.len()
            + self.decisions.len()
    }
}

/// How claims that are promised together are stored until their launch begins: each list is one
/// item, of claims of one batch in their order in it.
pub fn batch_items(promised: &[NodeClaim]) -> Vec<Vec<&NodeClaim>> {
    let mut batches: BTreeMap<&BatchId, Vec<&NodeClaim>> = BTreeMap::new();
    for claim in promised {
        batches.entry(&claim.batch).or_default().push(claim);
    }
    let mut items: Vec<Vec<&NodeClaim>> = Vec::new();
    for mut claims in batches.into_values() {
        claims.sort_by_key(|claim| claim.batch_index);
        let mut pods = usize::MAX;
        for claim in claims {
            pods = pods.saturating_add(claim.pods.len());
            match items.last_mut() {
                Some(item) if pods <= limits::PODS_PER_ITEM_MAX => item.push(claim),
                _ => {
                    pods = claim.pods.len();
                    items.push(vec![claim]);
                }
            }
        }
    }
    items
}

/// Why something was decided, kept for 90 days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When it was decided.
    pub at: Timestamp,
    /// The function that decided.
    pub function: Function,
    /// The NodePool of all claims that it is about; `None` when they have several, or there is none.
    pub node_pool: Option<NodePoolName>,
    /// The claims that it is about.
    pub claims: Vec<NodeClaimName>,
    /// What was chosen and why, in a sentence.
    pub summary: String,
    /// What was rejected, each with its reason.
    pub rejected: Vec<Rejected>,
    /// What the nodes that are given up cost in one hour; `None` when that is not known.
    pub price_before: Option<HourlyPrice>,
    /// What the nodes that are launched cost in one hour; `None` when none is.
    pub price_after: Option<HourlyPrice>,
}

/// Something that a decision did not choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejected {
    /// What it is: a node, several, a claim, a NodePool. `None` is that the reason stands for itself,
    /// or that the decision was read from where only its words are stored.
    pub what: Option<String>,
    /// Why it was not chosen, in words that a user understands.
    pub why: String,
}

impl From<&str> for Rejected {
    fn from(why: &str) -> Self {
        Self { what: None, why: why.to_owned() }
    }
}

impl fmt::Display for Rejected {
    /// `node-1: it is not initialized`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Some(what) => write!(f, "{what}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl Decision {
    /// A decision of `function` about `claims`: `summary`, with nothing rejected and no prices.
    pub fn about<'c>(
        claims: impl IntoIterator<Item = &'c NodeClaim>,
        function: Function,
        at: Timestamp,
        summary: String,
    ) -> Self {
        let (mut names, mut pools) = (Vec::new(), BTreeSet::new());
        for claim in claims {
            names.push(claim.name.clone());
            pools.insert(&claim.node_pool);
        }
        let only = pools.first().filter(|_| pools.len() == 1).map(|pool| (*pool).clone());
        Self {
            at,
            function,
            node_pool: only,
            claims: names,
            summary,
            rejected: Vec::new(),
            price_before: None,
            price_after: None,
        }
    }
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is the head now, by this call or by an earlier one with the same id.
    Committed(Generation),
    /// Somebody else moved the head or a claim first. Nothing happened.
    Conflict,
    /// More items than a transaction takes. Nothing happened.
    TooLarge {
        /// Its items.
        items: usize,
        /// The most that a transaction takes.
        items_max: usize,
    },
}

/// What became of a write to one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is stored, by this call or by an earlier one with the same content.
    Written,
    /// The stored version is another one, or the claim is gone. Nothing happened.
    Conflict,
}

/// FNV-1a of `bytes`: for names that must only be short and stable.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;

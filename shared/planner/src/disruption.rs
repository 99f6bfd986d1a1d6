//! Which nodes to give up, what to launch in their place, and why every other node stays.
//!
//! Five methods look at the same facts, each in its own way ([`Method`]); the first that finds
//! something acts. What consolidation or emptiness finds is looked at again 15 seconds later
//! ([`validated`]). Nothing is carried out here: no node is tainted, no claim promised.
//!
//! Nodes are judged one by one (`candidate`, with what `eviction` says of their pods), then by each
//! method (`method`, `conditions`), within budgets (`budgets`). What would become of pods is asked of
//! the scheduler (`simulation`), what that costs is weighed in `consolidation`, `price` and
//! `balanced`.
//!
//! Karpenter: `pkg/controllers/disruption/controller.go`.

mod balanced;
#[cfg(test)]
mod behaviours;
mod budgets;
mod candidate;
mod command;
mod conditions;
mod consolidation;
mod effect;
pub(crate) mod emptiness;
mod idle;
#[cfg(test)]
mod laws;
mod method;
mod multi;
mod nodes;
mod outlook;
mod price;
pub(crate) mod schedule;
mod search;
mod simulation;
mod single;
mod thorough;
mod validation;

use std::collections::BTreeSet;

use model::NodePoolName;

pub use command::{Command, Destination, Disrupted, Move, Replacement};
pub use effect::{Effect, effect};
pub(crate) use effect::{reason, still};
pub(crate) use idle::idle;
pub use method::Method;
pub use outlook::{Answer, Outlook, Prepared, VALIDATION_DELAY, answer, outlook, validated};
pub use thorough::{Cursor, Thorough, thorough};
pub use validation::{VoidReason, Voided};

/// How to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How much single-node consolidation may simulate, in pods, before it gives up for this time.
    /// Karpenter gives it three minutes.
    pub work: u64,
    /// Pools that it did not reach last time: they come first.
    pub unseen: BTreeSet<NodePoolName>,
    /// Whether drift is worked out where no condition `Drifted` says so. Not where something else
    /// looks after that condition.
    pub works_out_drift: bool,
    /// Whether the time since when nodes are empty is noted, as nothing watches their pods. Pods that
    /// came are known by when they started.
    pub notes_emptiness: bool,
    /// Whether a node may be launched in place of those that go.
    pub launches: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            work: 100_000_000,
            unseen: BTreeSet::new(),
            works_out_drift: false,
            notes_emptiness: false,
            launches: true,
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

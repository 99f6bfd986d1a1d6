//! Which nodes to disrupt, what to launch in their place, and why every other node stays.
//!
//! ```text
//!   facts ──► candidates ──► each method, within budgets ──► Command ──► 15 s ──► does it still hold?
//!             (eviction)     (what if they were gone?)                            │
//!                                                                                 ▼
//!                                       claims deleted: a Plan ◄── replacements created: a Plan
//! ```
//!
//! There is one way for everybody: `journeyman plan --disruption` shows each method's answer
//! ([`outlook`]), the function `disrupt` looks ([`look`]), waits and validates ([`validated`]), and
//! simulations run that function. They differ in [`Options`] only. How a command goes on once it holds,
//! `command` says ([`begun`], [`carried_on`], [`freed`]).
//!
//! Nodes are judged one by one (`candidate`, with what `eviction` says of their pods), then by each
//! method (`method`, `conditions`), within budgets (`budgets`). What would become of pods is asked of
//! the scheduler (`simulation`), what that costs is weighed in `consolidation`, `price` and
//! `balanced`.
//!
//! Karpenter: `pkg/controllers/disruption/controller.go`.

pub mod balanced;
pub mod budgets;
pub mod calm;
pub mod candidate;
pub mod carry_out;
pub mod command;
pub mod conditions;
mod consolidation;
pub mod decide;
mod deletion_costs;
pub mod empty_since;
pub mod finding;
mod method;
mod multi;
pub mod nodes;
pub mod noted;
pub mod objection;
mod outlook;
mod packed;
pub mod price;
mod proposal;
mod repair;
mod rollout;
pub mod search;
pub mod shown;
pub mod simulation;
mod single;
mod thorough;
pub mod validation;

use std::collections::BTreeSet;

use model::NodePoolName;

use crate::KnownTypes;

pub use crate::eviction::Immovable;
pub use carry_out::name_of;
pub use carry_out::{look, observed, validated};
pub use command::{Marked, begun, carried_on, freed, marked};
pub use conditions::CLASS_DRIFT;
pub use decide::PreparedCluster;
pub use deletion_costs::{DeletionCosts, deletion_costs};
pub use finding::Finding;
pub use model::disruption::Cursor;
pub use nodes::hosts_of_pending;
pub use noted::{note, note_drift};
pub use objection::Objection;
pub use outlook::{Outlook, Said, outlook};
pub use proposal::{Destination, Disrupted, Move, Proposal};
pub(crate) use rollout::Rollouts;
pub use rollout::{accepted_before, images_of_rollout, rollout_condition};
pub use shown::reasons_shown;
pub use thorough::thorough;
pub use validation::{Dropped, Voided};

/// How to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much a method may simulate, in pods, before it stops for this time. Karpenter gives
    /// single-node consolidation three minutes, and other methods no bound.
    pub work: u64,
    /// Pools that it did not reach last time: they come first.
    pub unseen: BTreeSet<NodePoolName>,
    /// Whether something watches the cluster and writes down what it sees, as Karpenter's controllers
    /// do: when pods came and went, and which nodes are nominated for pending pods. Without it, since when
    /// nodes are empty is noted on their claims, and nodes that pending pods fit onto are spared. What is
    /// launched in place of a node is launched while it is still there, so that both together are held to
    /// the limits of their pool.
    pub is_watched: bool,
    /// Whether the catalog has all that EC2 offers: what it lacks is offered no more, and a node of it has drifted.
    /// A list from a file says nothing about what is not in it.
    pub is_catalog_whole: bool,
    /// What was worked out about instance types before. Nothing that is decided depends on it.
    pub types: KnownTypes,
    /// Where the last thorough search stopped, where consolidation is thorough: it goes on there.
    pub from: Option<Cursor>,
}

impl Default for Options {
    /// As Karpenter looks.
    fn default() -> Self {
        Self {
            work: 100_000_000,
            unseen: BTreeSet::new(),
            is_watched: true,
            is_catalog_whole: false,
            types: KnownTypes::default(),
            from: None,
        }
    }
}

impl Options {
    /// As the function `disrupt` looks: nothing watches between its calls, and what a look simulates
    /// is done long before its minute is over. A whole processor takes two to five million pods a
    /// second, and 512 MB of a function come with three tenths of one.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>.
    #[must_use]
    pub fn deployed() -> Self {
        Self { is_watched: false, is_catalog_whole: true, work: 10_000_000, ..Self::default() }
    }
}

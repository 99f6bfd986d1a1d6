//! What one process of a function remembers from one call to the next.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
};

use jiff::Timestamp;
use launch_template::{NodeSettings, Offers};
use model::NodeClaimName;
use planner::{Memory, NextSearch, pace::LastLook};

use crate::{
    kept::KeptLedger, live::FreeAddresses, published::PublishedEvents, standing::StandingDecisions,
    templates::EnsuredTemplates,
};

/// All that one process of one function remembers. Losing it repeats work and changes no decision: a new process
/// lists, computes or publishes once more what another process has done before. What counts metrics remembers what
/// it read by itself: see [`Metered`](crate::Metered).
#[derive(Debug, Default)]
pub struct ProcessMemory {
    /// The instance types that each EC2NodeClass offers.
    pub(crate) offers: Offers,
    /// What the planner worked out about these.
    pub(crate) planner: Memory,
    /// `disrupt`: where the next look for consolidation continues.
    pub(crate) next_search: RefCell<NextSearch>,
    /// `disrupt`: when it last wrote what deleting pods costs.
    pub(crate) deletion_costs_at: Cell<Option<Timestamp>>,
    /// `provision`: what the last look was about.
    pub(crate) last_look: RefCell<Option<Rc<LastLook>>>,
    /// `resolve` and `sweep`: the ledger while nothing happens.
    pub(crate) ledger: KeptLedger,
    /// `launch`: free addresses of subnets.
    pub(crate) addresses: FreeAddresses,
    /// `launch`: launch templates that exist.
    pub(crate) templates: EnsuredTemplates,
    /// `settle`: claims without an instance whose objects it wrote.
    pub(crate) unlaunched: RefCell<BTreeSet<NodeClaimName>>,
    /// Events that were published, and those to publish.
    pub(crate) published: PublishedEvents,
    /// Records of decisions that are made again and again.
    pub(crate) standing: StandingDecisions,
}

impl ProcessMemory {
    /// The memory of a new process whose nodes have `settings`.
    #[must_use]
    pub fn with(settings: NodeSettings) -> Self {
        Self { offers: Offers::with(settings), ..Self::default() }
    }
}

//! What a look at the cluster finds: for one method, for one reason, or by the thorough search.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    HourlyPrice, NodeName, NodePoolName,
    disruption::{Command, Cursor},
    ledger::Decision,
};

use super::{Objection, Proposal, Voided};

/// The nodes that a look would disrupt, and why every other node stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What to disrupt; `None` if nothing. Unless its method is eventual, it is carried out only if it still
    /// holds after [`model::disruption::VALIDATION_DELAY`].
    pub proposal: Option<Proposal>,
    /// The nodes that the method considers, before budgets.
    pub eligible: Vec<NodeName>,
    /// Why the other nodes stay.
    pub notes: BTreeMap<NodeName, Objection>,
    /// A command that would not hold after the delay, and why.
    pub voided: Option<(Proposal, Voided)>,
    /// Why the method could not look at all.
    pub error: Option<Objection>,
    /// NodePools that the look did not reach within its work: they come first in the next look.
    pub unseen: BTreeSet<NodePoolName>,
    /// Where the next thorough search continues; `None` if this one is complete, or none was made.
    pub left: Option<Cursor>,
    /// Whether the look ran out of work before it had considered every candidate.
    pub is_cut_short: bool,
    /// Number of what-ifs.
    pub examined: u64,
    /// Number of different nodes in the what-ifs.
    pub examined_nodes: usize,
    /// What Karpenter's own choice would save in one hour; 0 without a thorough search.
    pub compatible_saving: HourlyPrice,
    /// The record of the look; `None` for emptiness, which is recorded when nodes are disrupted, and for a look by
    /// one method alone.
    pub decision: Option<Decision>,
}

impl Finding {
    /// The command of the proposal.
    pub fn command(&self) -> Option<&Command> {
        self.proposal.as_ref().map(|proposal| &proposal.command)
    }
}

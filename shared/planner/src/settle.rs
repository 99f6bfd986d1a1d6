//! Launched → registered → initialized: the next state of one claim.

use jiff::Timestamp;
use model::{
    NodeClaim,
    node::{Node, NodePatch},
};

/// The next state of a claim, and what has to be done for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    /// As it should be stored, one version on; `None` when nothing changes.
    pub claim: Option<NodeClaim>,
    /// What its node lacks.
    pub patch: Option<NodePatch>,
    /// Whether its instance should carry the names of node and claim as tags by now.
    pub tag_instance: bool,
    /// When to look again; `None` is never.
    pub revisit_after_seconds: Option<u32>,
}

/// The next state of `claim`.
#[must_use]
pub fn settle(
    _claim: &NodeClaim,
    _node: Option<&Node>,
    _instance_is_gone: bool,
    _now: Timestamp,
) -> Settlement {
    Settlement::default()
}

//! From "given up" to "gone": the next step of one claim.

use jiff::Timestamp;
use model::{
    NodeClaim, Pod,
    node::{EvictionRequest, Node, NodePatch},
};

/// What EC2 says about the instance of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceView {
    /// It could not be found out.
    Unknown,
    /// It is pending, running, stopping or stopped.
    Present,
    /// It is shutting down.
    Ending,
    /// It is terminated, or there is none.
    Gone,
}

/// What to do now to empty a node and to end its instance, in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drainage {
    /// Changes to the node.
    pub patch: Option<NodePatch>,
    /// Pods to evict.
    pub evict: Vec<EvictionRequest>,
    /// Whether to terminate the instance.
    pub terminate: bool,
    /// Whether to delete the node.
    pub delete_node: bool,
    /// Whether to remove the claim's record: nothing is left of it.
    pub remove_claim: bool,
    /// When to look again; `None` is never.
    pub revisit_after_seconds: Option<u32>,
}

/// The next step of giving up `claim`.
#[must_use]
pub fn drain(
    _claim: &NodeClaim,
    _node: Option<&Node>,
    _pods: &[Pod],
    _instance: InstanceView,
    _now: Timestamp,
) -> Drainage {
    Drainage::default()
}

//! What the functions tell each other through queues. Losing, repeating or reordering one never
//! does harm: every message only asks to look again.

use jiff::Timestamp;

use crate::{ClusterName, NodeClaimName, NodeClassName, disruption::Command};

/// A message for one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `provision`: look for pending pods. `tick` is the link of the poll chain that this is; `None`
    /// is a look outside of the chain.
    Provision {
        /// Number of the link.
        tick: Option<u64>,
    },
    /// `disrupt`: a command that was found a while ago is carried out if it still holds.
    Validate(Command),
    /// `launch`: try again to launch a promised claim. The stream asks first; this is the backoff,
    /// so that a claim that EC2 cannot serve yet does not hold up the claims behind it.
    Launch {
        /// Which.
        claim: NodeClaimName,
    },
    /// `launch`, which has the rights: try out whether nodes of a class can be launched, without
    /// launching any. Whoever asks asks again a minute later, so an older one is of no use.
    DryRun {
        /// Which.
        class: NodeClassName,
        /// The digest of what is to be tried, under which the validation is kept.
        key: String,
        /// When it was asked.
        asked_at: Timestamp,
    },
    /// `settle`: look after a claim.
    Settle {
        /// Which.
        claim: NodeClaimName,
    },
    /// `drain`: go on emptying a claim's node.
    Drain {
        /// Which.
        claim: NodeClaimName,
    },
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The cluster that it is about.
    pub cluster: ClusterName,
    /// What it asks.
    pub message: Message,
    /// Seconds until it may be delivered, at most 900.
    pub delay_seconds: u32,
}

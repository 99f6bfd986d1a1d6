//! What the functions tell each other through queues. No message carries work: losing, repeating or
//! reordering one never does harm, because every message only asks to look again.

use jiff::Timestamp;

use crate::{ClusterName, Function, NodeClassName, pulse::Signal};

/// A message for one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a function with continued work: see [`crate::pulse`].
    Pulse {
        /// The function.
        function: Function,
        /// Why it is called.
        signal: Signal,
    },
    /// `launch`, which has the rights: check by a dry run whether nodes of a class can be launched.
    /// The sender asks again a minute later, so an older one is of no use.
    DryRun {
        /// Of which class.
        class: NodeClassName,
        /// The digest of what is to be checked, under which the validation is kept.
        key: String,
        /// When it was asked.
        asked_at: Timestamp,
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

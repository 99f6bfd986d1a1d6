//! Events from outside: EventBridge's, and the constant inputs of schedules.

use model::{interruption::Interruption, message::DisruptionMethod};

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instance is taken away, or is ending.
    Interruption(Interruption),
    /// Well-formed, and nothing is done about it.
    Ignored {
        /// What it is and why, in words.
        what: String,
    },
}

/// Why a text is not an event. It belongs in a dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event: {0}")]
pub struct Error(pub String);

/// Reads an event of EventBridge about instances.
pub fn interruption(_body: &str) -> Result<Event, Error> {
    Err(Error(String::new()))
}

/// Reads the constant input of a disruption schedule: `{"method":"emptiness"}`.
pub fn schedule(_body: &str) -> Result<DisruptionMethod, Error> {
    Err(Error(String::new()))
}

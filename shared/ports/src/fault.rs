//! How a port can fail: what code may branch on.

use std::{fmt, sync::Arc};

/// The error below an adapter, only ever printed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a failure means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It had no effect and may work later: throttled, unavailable, refused for the moment.
    Transient,
    /// It may have taken effect: look before repeating.
    Unknown,
    /// Another writer was first.
    Conflict,
    /// Its target is not there.
    NotFound,
    /// It never works as asked.
    Permanent,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transient => "it may work later",
            Self::Unknown => "it may have happened",
            Self::Conflict => "another writer was first",
            Self::NotFound => "it is not there",
            Self::Permanent => "it never works as asked",
        })
    }
}

/// What a service answered instead of doing what it was asked, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refusal {
    /// Its code, such as `ConditionalCheckFailedException`.
    pub code: String,
    /// Its text.
    pub message: String,
}

/// A failure of a port. Several callers may wait for one request: each gets a clone.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation} failed: {fault}")]
pub struct PortError {
    /// What was attempted, such as `CreateFleet`.
    pub operation: &'static str,
    /// What it means for the caller.
    pub fault: Fault,
    /// What the adapter saw.
    #[source]
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl PortError {
    /// A failure with no more to say.
    pub fn new(operation: &'static str, fault: Fault) -> Self {
        Self { operation, fault, source: None }
    }

    /// A failure that `source` caused.
    pub fn because(operation: &'static str, fault: Fault, source: impl Into<BoxError>) -> Self {
        Self { operation, fault, source: Some(Arc::from(source.into())) }
    }

    /// What the service said, where it said something.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.source.as_ref().and_then(|source| source.downcast_ref::<Refusal>())
    }
}

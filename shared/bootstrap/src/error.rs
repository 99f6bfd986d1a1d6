//! Why a delivery failed: a stable type for metrics and alarms, and the whole story for people.

use std::fmt::Display;

use lambda_runtime::Diagnostic;

/// What was delivered cannot be read: it belongs in a dead-letter queue.
const MALFORMED: &str = "MalformedEvent";

/// Why a delivery failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {story}")]
pub struct Failure {
    /// Stable.
    pub kind: &'static str,
    /// The error and everything below it.
    pub story: String,
}

impl Failure {
    /// What was delivered cannot be read, for the reason `problem`.
    pub fn malformed(problem: impl Display) -> Self {
        Self { kind: MALFORMED, story: problem.to_string() }
    }

    /// Whether delivering it again cannot help.
    pub(crate) fn is_malformed(&self) -> bool {
        self.kind == MALFORMED
    }
}

impl From<handlers::Error> for Failure {
    fn from(error: handlers::Error) -> Self {
        Self { kind: error.kind(), story: handlers::story(&error) }
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Self { error_type: failure.kind.to_owned(), error_message: failure.story }
    }
}

#[cfg(test)]
mod tests {
    use ports::{Fault, PortError};

    use super::*;

    #[test]
    fn a_story_goes_down_to_the_first_cause() {
        let cause = std::io::Error::other("connection reset");
        let error = PortError::because("CreateFleet", Fault::Unknown, cause);
        let failure = Failure::from(handlers::Error::from(error));
        assert_eq!(failure.kind, "PortUnknown");
        assert_eq!(failure.story, "CreateFleet failed: it may have happened: connection reset");
    }

    #[test]
    fn lambda_gets_the_stable_type() {
        let diagnostic = Diagnostic::from(Failure::malformed("no `method`"));
        assert_eq!(diagnostic.error_type, "MalformedEvent");
        assert_eq!(diagnostic.error_message, "no `method`");
    }
}

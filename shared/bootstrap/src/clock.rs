//! The present, read in one place.

use jiff::Timestamp;

/// Now.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

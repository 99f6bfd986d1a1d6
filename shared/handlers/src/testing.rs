//! What tests of the handlers share.

use jiff::Timestamp;
use ports::Clock;

/// A clock that stands still; nothing is waited for.
pub(crate) struct Stopped(pub(crate) Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }

    async fn wait_until(&self, _: Timestamp) {}
}

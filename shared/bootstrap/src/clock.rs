//! The present, read in one place.

use jiff::Timestamp;

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl ports::Clock for WallClock {
    fn now(&self) -> Timestamp {
        now()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that waits, for a second at most")]
    async fn wait_until(&self, time: Timestamp) {
        if let Ok(left) = std::time::Duration::try_from(time.duration_since(now())) {
            tokio::time::sleep(left).await;
        }
    }
}

/// Now.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

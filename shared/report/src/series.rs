//! Times at which a page has points: few enough to draw, and said.

use jiff::{SignedDuration, Timestamp};
use model::duration::later;

/// Points that a chart has at most.
const POINTS_MAX: i64 = 300;
/// Steps that people reckon in, in seconds.
const STEPS: [i64; 14] =
    [10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400];

/// Equal steps from a start to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Where the first one begins.
    pub start: Timestamp,
    /// How long each is.
    pub seconds: i64,
}

impl Steps {
    /// The finest steps of which there are not too many.
    pub fn of(start: Timestamp, end: Timestamp) -> Self {
        let length = end.duration_since(start).as_secs().max(0);
        let fits = |step: &i64| length / step <= POINTS_MAX;
        let days = length / POINTS_MAX / 86_400 + 1;
        Self { start, seconds: STEPS.into_iter().find(fits).unwrap_or(days * 86_400) }
    }

    /// The step that `at` falls in, from 0.
    pub fn place(self, at: Timestamp) -> usize {
        let seconds = at.duration_since(self.start).as_secs().max(0);
        usize::try_from(seconds / self.seconds).unwrap_or(usize::MAX)
    }

    /// The end of the step at `place`, or the latest time there is.
    pub fn end_of(self, place: usize) -> Timestamp {
        let steps = i64::try_from(place).unwrap_or(i64::MAX).saturating_add(1);
        let after = SignedDuration::from_secs(steps.saturating_mul(self.seconds));
        later(self.start, after)
    }

    /// How long a step is: `30 seconds`, `5 minutes`.
    pub fn in_words(self) -> String {
        let (number, noun) = match self.seconds {
            seconds if seconds % 86_400 == 0 => (seconds / 86_400, "day"),
            seconds if seconds % 3_600 == 0 => (seconds / 3_600, "hour"),
            seconds if seconds % 60 == 0 => (seconds / 60, "minute"),
            seconds => (seconds, "second"),
        };
        crate::output::count(u64::try_from(number).unwrap_or_default(), noun)
    }
}

//! A progress bar on a terminal; nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use report::screen::{self, Format};

/// How far virtual time has come.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Timestamp,
}

impl Progress {
    /// A bar from `start` to `end` on the terminal, if standard error is one and people read.
    pub(crate) fn new(format: Format, start: Timestamp, end: Timestamp) -> Self {
        let is_shown = format == Format::Text && screen::draws_on_stderr();
        let length = u64::try_from(end.duration_since(start).as_secs()).unwrap_or_default();
        let bar = if is_shown { ProgressBar::new(length) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% of the virtual time")
        {
            bar.set_style(style);
        }
        Self { bar, start }
    }

    /// Virtual time is `now`.
    pub(crate) fn at(&self, now: Timestamp) {
        let seconds = now.duration_since(self.start).as_secs();
        self.bar.set_position(u64::try_from(seconds).unwrap_or_default());
    }
}

/// However the story ends, the bar goes.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

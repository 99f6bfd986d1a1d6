//! What is being done, on a terminal; nothing in a pipe.
//!
//! The line is drawn by a thread of its own, which needs standard error: whoever holds its lock while
//! there is a line waits for ever.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use report::screen;

/// From one frame to the next.
const FRAME: Duration = Duration::from_millis(100);

/// A line that says what takes so long.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// On standard error, if it is a terminal.
    pub(super) fn new() -> Self {
        if !screen::draws_on_stderr() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(FRAME);
        Self(bar)
    }

    /// Now it is `what`.
    pub(super) fn says(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }

    /// Does something while the line is out of the way.
    pub(super) fn hidden<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }
}

/// However the work ends, the line goes.
impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

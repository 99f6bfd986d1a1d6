//! What is being done, on a terminal; nothing in a pipe.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

/// From one frame to the next.
const FRAME: Duration = Duration::from_millis(100);

/// A line that says what takes so long.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// On standard error, if it is a terminal.
    pub(super) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(FRAME);
        Self(bar)
    }

    /// Now it is `what`.
    pub(super) fn says(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

//! What is being done, on a terminal after a second of silence; nothing in a pipe.
//!
//! The line is drawn by a thread of its own, which needs standard error: a thread that holds its lock while there is a line
//! waits for ever. There is one line: what is begun meanwhile changes its words.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

use crate::screen;

/// How long nothing is drawn.
const SILENCE: Duration = Duration::from_secs(1);
/// From one frame to the next.
const FRAME: Duration = Duration::from_millis(100);

/// The line that is there.
static CURRENT: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// A line that says what takes so long. However the work ends, the line goes.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    /// Whether the line goes with it.
    is_first: bool,
}

impl ProgressLine {
    /// A line that says `what`, on standard error, if it is a terminal.
    pub fn new(what: impl Into<String>) -> Self {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let present = current.as_ref().and_then(WeakProgressBar::upgrade);
        let (bar, is_first) = present.map_or_else(|| (begun(), true), |bar| (bar, false));
        *current = Some(bar.downgrade());
        drop(current);
        let progress = Self { bar, is_first };
        progress.says(what);
        progress
    }

    /// Now it is `what`.
    pub fn says(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Now it is `what`, of which `done` of `all` is done.
    pub fn at(&self, what: &str, done: u64, all: u64) {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
        if self.bar.position() != percent {
            self.bar.set_position(percent);
            self.says(format!("{what}: {percent}%"));
        }
    }
}

/// A line that is drawn once nothing was heard for [`SILENCE`].
fn begun() -> ProgressBar {
    let bar = ProgressBar::hidden();
    if !screen::draws_on_stderr() {
        return bar;
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    let weak = bar.downgrade();
    thread::spawn(move || {
        silence();
        let bar = weak.upgrade();
        if let Some(bar) = bar.filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(FRAME);
        }
    });
    bar
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command waits before it draws, and no function does"
)]
fn silence() {
    thread::sleep(SILENCE);
}

/// Does something, such as printing, while the line is out of the way.
pub fn hidden<T>(print: impl FnOnce() -> T) -> T {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let bar = current.as_ref().and_then(WeakProgressBar::upgrade);
    drop(current);
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_first {
            self.bar.finish_and_clear();
            *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

//! Outside text that no user would write: no parser panics, and none takes time that grows faster than
//! its text. A plain test looks at a few hundred texts each; `JOURNEYMAN_FUZZ_SECONDS=60` goes on
//! for that long with each target. `--nocapture` shows texts and time for each.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a test that shows what it did")]
#![expect(clippy::indexing_slicing, reason = "draws are below the length")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured, seconds are a setting")]

#[path = "fuzz/core.rs"]
mod core;
#[path = "fuzz/harness.rs"]
mod harness;
#[path = "fuzz/readers.rs"]
mod readers;
#[path = "fuzz/user_data.rs"]
mod user_data;

use harness::Target;

fn targets() -> Vec<Target> {
    core::targets().into_iter().chain(readers::targets()).collect()
}

#[test]
fn no_text_panics() {
    harness::no_text_panics(targets());
}

#[test]
fn no_text_takes_time_that_grows_faster_than_it() {
    harness::no_text_takes_time_that_grows_faster_than_it(targets());
}

//! Rules about the repository itself, as tests.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "helpers of tests fail loudly, and say what they played"
)]

#[path = "tidy/behaviours.rs"]
mod behaviours;
#[path = "tidy/cli.rs"]
mod cli;
#[path = "tidy/crates.rs"]
mod crates;
#[path = "tidy/differs.rs"]
mod differs;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/events.rs"]
mod events;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/glossary.rs"]
mod glossary;
#[path = "tidy/limits.rs"]
mod limits;
#[path = "tidy/metrics.rs"]
mod metrics;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/printed.rs"]
mod printed;
#[path = "tidy/rbac.rs"]
mod rbac;
#[path = "tidy/reasons.rs"]
mod reasons;
#[path = "tidy/reference.rs"]
mod reference;
#[path = "tidy/rights.rs"]
mod rights;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/settings.rs"]
mod settings;
#[path = "tidy/suites.rs"]
mod suites;
#[path = "tidy/terraform.rs"]
mod terraform;
#[path = "tidy/wake.rs"]
mod wake;
#[path = "tidy/words.rs"]
mod words;

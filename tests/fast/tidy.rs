//! Rules about the repository itself, as tests.

#[path = "tidy/crates.rs"]
mod crates;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/functions.rs"]
mod functions;

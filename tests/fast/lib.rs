//! What the tests that span crates share.

pub mod pages;
pub mod stack;

use std::path::{Path, PathBuf};

/// The repository's folder.
pub fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// The number in the environment variable `name`; `None` if it is not set.
///
/// # Panics
///
/// When it is no number.
#[expect(clippy::disallowed_methods, reason = "the one place where a test is configured")]
#[expect(clippy::expect_used, reason = "only tests call it")]
pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// The files below `folder` whose names end in one of `endings`, sorted.
///
/// # Panics
///
/// When a folder cannot be read: these are the repository's own.
#[expect(clippy::expect_used, reason = "only tests call it, on the repository's own folders")]
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut path_bufs = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder of the repository can be read") {
            let path = entry.expect("a folder of the repository can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                path_bufs.push(path);
            }
        }
    }
    path_bufs.sort();
    path_bufs
}

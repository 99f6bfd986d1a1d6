//! What every file looks like.

use std::fs;

use tests::{files, repository};

/// Lines of a file of Rust, its tests included. A file that needs more holds two things.
const LINES_MAX: usize = 500;

fn sources() -> Vec<(String, String)> {
    let root = repository();
    let folders = ["cli", "functions", "shared", "tests/fast"];
    let paths = folders.iter().flat_map(|folder| files(&root.join(folder), &[".rs"]));
    paths
        .map(|path| {
            let name =
                path.strip_prefix(&root).expect("below the repository").display().to_string();
            (name, fs::read_to_string(path).expect("a source can be read"))
        })
        .collect()
}

#[test]
fn every_file_says_what_it_is_for() {
    for (name, text) in sources() {
        assert!(text.starts_with("//!"), "{name} has no header");
    }
}

#[test]
fn a_file_fits_in_the_head() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines, more than {LINES_MAX}");
    }
}

#[test]
fn nothing_is_left_undone_in_silence() {
    // Spelled apart, so that this file does not name them.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["#[", "ignore"].concat()];
    for (name, text) in sources() {
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{name} contains {mark}");
        }
    }
}

#[test]
fn modules_stand_beside_their_folders() {
    let root = repository();
    for folder in ["cli", "functions", "shared"] {
        assert_eq!(files(&root.join(folder), &["/mod.rs"]), Vec::<std::path::PathBuf>::new());
    }
}

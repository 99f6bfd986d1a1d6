//! The glossary names what is there: a word whose type or method is gone would teach nothing.

use std::fs;

use tests::{files, repository};

/// The names in code of the last column: `a::b::Name`, `name` and so on. Paths of folders and pages are not
/// among them.
fn names(line: &str) -> Vec<&str> {
    let Some(last) = line.trim_end().trim_end_matches('|').rsplit('|').next() else {
        return Vec::new();
    };
    let quoted = last.split('`').skip(1).step_by(2);
    let parts = quoted.filter(|text| !text.contains(['/', '.'])).flat_map(|text| text.split("::"));
    parts.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_name_of_the_glossary_is_in_the_code() {
    let root = repository();
    let glossary = fs::read_to_string(root.join("docs/glossary.md")).expect("a glossary");
    let sources: String = ["cli", "functions", "shared"]
        .iter()
        .flat_map(|folder| files(&root.join(folder), &[".rs", ".toml"]))
        .map(|path| fs::read_to_string(&path).expect("a source can be read"))
        .collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let rows: Vec<&str> = glossary.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 20, "only {} rows were found", rows.len());
    for name in rows.iter().flat_map(|row| names(row)) {
        let is_there = sources.match_indices(name).any(|(at, _)| {
            let before = sources.get(..at).and_then(|text| text.chars().next_back());
            let after = sources.get(at + name.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        });
        assert!(is_there, "docs/glossary.md: `{name}` is not in the code");
    }
}

#[test]
fn names_are_read_from_the_last_column() {
    let row = "| plan | what `x` | `model::Plan`, `functions/`, [map](a.md), `sync` |";
    assert_eq!(names(row), ["model", "Plan", "sync"]);
}

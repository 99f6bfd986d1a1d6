//! Specs of Karpenter's end-to-end suites that fail on purpose, and those that are played for each change.

use std::{collections::BTreeSet, fs};

use tests::repository;

/// The fields of each line of a file of `tests/live/e2e`.
fn rows(name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(repository().join("tests/live/e2e").join(name));
    let text = text.expect("the file");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn a_spec_that_fails_on_purpose_has_its_row_in_compatibility() {
    let page = fs::read_to_string(repository().join("docs/compatibility.md")).unwrap();
    let rows_of_page = page.lines().filter_map(|line| line.strip_prefix("| "));
    let subjects: BTreeSet<&str> =
        rows_of_page.filter_map(|row| Some(row.split_once(" | ")?.0)).collect();
    for row in rows("differs.txt") {
        let [suite, spec, subject] = row.as_slice() else { panic!("not three fields: {row:?}") };
        assert!(
            subjects.contains(subject.as_str()),
            "{suite} {spec}: docs/compatibility.md has no row {subject:?}"
        );
    }
}

#[test]
fn ten_specs_that_do_not_differ_are_played_for_each_change() {
    let quick: BTreeSet<Vec<String>> = rows("quick.txt").into_iter().collect();
    assert!(quick.len() >= 10, "{quick:?}");
    for row in rows("differs.txt") {
        assert!(!quick.contains(&row[..2]), "{row:?} differs");
    }
}

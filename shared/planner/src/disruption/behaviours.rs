//! The list of behaviours names tests that exist, and lines of the list of differences.

use std::{collections::BTreeSet, fs, path::Path};

/// How many rows each group of the specification has.
const GROUPS: [(&str, usize); 15] = [
    ("CA", 31),
    ("PC", 23),
    ("BU", 24),
    ("CO", 9),
    ("DD", 29),
    ("PD", 25),
    ("EM", 27),
    ("CE", 18),
    ("CR", 26),
    ("CX", 24),
    ("VA", 9),
    ("MS", 19),
    ("BA", 36),
    ("DR", 24),
    ("SD", 13),
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// The names of all functions in the files of tests below `folder`.
fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().zip(text.lines().skip(1));
            let tests = lines.filter(|(before, _)| before.trim() == "#[test]");
            let names = tests.filter_map(|(_, line)| {
                let name = line.trim().strip_prefix("fn ")?.split('(').next()?;
                Some(name.to_owned())
            });
            found.extend(names);
        }
    }
}

#[test]
fn every_behaviour_has_a_test_or_a_line_that_says_why_not() {
    let mut tests = BTreeSet::new();
    tests_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut tests);
    let differences = read("docs/compatibility.md");
    let list = read("docs/disruption-behaviours.md");
    let rows: Vec<Vec<&str>> = list
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .filter(|cells: &Vec<&str>| cells[0].len() == 4 && cells[0].ends_with(char::is_numeric))
        .collect();
    for (group, count) in GROUPS {
        let wanted: Vec<String> = (1..=count).map(|number| format!("{group}{number:02}")).collect();
        let own: Vec<&str> =
            rows.iter().map(|cells| cells[0]).filter(|id| id.starts_with(group)).collect();
        assert_eq!(own, wanted);
    }
    for cells in &rows {
        let shown = *cells.last().unwrap();
        if let Some(subject) = shown.strip_prefix("compatibility: ") {
            assert!(differences.contains(&format!("| {subject}")), "{}: {subject}", cells[0]);
        } else if !shown.starts_with("later: ") {
            for name in shown.split(", ").map(|name| name.trim_matches('`')) {
                assert!(tests.contains(name), "{}: there is no test {name}", cells[0]);
            }
        }
    }
}

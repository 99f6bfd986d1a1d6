//! `docs/aws-behaviours.md` is complete, and names tests that exist.

use std::{collections::BTreeMap, fs};

use tests::{files, repository};

/// How many behaviours each letter has, counted from 1.
const ROWS: [(char, u32); 12] = [
    ('A', 17),
    ('H', 3),
    ('K', 12),
    ('F', 18),
    ('L', 30),
    ('I', 29),
    ('N', 17),
    ('C', 11),
    ('R', 3),
    ('P', 3),
    ('S', 8),
    ('O', 9),
];

/// Where the tests of a crate are.
fn folder(name: &str) -> String {
    match name {
        "cli" => "cli".to_owned(),
        "tests" => "tests/fast".to_owned(),
        name => format!("shared/{name}"),
    }
}

#[test]
fn every_behaviour_has_a_row_with_tests_that_exist_or_with_a_reason() {
    let text = fs::read_to_string(repository().join("docs/aws-behaviours.md"));
    let text = text.expect("the table can be read");
    let rows: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.splitn(3, " | ");
            let (id, _, place) = (cells.next()?, cells.next()?, cells.next()?);
            Some((id, place))
        })
        .collect();
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    for (letter, count) in ROWS {
        for number in 1..=count {
            let id = format!("{letter}{number}");
            let place = rows.get(id.as_str()).unwrap_or_else(|| panic!("{id} has no row"));
            let named = place.split('`').skip(1).step_by(2);
            let named: Vec<(&str, &str)> = named.filter_map(|name| name.split_once("::")).collect();
            let has_reason = place.contains("not built: ") || place.contains("(compatibility.md)");
            assert!(has_reason || !named.is_empty(), "{id} has neither a test nor a reason");
            for (name, test) in named {
                let own = sources.entry(name).or_insert_with(|| {
                    let paths = files(&repository().join(folder(name)), &[".rs"]);
                    let read = |path| fs::read_to_string(path).expect("a source can be read");
                    paths.into_iter().map(read).collect()
                });
                assert!(own.contains(&format!("fn {test}(")), "{id}: no test {name}::{test}");
            }
        }
    }
}

//! The table of behaviours: what it names is there.

use std::{collections::BTreeMap, fs};

use tests::repository;

const TABLE: &str = "docs/scheduling-behaviours.md";

/// How many behaviours each family has in the specification.
const FAMILIES: [(&str, usize); 36] = [
    ("RQ", 17),
    ("CC", 3),
    ("WK", 7),
    ("CV", 3),
    ("SL", 5),
    ("RX", 8),
    ("IT", 5),
    ("BP", 10),
    ("IS", 4),
    ("OO", 2),
    ("MV", 12),
    ("IF", 12),
    ("EX", 3),
    ("NB", 3),
    ("DL", 5),
    ("TT", 5),
    ("SP", 32),
    ("AF", 19),
    ("DF", 10),
    ("VO", 14),
    ("PR", 8),
    ("LM", 5),
    ("DS", 7),
    ("NP", 3),
    ("NF", 1),
    ("DR", 1),
    ("NC", 6),
    ("RS", 8),
    ("ME", 2),
    ("ST", 14),
    ("RE", 4),
    ("PD", 2),
    ("AP", 5),
    ("OV", 9),
    ("BF", 4),
    ("SC", 3),
];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of each row of the table's tables.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    text.lines().filter(|line| line.starts_with("| ")).map(cells).collect()
}

#[test]
fn every_behaviour_is_in_the_table() {
    let rows = rows(&read(TABLE));
    let wanted = FAMILIES
        .iter()
        .flat_map(|(family, count)| (1..=*count).map(move |number| format!("{family}{number}")));
    for behaviour in wanted {
        let found = rows.iter().filter(|row| row[0] == behaviour).count();
        assert_eq!(found, 1, "{behaviour} is in {TABLE} so often");
    }
}

#[test]
fn every_test_and_line_that_the_table_names_is_there() {
    let text = read(TABLE);
    let rows = rows(&text);
    let files: BTreeMap<&str, &str> = rows
        .iter()
        .filter(|row| row.len() == 2 && row[1].contains(".rs"))
        .map(|row| (row[0].as_str(), row[1].as_str()))
        .collect();
    let sources: BTreeMap<&str, String> =
        files.iter().map(|(name, path)| (*name, read(path))).collect();
    let differences = read("docs/compatibility.md");
    for row in rows.iter().filter(|row| row.len() == 3 && row[0] != "#") {
        let [behaviour, _, shown] = row.as_slice() else { continue };
        if let Some(subject) = shown.strip_prefix("difference: ") {
            let line = format!("| {subject} |");
            assert!(differences.contains(&line), "{behaviour}: no line about {subject}");
            continue;
        }
        let names: Vec<&str> = shown.split('`').filter(|part| part.contains("::")).collect();
        assert!(!names.is_empty(), "{behaviour} names no test");
        for name in names {
            let (file, test) = name.split_once("::").expect("it contains the mark");
            let source = sources.get(file);
            let source = source.unwrap_or_else(|| panic!("{behaviour}: no file {file}"));
            assert!(source.contains(&format!("fn {test}(")), "{behaviour}: no test {name}");
        }
    }
}

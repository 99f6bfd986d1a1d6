//! The tables of Karpenter's behaviours in `tests/behaviours` are complete, and what they name exists.
//!
//! A row is `| id | behaviour | shown by |`. What shows a behaviour is named as `crate::test`; else the
//! row says `[compatibility](../../docs/compatibility.md): subject` or `[differences](differences.md): subject`, where the
//! subject begins a line of that document, or `not built: ` and what has to be built first.

use std::{collections::BTreeMap, fs};

use expect_test::expect_file;
use tests::{files, pages, repository};

/// A table of behaviours.
struct Table {
    path: &'static str,
    /// Digits that the number of a row has at least.
    width: usize,
    /// How many rows each family of the specification has, counted from 1.
    families: &'static [(&'static str, usize)],
}

const TABLES: [Table; 5] = [
    Table {
        path: "tests/behaviours/aws.md",
        width: 1,
        families: &[
            ("A", 17),
            ("H", 3),
            ("K", 12),
            ("F", 18),
            ("L", 30),
            ("I", 29),
            ("N", 17),
            ("C", 11),
            ("R", 3),
            ("P", 3),
            ("S", 8),
            ("O", 9),
        ],
    },
    Table {
        path: "tests/behaviours/disruption.md",
        width: 2,
        families: &[
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
            ("SP", 24),
        ],
    },
    Table {
        path: "tests/behaviours/lifecycle.md",
        width: 2,
        families: &[
            ("LA", 9),
            ("RE", 28),
            ("IN", 18),
            ("LI", 25),
            ("CD", 14),
            ("MI", 25),
            ("LO", 9),
            ("QU", 13),
            ("ST", 15),
            ("EX", 8),
            ("HE", 14),
            ("GC", 13),
            ("TE", 30),
            ("EQ", 14),
            ("IT", 24),
            ("AW", 17),
        ],
    },
    Table {
        path: "tests/behaviours/changes-1.15.md",
        width: 1,
        families: &[
            ("1.", 15),
            ("2.", 15),
            ("3.", 9),
            ("4.", 8),
            ("5.", 13),
            ("6.", 3),
            ("7.", 15),
            ("8.", 4),
        ],
    },
    Table {
        path: "tests/behaviours/scheduling.md",
        width: 1,
        families: &[
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
        ],
    },
];

/// The marks of differences that are written down, and where.
const DIFFERENCES: [(&str, &str); 2] = [
    ("[compatibility](../../docs/compatibility.md)", "docs/compatibility.md"),
    ("[differences](differences.md)", "tests/behaviours/differences.md"),
];
/// The mark of what is missing.
const NOT_BUILT: &str = "not built: ";

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every row of `text` as its id and what shows it.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let row = |line| -> Option<(&str, &str)> {
        let line: &str = line;
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(3, " | ");
        let (id, _, shown) = (cells.next()?, cells.next()?, cells.next()?);
        (id != "id").then_some((id, shown))
    };
    text.lines().filter_map(row).collect()
}

/// Where the tests of a crate are.
fn folder(name: &str) -> String {
    match name {
        "cli" => "cli".to_owned(),
        "tests" => "tests/fast".to_owned(),
        name => format!("shared/{name}"),
    }
}

#[test]
fn every_behaviour_has_one_row() {
    for Table { path, width, families } in TABLES {
        let text = read(path);
        let mut texts: Vec<&str> = rows(&text).into_iter().map(|(id, _)| id).collect();
        let numbered = families.iter().flat_map(|(family, count)| {
            (1..=*count).map(move |number| format!("{family}{number:0width$}"))
        });
        let mut wanted: Vec<String> = numbered.collect();
        texts.sort_unstable();
        wanted.sort();
        assert_eq!(texts, wanted, "{path}");
    }
}

#[test]
fn the_index_lists_every_page() {
    let row = |table: &Table| {
        let file = table.path.rsplit('/').next().expect("a name");
        let text = read(table.path);
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a title");
        let rows: usize = table.families.iter().map(|(_, count)| count).sum();
        format!("| [{title}]({file}) | {rows} |\n")
    };
    let rows: String = TABLES.iter().map(row).collect();
    let index = read("tests/behaviours/README.md");
    let table = format!("| page | rows |\n|---|---|\n{rows}");
    expect_file!["../../behaviours/README.md"]
        .assert_eq(&pages::with_table(&index, "pages", &table));
}

#[test]
fn what_shows_a_behaviour_exists() {
    let differences = DIFFERENCES.map(|(mark, path)| (mark, read(path)));
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    let texts = TABLES.map(|table| (table.path, read(table.path)));
    for (path, text) in &texts {
        for (id, shown) in rows(text) {
            let quoted = shown.split('`').skip(1).step_by(2);
            let named: Vec<_> = quoted.filter_map(|name| name.split_once("::")).collect();
            let is_marked = differences.iter().any(|(mark, _)| shown.contains(mark));
            let says_why = shown.contains(NOT_BUILT) || is_marked;
            assert!(says_why || !named.is_empty(), "{path}: {id} has neither a test nor a reason");
            for (mark, page) in &differences {
                let Some((_, rest)) = shown.split_once(&format!("{mark}: ")) else { continue };
                let subject = rest.split(';').next().unwrap_or(rest);
                let line = format!("| {subject}");
                assert!(page.contains(&line), "{path}: {id}: no line about {subject}");
            }
            for (name, test) in named {
                let source = sources.entry(name).or_insert_with(|| {
                    let paths = files(&repository().join(folder(name)), &[".rs"]);
                    let read = |path| fs::read_to_string(path).expect("a source can be read");
                    paths.into_iter().map(read).collect()
                });
                let is_there = source.contains(&format!("fn {test}("));
                assert!(is_there, "{path}: {id}: no test {name}::{test}");
            }
        }
    }
}

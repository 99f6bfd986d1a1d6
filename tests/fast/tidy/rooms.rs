//! The arrows between the rooms of a crate: its modules, and what each may name of the others.

use std::{collections::BTreeSet, fs};

use tests::{files, repository};

/// A module at the root of a crate, and which of its siblings it may name.
type Room = (&'static str, &'static [&'static str]);

/// Crates whose rooms have an order; a room that is not listed is an error.
const CRATES: &[(&str, &[Room])] = &[
    (
        "shared/api",
        &[
            ("document", &[]),
            ("karpenter", &["document"]),
            ("probe", &[]),
            ("objects", &["document", "karpenter"]),
            ("convert", &["document", "objects"]),
            ("lists", &["document", "karpenter", "objects"]),
            ("files", &["convert", "document", "karpenter", "lists", "objects"]),
        ],
    ),
    ("cli", CLI),
    ("shared/installer", INSTALLER),
    ("shared/report", REPORT),
];

const CLI: &[Room] = &[
    ("admission", &[]),
    ("assumed", &[]),
    ("cluster_facts", &[]),
    ("crds", &[]),
    ("gates", &[]),
    ("hashes", &[]),
    ("least", &[]),
    ("list_price", &[]),
    ("near", &[]),
    ("rbac", &[]),
    ("records", &[]),
    ("template", &[]),
    ("version", &[]),
    ("workloads", &[]),
    ("cards", &["workloads"]),
    ("get", &["records"]),
    ("manifests", &["admission", "gates", "hashes", "workloads"]),
    ("explain", &["near", "records"]),
    ("options", &["manifests", "near"]),
    ("replay", &["cards", "manifests", "records"]),
    ("catalog", &["cluster_facts", "manifests", "near", "options"]),
    ("convert", &["manifests", "options"]),
    ("authority", &["cluster_facts", "hashes", "manifests"]),
    ("hash", &["authority", "hashes", "manifests", "options"]),
    ("local", &["options", "records"]),
    ("simulate", &["gates", "least", "manifests", "options", "records", "workloads"]),
    ("validate", &["assumed", "manifests", "near", "options"]),
    (
        "plan",
        &[
            "admission",
            "assumed",
            "authority",
            "cards",
            "catalog",
            "cluster_facts",
            "gates",
            "hashes",
            "least",
            "list_price",
            "manifests",
            "options",
            "records",
            "validate",
            "workloads",
        ],
    ),
    ("render", &["assumed", "catalog", "cluster_facts", "gates", "manifests", "options"]),
    (
        "shadow",
        &[
            "authority",
            "catalog",
            "gates",
            "least",
            "list_price",
            "manifests",
            "options",
            "simulate",
            "workloads",
        ],
    ),
    (
        "args",
        &[
            "catalog", "convert", "crds", "explain", "get", "hash", "local", "options", "plan",
            "rbac", "render", "replay", "shadow", "simulate", "template", "validate", "version",
        ],
    ),
    ("help", &["args"]),
    ("run", &["args", "help", "options"]),
];

const INSTALLER: &[Room] = &[
    ("installation", &[]),
    ("named", &[]),
    ("live", &["installation", "named"]),
    ("found", &["installation", "live"]),
    ("wake", &["live"]),
    ("doctor", &["found", "installation", "live", "named", "wake"]),
    ("install", &["doctor", "found", "installation", "live", "wake"]),
    ("deploy", &["doctor", "found", "install", "installation", "live", "wake"]),
    ("upgrade", &["deploy", "installation"]),
    ("handover", &["doctor", "found", "installation", "live"]),
    ("uninstall", &["doctor", "found", "installation", "live", "wake"]),
];

const REPORT: &[Room] = &[
    ("contents", &[]),
    ("error", &[]),
    ("output", &[]),
    ("format", &[]),
    ("json", &["format", "output"]),
    ("screen", &[]),
    ("progress", &["screen"]),
    ("command", &["error", "screen"]),
    ("cost", &["contents", "json", "output"]),
    ("packing", &["contents"]),
    ("page", &["contents", "error"]),
    ("series", &["output"]),
];

/// The source without its tests: they may look at what is above.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// The names that stand in `text` right behind `path`, such as `crate::`, one by one or in braces.
pub(crate) fn named(text: &str, path: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for (at, mark) in text.match_indices(path) {
        let rest = &text[at + mark.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.insert(word(rest));
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                c if begins && c.is_alphanumeric() => {
                    names.insert(word(&group[at..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn rooms_of_a_crate_name_only_the_rooms_below_them() {
    for (name, rooms) in CRATES {
        let source = repository().join(format!("{name}/src"));
        let known: BTreeSet<&str> = rooms.iter().map(|(room, _)| *room).collect();
        for path in files(&source, &[".rs"]) {
            let inside = path.strip_prefix(&source).expect("below the source").to_string_lossy();
            let room = inside.split('/').next().expect("a part").trim_end_matches(".rs");
            if ["lib", "main"].contains(&room)
                || inside.ends_with("tests.rs")
                || inside.contains("/tests/")
            {
                continue;
            }
            let (_, allowed) = rooms
                .iter()
                .find(|(known, _)| *known == room)
                .unwrap_or_else(|| panic!("{name}: the room `{room}` has no place"));
            let text = fs::read_to_string(&path).expect("a source can be read");
            for other in named(without_tests(&text), "crate::") {
                let is_fine = other == room
                    || !known.contains(other.as_str())
                    || allowed.contains(&other.as_str());
                assert!(is_fine, "{name}/{inside}: `{room}` must not name `{other}`");
            }
        }
    }
}

#[test]
fn names_behind_crate_are_found() {
    let text =
        "use crate::{a::{x, y}, b,\n c::{self},\n};\nuse crate::d::e; crate::f(), $crate::g!";
    assert_eq!(named(text, "crate::").into_iter().collect::<String>(), "abcdfg");
}

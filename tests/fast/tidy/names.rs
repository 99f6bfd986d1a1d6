//! A public type's name exists once in the workspace: one word for a thing, one thing for a word.
//!
//! `unreachable_pub` is a lint of the workspace, so what is `pub` is what other crates can name.

use std::{collections::BTreeMap, fs};

use tests::{files, repository};

/// Rust's habit: a module's own error is `module::Error`, and is never named without its module.
const MODULE_ERROR: &str = "Error";

/// Types of a build without clients, which are called as those that they stand in for.
const STAND_IN: &str = "live/absent.rs";

/// Rooms inside of a crate: public, so that the crate's tests stand at its boundary, and named by no other crate.
const INNER_ROOMS: [(&str, &str); 3] =
    [("planner", "index"), ("planner", "scheduling"), ("planner", "world")];

/// The name of the public type that `line` begins to declare; a macro's `$name` is none.
fn public_type(line: &str) -> Option<&str> {
    let declared = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = kinds.iter().find_map(|kind| declared.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Every name of a public type, with the crates that declare it, each as often as it does.
fn public_types() -> BTreeMap<String, Vec<String>> {
    let root = repository();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["cli", "functions", "shared"] {
        for path in files(&root.join(folder), &[".rs"]) {
            let below = path.strip_prefix(&root).expect("below the repository").to_owned();
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            let (package, rest) = match parts.as_slice() {
                [cli, rest @ ..] if cli == "cli" => (cli, rest),
                [_, package, rest @ ..] => (package, rest),
                _ => continue,
            };
            // Tests, benches and build scripts have no users.
            if rest.first().is_none_or(|folder| folder != "src") || below.ends_with(STAND_IN) {
                continue;
            }
            let room = rest.get(1).map_or("", |part| part.trim_end_matches(".rs"));
            if INNER_ROOMS.contains(&(package.as_ref(), room)) {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source can be read");
            for name in text.lines().filter_map(public_type) {
                types.entry(name.to_owned()).or_default().push(package.to_string());
            }
        }
    }
    types.remove(MODULE_ERROR);
    for crates in types.values_mut() {
        crates.sort();
    }
    types
}

#[test]
fn no_crate_names_the_inner_rooms_of_another() {
    for (owner, room) in INNER_ROOMS {
        let path = format!("{owner}::");
        let names_it = |file: &std::path::PathBuf| {
            let text = fs::read_to_string(file).expect("a source can be read");
            super::rooms::named(&text, &path).contains(room)
        };
        let its_crate = repository().join("shared").join(owner);
        assert!(
            files(&its_crate.join("tests"), &[".rs"]).iter().any(names_it),
            "no test of {owner} needs {room}: make it private"
        );
        let sources = ["cli", "functions", "shared", "tests"].iter();
        let wrong: Vec<_> = sources
            .flat_map(|folder| files(&repository().join(folder), &[".rs"]))
            .filter(|file| !file.starts_with(&its_crate) && names_it(file))
            .collect();
        assert!(wrong.is_empty(), "{path}{room} is for the tests of {owner} only: {wrong:?}");
    }
}

#[test]
fn no_two_public_types_have_one_name() {
    let types = public_types();
    assert!(types.len() > 300, "only {} public types were found", types.len());
    let wrong: Vec<String> = types
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .map(|(name, crates)| format!("{name} is a public type of {crates:?}: rename one of them"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words that say nothing of what is bound to them.
const EMPTY_WORDS: [&str; 4] = ["all", "found", "one", "own"];

/// Number of bindings that still have such a name. It only shrinks: lower it after a rename.
const EMPTY_BINDINGS: usize = 11;

/// How many bindings of `line` are called by a word that says nothing.
fn empty_bindings(line: &str) -> usize {
    let code = line.split("//").next().unwrap_or_default();
    let bound = |word: &str| {
        let forms = [
            format!("let {word} "),
            format!("let {word}:"),
            format!("let mut {word} "),
            format!("let mut {word}:"),
            format!("for {word} in"),
            format!("|{word}|"),
            format!("|&{word}|"),
            format!("|{word}:"),
            format!("|{word},"),
        ];
        forms.iter().map(|form| code.matches(form.as_str()).count()).sum::<usize>()
    };
    EMPTY_WORDS.into_iter().map(bound).sum()
}

#[test]
fn bindings_say_what_is_bound() {
    let root = repository();
    let sources = ["cli", "functions", "shared", "tests"].iter();
    let bindings: usize = sources
        .flat_map(|folder| files(&root.join(folder), &[".rs"]))
        .map(|path| fs::read_to_string(&path).expect("a source can be read"))
        .map(|text| text.lines().map(empty_bindings).sum::<usize>())
        .sum();
    assert_eq!(bindings, EMPTY_BINDINGS, "bindings are called {EMPTY_WORDS:?}");
    assert_eq!(empty_bindings("let found = pods.iter().filter(|one| one.is_due());"), 2);
    assert_eq!(empty_bindings("let foundation = all(pods); // for one in pods"), 0);
}

/// Calls of macros that write log lines in `text`, each without its line breaks.
fn log_lines(text: &str) -> Vec<String> {
    let calls = text
        .split("tracing::")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("!(")?.1.split_once(");")?.0));
    calls.map(|call| call.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// A field of this name would stand beside the line's own text, which has it: a reader of the line would find one of
/// both.
#[test]
fn no_field_of_a_log_line_is_called_message() {
    let is_wrong = |call: &String| {
        let fields = call.split(", ").map(|field| field.trim_start_matches(['%', '?', '(']));
        fields.into_iter().any(|field| field == "message" || field.starts_with("message ="))
    };
    let mut wrong = Vec::new();
    for folder in ["functions", "shared"] {
        for path in files(&repository().join(folder), &[".rs"]) {
            let text = fs::read_to_string(&path).expect("a source can be read");
            let lines = log_lines(&text).into_iter().filter(is_wrong);
            wrong.extend(lines.map(|call| format!("{}: {call}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let example = log_lines("tracing::warn!(code = 1,\n    message = error.message, \"a\");\nx();");
    assert!(example.iter().all(is_wrong) && example.len() == 1, "{example:?}");
}

#[test]
fn declarations_are_recognized() {
    for (line, name) in [
        ("pub struct World {", Some("World")),
        ("    pub enum Fault<T> {", Some("Fault")),
        ("pub trait Nodes: Sized {", Some("Nodes")),
        ("pub trait $port {", None),
        ("pub type Work = Box<dyn Future>;", Some("Work")),
        ("pub struct Limits(pub BTreeMap<ResourceName, u64>);", Some("Limits")),
        ("pub(crate) struct World {", None),
        ("pub fn world() {}", None),
        ("/// pub struct World", None),
    ] {
        assert_eq!(public_type(line), name, "{line}");
    }
}

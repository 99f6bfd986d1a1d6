//! A public type's name exists once in the workspace: one word for a thing, one thing for a word.
//!
//! `unreachable_pub` is a lint of the workspace, so what is `pub` is what other crates can name.

use std::{collections::BTreeMap, fs};

use tests::{files, repository};

/// Why a name is still shared.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// A port is called after what it brings: `ports::Catalog` brings a `model::Catalog`.
    PortAndAnswer,
    /// An accident, to be undone by the one renaming of the workspace.
    ToBeRenamed,
}

use Reason::{PortAndAnswer, ToBeRenamed};

/// The names that several public types share, with the crates that have them. It only shrinks: whoever
/// renames one of them takes it out.
const SHARED_NAMES: &[(&str, &[&str], Reason)] = &[
    ("Catalog", &["model", "ports"], PortAndAnswer),
    ("Delivery", &["model", "simulator"], ToBeRenamed),
    ("Market", &["model", "ports"], PortAndAnswer),
    ("Object", &["api", "simulator"], ToBeRenamed),
    ("Placement", &["model", "model"], ToBeRenamed),
    ("Prepared", &["planner", "planner"], ToBeRenamed),
    ("Refusal", &["launch-template", "simulator"], ToBeRenamed),
    ("Schedule", &["planner", "simulator"], ToBeRenamed),
    ("Settings", &["api", "bootstrap", "simulator"], ToBeRenamed),
    ("Target", &["model", "simulator"], ToBeRenamed),
    ("Verdict", &["model", "simulator"], ToBeRenamed),
    ("Workload", &["api", "simulator"], ToBeRenamed),
    ("WorkloadKind", &["api", "simulator"], ToBeRenamed),
];

/// Rust's habit: a module's own error is `module::Error`, and is never named without its module.
const MODULE_ERROR: &str = "Error";

/// The name of the public type that `line` begins to declare.
fn public_type(line: &str) -> Option<&str> {
    let declared = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = kinds.iter().find_map(|kind| declared.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
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
            if rest.first().is_none_or(|folder| folder != "src") {
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
fn no_two_public_types_have_one_name() {
    let types = public_types();
    assert!(types.len() > 300, "only {} public types were found", types.len());
    let shared: BTreeMap<&str, Vec<&str>> = types
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .map(|(name, crates)| (name.as_str(), crates.iter().map(String::as_str).collect()))
        .collect();
    let known: BTreeMap<&str, (Vec<&str>, Reason)> =
        SHARED_NAMES.iter().map(|(name, crates, why)| (*name, (crates.to_vec(), *why))).collect();
    assert_eq!(known.len(), SHARED_NAMES.len(), "a name is listed twice");
    let mut wrong: Vec<String> = Vec::new();
    for (name, crates) in &shared {
        match known.get(name) {
            None => {
                wrong.push(format!("{name} is a public type of {crates:?}: rename one of them"));
            }
            Some((listed, why)) if crates != listed => wrong.push(format!(
                "{name} ({why:?}) is listed for {listed:?}, and is a public type of {crates:?}: \
                 rename what is new, or shorten the list"
            )),
            Some(_) => {}
        }
    }
    for (name, (crates, _)) in known.iter().filter(|(name, _)| !shared.contains_key(*name)) {
        wrong.push(format!("{name} is no longer shared by {crates:?}: unlist it"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn declarations_are_recognized() {
    for (line, name) in [
        ("pub struct World {", Some("World")),
        ("    pub enum Fault<T> {", Some("Fault")),
        ("pub trait Nodes: Sized {", Some("Nodes")),
        ("pub type Work = Box<dyn Future>;", Some("Work")),
        ("pub struct Limits(pub BTreeMap<ResourceName, u64>);", Some("Limits")),
        ("pub(crate) struct World {", None),
        ("pub fn world() {}", None),
        ("/// pub struct World", None),
    ] {
        assert_eq!(public_type(line), name, "{line}");
    }
}

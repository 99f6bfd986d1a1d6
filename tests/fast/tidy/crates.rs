//! The arrows between crates, and what a plain `cargo test` compiles.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use tests::repository;
use toml_edit::{DocumentMut, Item};

/// What each of our crates may depend on; `docs/architecture.md`, section 3, says why.
const ARROWS: &[(&str, &[&str])] = &[
    ("api", &["model"]),
    ("aws", &["instance-catalog", "model", "ports", "wire"]),
    ("aws-server", &["instance-catalog", "model", "ports", "simulator"]),
    ("bootstrap", &["aws", "cluster", "handlers", "instance-catalog", "model", "ports", "wire"]),
    ("catalog", FUNCTION),
    ("cel", &[]),
    ("cli", CLI),
    ("cluster", &["api", "model", "ports"]),
    ("devices", &["cel", "model"]),
    ("dispatch", &["handlers", "model", "ports", "simulator"]),
    ("disrupt", FUNCTION),
    ("drain", FUNCTION),
    ("handlers", &["api", "devices", "launch-template", "model", "plan-check", "planner", "ports"]),
    ("installer", INSTALLER),
    ("instance-catalog", &["model"]),
    ("interrupt", FUNCTION),
    ("launch", FUNCTION),
    ("launch-template", &["cel", "model"]),
    ("local", LOCAL),
    ("model", &[]),
    ("plan-check", &["devices", "model"]),
    ("planner", &["devices", "model"]),
    ("ports", &["model"]),
    ("provision", FUNCTION),
    ("report", &["model"]),
    ("resolve", FUNCTION),
    ("settle", FUNCTION),
    ("simulator", &["devices", "launch-template", "model", "ports"]),
    ("sweep", FUNCTION),
    ("testkit", &["model", "ports"]),
    ("tests", TESTS),
    ("wake", FUNCTION),
    ("wire", &["model"]),
];
const CLI: &[&str] = &[
    "api",
    "devices",
    "dispatch",
    "installer",
    "instance-catalog",
    "launch-template",
    "local",
    "model",
    "plan-check",
    "planner",
    "ports",
    "report",
    "simulator",
    "wire",
];
const INSTALLER: &[&str] =
    &["api", "aws", "handlers", "instance-catalog", "model", "ports", "report"];
const LOCAL: &[&str] = &["aws-server", "cluster", "dispatch", "model", "ports", "simulator"];
const TESTS: &[&str] = &[
    "api",
    "cli",
    "dispatch",
    "instance-catalog",
    "model",
    "ports",
    "report",
    "simulator",
    "testkit",
    "wire",
];
const FUNCTION: &[&str] = &["bootstrap", "handlers", "model", "ports"];

/// Crates from outside that only some of ours may name. `installer` names the clients of Kubernetes and AWS in its
/// feature `live` only, which [`a_plain_cargo_test_compiles_no_sdk`] sees to.
const FENCED: &[(&str, &[&str])] = &[
    ("aws-sdk-", &["aws", "installer"]),
    ("aws-config", &["aws", "installer"]),
    ("kube", &["cluster", "installer", "local"]),
    ("k8s-openapi", &["cluster", "local"]),
    ("lambda_runtime", &["bootstrap"]),
    ("aws_lambda_events", &["bootstrap"]),
    (
        "tokio",
        &[
            "aws",
            "bootstrap",
            "catalog",
            "cli",
            "cluster",
            "disrupt",
            "aws-server",
            "drain",
            "installer",
            "interrupt",
            "launch",
            "local",
            "provision",
            "resolve",
            "settle",
            "sweep",
            "wake",
        ],
    ),
    (
        "serde",
        &[
            "api",
            "aws",
            "bootstrap",
            "cli",
            "cluster",
            "installer",
            "instance-catalog",
            "launch-template",
            "report",
            "wire",
        ],
    ),
];

/// What no default member may reach, however indirectly.
const TOO_HEAVY: &[&str] =
    &["aws-sdk-", "aws-config", "kube", "k8s-openapi", "lambda_runtime", "aws-lc-sys"];

/// A file of the repository as TOML. Manifests and the lock file say all that is needed here, and
/// reading them needs no registry.
fn toml(path: &str) -> DocumentMut {
    let text = fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn texts(item: &Item) -> Vec<String> {
    let array = item.as_array().into_iter().flatten();
    array.filter_map(|value| value.as_str().map(ToOwned::to_owned)).collect()
}

/// Our crates: name → folder.
fn ours() -> BTreeMap<String, String> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for member in texts(&toml("Cargo.toml")["workspace"]["members"]) {
        match member.strip_suffix("/*") {
            Some(parent) => {
                let entries = repository().join(parent).read_dir().expect("members can be listed");
                let names = entries.map(|entry| entry.expect("an entry").file_name());
                folders.extend(names.map(|name| PathBuf::from(parent).join(name)));
            }
            None => folders.push(PathBuf::from(member)),
        }
    }
    let name = |folder: PathBuf| {
        let folder = folder.display().to_string();
        let manifest = toml(&format!("{folder}/Cargo.toml"));
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        (name, folder)
    };
    folders.into_iter().map(name).collect()
}

/// What a crate names and compiles only where a feature is asked for.
fn optional(folder: &str) -> BTreeSet<String> {
    let manifest = toml(&format!("{folder}/Cargo.toml"));
    let features = manifest.get("features").and_then(Item::as_table_like);
    let default = features.and_then(|features| features.get("default"));
    assert!(default.is_none(), "{folder}: a feature is on by default");
    let table = manifest.get("dependencies").and_then(Item::as_table_like).into_iter();
    let is_optional =
        |item: &Item| item.get("optional").and_then(Item::as_bool).unwrap_or_default();
    let names = table.flat_map(|table| table.iter().filter(|(_, item)| is_optional(item)));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// What a crate names, without what it names for its tests only.
fn dependencies(folder: &str) -> Vec<String> {
    let manifest = toml(&format!("{folder}/Cargo.toml"));
    let table = manifest.get("dependencies").and_then(Item::as_table_like);
    table.into_iter().flat_map(|table| table.iter().map(|(name, _)| name.to_owned())).collect()
}

fn is_of(name: &str, family: &str) -> bool {
    name == family || family.ends_with('-') && name.starts_with(family)
}

#[test]
fn arrows_point_down_only() {
    let ours = ours();
    let known: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let names: Vec<&str> = ours.keys().map(String::as_str).collect();
    assert_eq!(known.keys().copied().collect::<Vec<_>>(), names);
    for (name, folder) in &ours {
        let arrows = dependencies(folder).into_iter().filter(|name| ours.contains_key(name));
        let allowed = known[name.as_str()];
        let wrong: Vec<String> =
            arrows.filter(|arrow| !allowed.contains(&arrow.as_str())).collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}");
    }
}

#[test]
fn only_adapters_name_the_outside() {
    for (name, folder) in ours() {
        for dependency in dependencies(&folder) {
            for (family, allowed) in FENCED {
                let is_fine = !is_of(&dependency, family) || allowed.contains(&name.as_str());
                assert!(is_fine, "{name} must not depend on {dependency}");
            }
        }
    }
}

#[test]
fn a_plain_cargo_test_compiles_no_sdk() {
    let lock = toml("Cargo.lock");
    let packages = lock["package"].as_array_of_tables().expect("packages");
    let mut graph: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        // A dependency is its name, and its version where there are several.
        let dependencies = package.get("dependencies").map(texts).unwrap_or_default();
        let map =
            dependencies.iter().filter_map(|text| text.split(' ').next()).map(ToOwned::to_owned);
        graph.entry(name).or_default().extend(map);
    }
    let members = texts(&toml("Cargo.toml")["workspace"]["default-members"]);
    let names: BTreeMap<String, String> =
        ours().into_iter().map(|(name, folder)| (folder, name)).collect();
    // The lock file knows no features: what a member compiles only with one is not reached.
    for member in &members {
        let optional = optional(member);
        graph.entry(&names[member]).or_default().retain(|name| !optional.contains(name));
    }
    let mut open: Vec<String> = members.iter().map(|folder| names[folder].clone()).collect();
    assert!(!open.is_empty(), "there are default members");
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        let heavy = TOO_HEAVY.iter().find(|family| is_of(&name, family));
        assert!(heavy.is_none(), "a default member reaches {name}");
        if reached.insert(name.clone()) {
            open.extend(graph[name.as_str()].iter().cloned());
        }
    }
    assert!(reached.contains("serde_json"), "the graph leads somewhere");
}

#[test]
fn every_crate_takes_versions_and_lints_from_the_workspace() {
    for (name, folder) in ours() {
        let path = repository().join(&folder).join("Cargo.toml");
        let manifest = fs::read_to_string(path).expect("a manifest can be read");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name}: lints of its own");
        assert!(manifest.contains("license.workspace = true"), "{name}: a licence of its own");
        let is_own = |line: &&str| line.contains("version = \"") || line.contains("path = \"../");
        assert_eq!(manifest.lines().find(is_own), None, "{name}: a version of its own");
        assert_eq!(folder.rsplit('/').next(), Some(name.as_str()), "the folder has the name");
    }
}

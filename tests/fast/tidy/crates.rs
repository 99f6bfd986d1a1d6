//! The arrows between crates, and what a plain `cargo test` compiles.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
    sync::OnceLock,
};

use serde_json::Value;
use tests::repository;

/// What each of our crates may depend on; `docs/architecture.md`, section 3, says why.
const ARROWS: &[(&str, &[&str])] = &[
    ("api", &["model"]),
    ("aws", &["api", "model", "ports"]),
    ("bootstrap", &["api", "aws", "cluster", "handlers", "model", "ports"]),
    ("cli", &["api", "handlers", "model", "ports", "simulator"]),
    ("cluster", &["api", "model", "ports"]),
    ("disrupt", FUNCTION),
    ("drain", FUNCTION),
    ("handlers", &["launch-template", "model", "plan-check", "planner", "ports"]),
    ("interrupt", FUNCTION),
    ("launch", FUNCTION),
    ("launch-template", &["model"]),
    ("model", &[]),
    ("plan-check", &["model"]),
    ("planner", &["model"]),
    ("ports", &["model"]),
    ("provision", FUNCTION),
    ("settle", FUNCTION),
    ("simulator", &["model", "ports"]),
    ("testkit", &["model", "ports"]),
    ("tests", &["api", "cli", "model", "ports", "simulator", "testkit"]),
];
const FUNCTION: &[&str] = &["bootstrap", "handlers"];

/// Crates from outside that only some of ours may name.
const FENCED: &[(&str, &[&str])] = &[
    ("aws-sdk-", &["aws"]),
    ("aws-config", &["aws"]),
    ("kube", &["cluster"]),
    ("k8s-openapi", &["cluster"]),
    ("lambda_runtime", &["bootstrap"]),
    ("aws_lambda_events", &["bootstrap"]),
    (
        "tokio",
        &[
            "aws",
            "bootstrap",
            "cluster",
            "disrupt",
            "drain",
            "interrupt",
            "launch",
            "provision",
            "settle",
        ],
    ),
    ("serde", &["api", "aws", "bootstrap", "cli", "cluster"]),
];

/// What no default member may reach, however indirectly.
const TOO_HEAVY: &[&str] =
    &["aws-sdk-", "aws-config", "kube", "k8s-openapi", "lambda_runtime", "aws-lc-sys"];

fn metadata() -> &'static Value {
    static METADATA: OnceLock<Value> = OnceLock::new();
    METADATA.get_or_init(|| {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            .current_dir(repository())
            .output()
            .expect("cargo runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
    })
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Our packages by name.
fn ours() -> BTreeMap<&'static str, &'static Value> {
    let members: BTreeSet<&str> = texts(&metadata()["workspace_members"]).into_iter().collect();
    let packages = metadata()["packages"].as_array().expect("packages");
    packages
        .iter()
        .filter(|package| members.contains(package["id"].as_str().unwrap_or_default()))
        .map(|package| (package["name"].as_str().expect("a name"), package))
        .collect()
}

/// What a package names, without what it names for its tests only.
fn dependencies(package: &'static Value) -> Vec<&'static str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .collect()
}

fn is_of(name: &str, family: &str) -> bool {
    name == family || family.ends_with('-') && name.starts_with(family)
}

#[test]
fn arrows_point_down_only() {
    let ours = ours();
    let known: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    assert_eq!(known.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    for (name, package) in &ours {
        let arrows: BTreeSet<&str> =
            dependencies(package).into_iter().filter(|d| ours.contains_key(d)).collect();
        let allowed: BTreeSet<&str> = known[name].iter().copied().collect();
        let wrong: Vec<_> = arrows.difference(&allowed).collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}");
    }
}

#[test]
fn only_adapters_name_the_outside() {
    for (name, package) in ours() {
        for dependency in dependencies(package) {
            for (family, allowed) in FENCED {
                let is_fine = !is_of(dependency, family) || allowed.contains(&name);
                assert!(is_fine, "{name} must not depend on {dependency}");
            }
        }
    }
}

#[test]
fn a_plain_cargo_test_compiles_no_sdk() {
    let nodes: BTreeMap<&str, &Value> = metadata()["resolve"]["nodes"]
        .as_array()
        .expect("a resolved graph")
        .iter()
        .map(|node| (node["id"].as_str().expect("an id"), node))
        .collect();
    let names: BTreeMap<&str, &str> = metadata()["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| {
            (package["id"].as_str().expect("an id"), package["name"].as_str().expect("a name"))
        })
        .collect();
    let mut reached = BTreeSet::new();
    let mut open = texts(&metadata()["workspace_default_members"]);
    assert!(!open.is_empty(), "there are default members");
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(texts(&nodes[id]["dependencies"]));
        }
    }
    for id in reached {
        let heavy = TOO_HEAVY.iter().find(|family| is_of(names[id], family));
        assert!(heavy.is_none(), "a default member reaches {}", names[id]);
    }
}

#[test]
fn every_crate_takes_versions_and_lints_from_the_workspace() {
    for (name, package) in ours() {
        let path = package["manifest_path"].as_str().expect("a path");
        let manifest = std::fs::read_to_string(path).expect("a manifest can be read");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name}: lints of its own");
        assert!(manifest.contains("license.workspace = true"), "{name}: a licence of its own");
        let is_own = |line: &&str| line.contains("version = \"") || line.contains("path = \"../");
        assert_eq!(manifest.lines().find(is_own), None, "{name}: a version of its own");
        let folder = std::path::Path::new(path).parent().and_then(std::path::Path::file_name);
        assert_eq!(folder.and_then(|f| f.to_str()), Some(name), "the folder has the crate's name");
    }
}

//! Answers for programs: each has the version of its form, and numbers are numbers.

use std::path::Path;

use report::json::SCHEMA_VERSION;
use serde_json::Value;

use crate::{CLASS, POOL, asking::FACTS, deployment, folder, run};

/// Members whose texts may look like numbers: quantities and values of labels as Kubernetes writes them, ids and hashes,
/// EC2's own members.
const TEXTS: [&str; 9] = [
    "requests",
    "values",
    "id",
    "decisionId",
    "facts",
    "recordedFacts",
    "version",
    "launchTemplateVersion",
    "launchTemplates",
];

/// Collects each text below `value` that is a number.
fn numbers_as_text(value: &Value, path: &str, wrong: &mut Vec<String>) {
    match value {
        Value::String(text) if text.trim_start_matches('$').parse::<f64>().is_ok() => {
            wrong.push(format!("{path}: {text:?}"));
        }
        Value::Array(items) => {
            for item in items {
                numbers_as_text(item, path, wrong);
            }
        }
        Value::Object(members) => {
            let others = members.iter().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
            others.for_each(|(name, value)| {
                numbers_as_text(value, &format!("{path}.{name}"), wrong);
            });
        }
        _ => {}
    }
}

/// The answer of `words` as JSON, which is versioned and typed.
#[track_caller]
fn typed(folder: &Path, words: &str) -> Value {
    let answer = run(folder, &format!("{words} -o json")).json();
    assert_eq!(answer.get("schemaVersion"), Some(&SCHEMA_VERSION.into()), "{words}: {answer}");
    let mut wrong = Vec::new();
    numbers_as_text(&answer, "", &mut wrong);
    assert!(wrong.is_empty(), "{words}: {wrong:#?}");
    answer
}

#[test]
fn each_json_answer_has_the_version_of_its_form_and_numbers_are_numbers() {
    let web = deployment("web", 6);
    let stored = POOL.replace("name: general", "name: general, uid: '1'");
    let other = CLASS.replace("role: nodes", "role: others");
    let files = [
        ("in/class.yaml", CLASS),
        ("in/pool.yaml", POOL),
        ("in/web.yaml", &*web),
        ("stored.yaml", &*stored),
        ("other.yaml", &*[POOL, &other].join("---\n")),
        ("this.yaml", &*[POOL, CLASS].join("---\n")),
        ("facts.json", FACTS),
    ];
    let folder = folder("typed", &files);
    run(&folder, "simulate --duration 10m --dumps dumps --every 5m");
    let played = typed(&folder, "simulate in --duration 10m --ledger ledger.json --record facts");
    for number in ["pricePerHour", "spent", "spotInterruptions", "podsPlaced"] {
        assert!(played["summary"][number].is_number(), "{number}: {}", played["summary"]);
    }
    assert!(played["summary"]["pendingMilliseconds"]["p50"].is_number());
    let lines = played["timeline"].as_array().expect("a timeline");
    let of_kind = |kind: &str| lines.iter().find(|line| line["kind"] == kind).expect("a line");
    let launched = of_kind("InstanceLaunched");
    assert!(launched["pricePerHour"].is_number() && launched["instance"].is_string(), "{launched}");
    let joined = of_kind("NodeJoined");
    assert!(joined["node"].is_string() && joined["instance"].is_string(), "{joined}");
    assert!(of_kind("ClaimCreated")["nodeClaim"].is_string());
    assert!(of_kind("PodBound")["pods"].is_number());
    let planned = typed(&folder, "plan in");
    assert!(planned["totals"]["pricePerMonth"].is_number(), "{planned}");
    typed(&folder, "plan in --compare");
    typed(&folder, "plan in --disruption");
    let dumps = std::fs::read_dir(folder.join("dumps")).expect("dumps");
    let dump = dumps.filter_map(Result::ok).map(|entry| entry.path()).max().expect("a dump");
    let dump = dump.strip_prefix(&folder).expect("below").display().to_string();
    typed(&folder, &format!("plan {dump} --disruption"));
    assert!(typed(&folder, "shadow dumps")["costDifference"].is_number());
    for what in ["nodeclaims", "nodes", "pods", "decisions", "commands", "costs"] {
        typed(&folder, &format!("get {what} --ledger ledger.json"));
    }
    let pods = typed(&folder, "get pods --ledger ledger.json");
    let [pod, node, id] = ["name", "node", "decisionId"]
        .map(|name| pods["items"][0][name].as_str().expect("a name").to_owned());
    typed(&folder, &format!("explain pod {pod} --ledger ledger.json"));
    typed(&folder, "explain pod web --ledger ledger.json");
    typed(&folder, &format!("explain node {node} --ledger ledger.json"));
    typed(&folder, "explain nodepool general --ledger ledger.json");
    typed(&folder, "explain reason SpotToSpot");
    typed(&folder, "explain reason");
    typed(&folder, &format!("replay {id} --ledger ledger.json"));
    typed(&folder, "validate in");
    typed(&folder, "render this.yaml --cluster-facts facts.json");
    typed(&folder, "render --cluster-facts facts.json --diff this.yaml other.yaml");
}

#[test]
fn yaml_has_the_version_too() {
    let folder = folder("typed-yaml", &[("a.yaml", &[CLASS, "---\n", POOL].concat())]);
    for words in [
        "plan a.yaml -o yaml",
        "explain reason SpotToSpot -o yaml",
        "validate a.yaml -o yaml",
        "simulate a.yaml --duration 1m -o yaml",
    ] {
        run(&folder, words).says(&["schemaVersion: 2\n"]);
    }
}

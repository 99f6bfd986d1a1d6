//! `explain` answers for whatever a simulation had, after it is gone.

use std::{collections::BTreeSet, path::PathBuf};

use journeyman::{
    explain::{self, ExplainArgs, ExplainedKind},
    get::{self, GetArgs, RecordsKind},
    records::RecordsArgs,
    simulate::SimulateArgs,
};
use report::{format::Format, screen::Screen};
use serde_json::Value;

use super::{arguments, play};

/// Decisions of one simulation that are asked for.
const ASKED_MAX: usize = 150;

pub(super) fn ledger(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("explained");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder.join(name)
}

pub(super) fn records(ledger: &std::path::Path) -> RecordsArgs {
    RecordsArgs { ledger: Some(ledger.to_owned()), ..RecordsArgs::default() }
}

/// The answer of `get` as a document.
pub(super) fn get(ledger: &std::path::Path, what: RecordsKind) -> Vec<Value> {
    let args = GetArgs {
        what,
        node_pool: None,
        records: records(ledger),
        limit: usize::MAX,
        output: Format::Json,
        watch: false,
    };
    let mut out = Vec::new();
    get::run(&args, Screen::default(), &mut out).unwrap_or_else(|error| panic!("{error}"));
    let answer: Value = serde_json::from_slice(&out).expect("a document");
    list(&answer, "items")
}

/// The answer of `explain`, or why there is none.
pub(super) fn explain(
    ledger: &std::path::Path,
    (kind, name): (ExplainedKind, &str),
    output: Format,
) -> Result<String, String> {
    let args = ExplainArgs {
        kind,
        name: Some(name.to_owned()),
        namespace: "default".to_owned(),
        records: records(ledger),
        limit: usize::MAX,
        output,
        html: None,
    };
    let mut out = Vec::new();
    explain::run(&args, Screen::default(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

pub(super) fn texts<'v>(values: &'v Value, name: &str) -> Vec<&'v str> {
    let list = values.as_array().into_iter().flatten();
    list.filter_map(|value| if name.is_empty() { value.as_str() } else { value[name].as_str() })
        .collect()
}

/// The list of this name in `document`.
fn list(document: &Value, name: &str) -> Vec<Value> {
    let listed = document.get(name).and_then(Value::as_array);
    listed.cloned().expect("a list")
}

/// Seeds to play: one, unless more are asked for.
fn seeds() -> u64 {
    tests::variable("JOURNEYMAN_SEEDS").unwrap_or(1)
}

/// The built-in story of `seed`: its timeline, and the ledger that it leaves to the test called `test`.
fn played(test: &str, seed: u64) -> (Vec<Value>, PathBuf) {
    let path = ledger(&format!("{test}-{seed}.json"));
    let ledger = Some(path.clone());
    let (text, _) = play(&SimulateArgs { seed, ledger, output: Format::Json, ..arguments() });
    let document: Value = serde_json::from_str(&text).expect("a document");
    (list(&document, "timeline"), path)
}

/// The words of the timeline's lines of `kind`, without its first `skipped` words.
fn named(timeline: &[Value], kind: &str, place: usize) -> BTreeSet<String> {
    let lines = timeline.iter().filter(|line| line["kind"] == kind);
    let word = |line: &Value| line["text"].as_str()?.split(' ').nth(place).map(str::to_owned);
    lines.filter_map(word).collect()
}

#[test]
fn whatever_a_story_had_is_explained_after_it_is_gone() {
    for seed in 1..=seeds() {
        let (timeline, ledger) = played("gone", seed);
        let claims = named(&timeline, "ClaimCreated", 1);
        assert!(claims.len() > 5, "{claims:?}");
        let alive = get(&ledger, RecordsKind::NodeClaims);
        assert!(alive.len() < claims.len(), "nothing is gone in seed {seed}");
        for claim in &claims {
            let asked = (ExplainedKind::NodeClaim, claim.as_str());
            let answer = explain(&ledger, asked, Format::Table)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(answer.contains("Launch"), "seed {seed}: {claim}: {answer}");
            let is_alive = alive.iter().any(|known| known["name"] == claim.as_str());
            let says_why = answer.contains(&format!("NodeClaim {claim} is gone: "));
            assert!(is_alive != says_why, "seed {seed}: {claim}: {answer}");
        }
        let nodes = named(&timeline, "NodeJoined", 1);
        assert!(nodes.len() > 5, "{nodes:?}");
        for node in &nodes {
            let answer = explain(&ledger, (ExplainedKind::Node, node), Format::Table)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            // A launch knows no node yet: the answer is about the node's claim, and about no other.
            let launches = answer.split("\n\n").filter(|told| told.contains("Z  Launch\n"));
            let told = launches.flat_map(str::lines).map(str::trim_start);
            let claims = told.filter_map(|line| line.strip_prefix("NodeClaim ")?.split(' ').next());
            let named: BTreeSet<&str> = claims.collect();
            assert_eq!(named.len(), 1, "seed {seed}: {node}: {answer}");
            assert!(answer.contains("Launch"), "seed {seed}: {node}: {answer}");
        }
        let answer = explain(&ledger, (ExplainedKind::Node, "missing"), Format::Table);
        assert!(answer.unwrap_err().starts_with("nothing is known of node missing in "));
    }
}

#[test]
fn every_decision_is_found_by_its_pods_nodes_and_claims() {
    for seed in 1..=seeds() {
        let (_, ledger) = played("every", seed);
        let decisions = get(&ledger, RecordsKind::Decisions);
        let kinds: BTreeSet<&str> =
            decisions.iter().filter_map(|decision| decision["kind"].as_str()).collect();
        for kind in ["Launch", "Interruption", "NonDisruption", "Disruption"] {
            assert!(kinds.contains(kind), "seed {seed}: {kinds:?}");
        }
        let step = decisions.len().div_ceil(ASKED_MAX);
        for decision in decisions.iter().step_by(step) {
            let about = &decision["about"];
            let mut pods = texts(&decision["pods"], "");
            for subject in about.as_array().into_iter().flatten() {
                pods.extend(texts(&subject["pods"], "").first());
            }
            let asked = pods
                .into_iter()
                .take(3)
                .map(|pod| (ExplainedKind::Pod, pod))
                .chain(texts(about, "node").into_iter().map(|node| (ExplainedKind::Node, node)))
                .chain(
                    texts(about, "nodeClaim")
                        .into_iter()
                        .take(3)
                        .map(|claim| (ExplainedKind::NodeClaim, claim)),
                );
            for (kind, name) in asked {
                let answer = explain(&ledger, (kind, name), Format::Json)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let answer: Value = serde_json::from_str(&answer).expect("a document");
                let ids = texts(&answer["decisions"], "id");
                let id = decision["id"].as_str().expect("an id");
                assert!(ids.contains(&id), "seed {seed}: {kind:?} {name}: {ids:?} without {id}");
            }
            let origin = &decision["origin"];
            assert!(origin["facts"].is_string() && origin["version"].is_string(), "{decision}");
        }
    }
}

#[test]
fn what_is_listed_is_what_the_ledger_has() {
    let (_, ledger) = played("listed", 1);
    let claims = get(&ledger, RecordsKind::NodeClaims);
    let costs = get(&ledger, RecordsKind::Costs);
    let total = costs.last().expect("a total");
    // It is of no NodePool, also where one is called so.
    assert!(total["nodePool"].is_null() && total["capacityType"].is_null(), "{total}");
    let priced = claims.iter().filter(|claim| claim["pricePerHour"].is_number()).count();
    assert_eq!(total["nodes"], priced);
    for what in [RecordsKind::Commands, RecordsKind::Decisions] {
        for item in get(&ledger, what) {
            assert!(item["id"].is_string(), "{item}");
        }
    }
}

#[test]
fn what_is_no_ledger_is_refused_with_its_line() {
    let path = ledger("broken.json");
    let cases = [
        ("", "line 1: is not a ledger that `simulate --ledger` writes, version 1"),
        ("{\"ledger\":9,\"at\":\"2026-11-21T12:00:00Z\"}", "line 1: is not a ledger"),
        ("{\"ledger\":1,\"at\":\"2026-11-21T12:00:00Z\"}\nnonsense", "line 2: expected"),
    ];
    for (text, rule) in cases {
        std::fs::write(&path, text).expect("a file for the test");
        let error = explain(&path, (ExplainedKind::Pod, "a"), Format::Table).unwrap_err();
        assert!(error.contains(rule), "{error}");
    }
    // A record that cannot be read keeps no other from being read.
    let header = "{\"ledger\":1,\"at\":\"2026-11-21T12:00:00Z\"}";
    let unreadable = "{\"item\":\"decision#x\",\"record\":{\"v\":9}}";
    let good = "{\"item\":\"decision#y\",\"record\":{\"v\":1,\"at\":\"2026-11-21T12:00:00Z\",\
        \"function\":\"provision\",\"claims\":[\"general-1-0\"],\"summary\":\"one node\"}}";
    std::fs::write(&path, format!("{header}\n{unreadable}\n{good}\n")).expect("a file");
    let answer = explain(&path, (ExplainedKind::NodeClaim, "general-1-0"), Format::Table).unwrap();
    assert!(answer.contains("one node"), "{answer}");
    assert!(answer.contains("1 record cannot be read, the first is decision#x: "), "{answer}");
}

//! `replay` makes the decisions of a simulation again, from the ledger that it left.

use std::{
    fs,
    path::{Path, PathBuf},
};

use journeyman::{
    explain::ExplainedKind,
    get::RecordsKind,
    replay::{self, ReplayArgs},
    simulate::SimulateArgs,
};
use report::{format::Format, screen::Screen};
use serde_json::Value;

use super::{
    arguments,
    explained::{explain, get, ledger, records, texts},
    manifests, play, short,
};

/// Decisions of one simulation that are made again.
const ASKED_MAX: usize = 12;

fn arguments_of(ledger: &Path, id: &str) -> ReplayArgs {
    let (records, output) = (records(ledger), Format::Table);
    ReplayArgs { id: id.to_owned(), records, with: Vec::new(), output, html: None }
}

/// What `replay` prints, and whether it is the same plan; or why there is no answer.
fn replay(args: &ReplayArgs) -> Result<(String, bool), String> {
    let mut out = Vec::new();
    let is_same = replay::run(args, Screen::default(), &mut out);
    let is_same = is_same.map_err(|error| error.to_string())?;
    let text = String::from_utf8(out).map_err(|error| error.to_string())?;
    Ok((text, is_same))
}

/// The ledger that the built-in story leaves to the test called `test`, with the facts of its decisions.
fn recorded(test: &str, story: SimulateArgs) -> PathBuf {
    let path = ledger(&format!("replayed-{test}.json"));
    let (ledger, record) = (Some(path.clone()), Some("facts".to_owned()));
    play(&SimulateArgs { ledger, record, output: Format::Json, ..story });
    path
}

fn id(decision: &Value) -> &str {
    decision["id"].as_str().expect("an id")
}

fn decides(decision: &Value) -> bool {
    ["provision", "disrupt", "interrupt"].contains(&decision["function"].as_str().expect("a name"))
}

#[test]
fn decisions_of_a_story_are_explained_and_made_again_from_its_ledger() {
    let ledger = recorded("whole", arguments());
    let decisions = get(&ledger, RecordsKind::Decisions);
    let decisions: Vec<&Value> = decisions.iter().filter(|decision| decides(decision)).collect();
    let step = decisions.len().div_ceil(ASKED_MAX);
    for decision in decisions.iter().step_by(step) {
        let (text, is_same) =
            replay(&arguments_of(&ledger, id(decision))).unwrap_or_else(|error| panic!("{error}"));
        assert!(is_same, "{text}");
        assert!(text.contains("the same plan") && !text.contains("Difference"), "{text}");
        let about = &decision["about"];
        let pods = about.as_array().into_iter().flatten();
        let pods = pods.filter_map(|subject| texts(&subject["pods"], "").first().copied());
        let nodes = texts(about, "node").into_iter().map(|node| (ExplainedKind::Node, node));
        let claims = texts(about, "nodeClaim").into_iter();
        let claims = claims.map(|claim| (ExplainedKind::NodeClaim, claim));
        let pods = pods.map(|pod| (ExplainedKind::Pod, pod));
        for asked in pods.take(1).chain(nodes.take(1)).chain(claims.take(1)) {
            let answer = explain(&ledger, asked, Format::Table);
            assert!(answer.is_ok(), "{asked:?}: {answer:?}");
        }
    }
}

#[test]
fn facts_that_are_gone_or_of_another_release_say_so() {
    let ledger = recorded("gone", short());
    let decisions = get(&ledger, RecordsKind::Decisions);
    let decided = decisions.iter().find(|decision| decides(decision)).expect("a decision");
    let ask = || replay(&arguments_of(&ledger, id(decided)));
    assert!(ask().is_ok());
    let whole = fs::read_to_string(&ledger).expect("the ledger");
    let keep = |is_kept: &dyn Fn(&str) -> bool| {
        let lines: Vec<&str> = whole.lines().filter(|line| is_kept(line)).collect();
        fs::write(&ledger, lines.join("\n")).expect("a file for the test");
    };
    keep(&|line| !line.contains("\"facts#"));
    let error = ask().unwrap_err();
    assert!(error.contains("are not there any more: facts "), "{error}");
    assert!(error.contains("were deleted, or could not be kept"), "{error}");
    // The decision itself is still there.
    assert_eq!(get(&ledger, RecordsKind::Decisions), decisions);
    // The first byte is the version: in base64, 1 begins with `A` and 9 with `C`.
    fs::write(&ledger, whole.replace("\"record\":\"A", "\"record\":\"C")).expect("a file");
    let error = ask().unwrap_err();
    assert!(error.contains("recorded by another release and cannot be read"), "{error}");
    keep(&|line| !line.contains("\"decision#"));
    assert!(ask().unwrap_err().contains("there is no decision "));
    fs::write(&ledger, whole.replace(",\"recorded\":", ",\"unknown\":")).expect("a file");
    assert!(ask().unwrap_err().contains("was made without keeping its facts"));
    // `launch` withdraws what it cannot launch: no decision chose that.
    let of_launch = ledger_line("launch", "Withdrawal");
    fs::write(&ledger, format!("{}\n{of_launch}\n", whole.trim_end()))
        .expect("a file for the test");
    let withdrawn = get(&ledger, RecordsKind::Decisions);
    let withdrawn = withdrawn.iter().find(|decision| !decides(decision)).expect("it is there");
    let error = replay(&arguments_of(&ledger, id(withdrawn))).unwrap_err();
    assert!(error.contains("is by launch, which chooses nothing"), "{error}");
    let same_beginning = replay(&arguments_of(&ledger, "")).unwrap_err();
    assert!(same_beginning.contains("give more of the id"), "{same_beginning}");
}

/// The line of a decision without an origin.
fn ledger_line(function: &str, kind: &str) -> String {
    format!(
        "{{\"item\":\"decision#x\",\"record\":{{\"v\":1,\"kind\":\"{kind}\",\
         \"at\":\"2026-11-21T12:00:00Z\",\"function\":\"{function}\",\"summary\":\"one claim withdrawn\"}}}}"
    )
}

const POLICY: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [r7g]}
---
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere, labels: {a: b}}
";

#[test]
fn another_policy_makes_another_plan_and_what_of_it_counts_is_said() {
    let ledger = recorded("policy", short());
    let decisions = get(&ledger, RecordsKind::Decisions);
    let launch = decisions.iter().rev().find(|decision| decision["kind"] == "Launch");
    let launch = launch.expect("a launch");
    let with = manifests("replayed", POLICY);
    let args = ReplayArgs { with, ..arguments_of(&ledger, id(launch)) };
    let (text, is_same) = replay(&args).unwrap_or_else(|error| panic!("{error}"));
    assert!(!is_same, "{text}");
    for said in
        ["Recorded", "Repeated", "Difference", "- launch ", "+ launch ", "r7g.", "on-demand"]
    {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
    assert!(text.contains("namespace elsewhere is as it was: --with takes NodePools"), "{text}");
    assert!(text.contains("what is launched costs $"), "{text}");
    let (text, _) = replay(&ReplayArgs { output: Format::Json, ..args }).expect("an answer");
    let answer: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(answer["isSame"], false);
    assert!(!answer["removed"].as_array().expect("lines").is_empty());
    assert!(answer["now"]["plan"].as_array().expect("lines").len() > 1);
    assert!(answer["now"]["launchedPricePerHour"].is_number());
}

#[test]
fn where_no_pool_has_a_say_another_policy_changes_nothing_and_that_is_said() {
    let ledger = recorded("unmoved", arguments());
    let decisions = get(&ledger, RecordsKind::Decisions);
    let interrupted = decisions.iter().find(|decision| decision["function"] == "interrupt");
    let interrupted = interrupted.expect("an interruption");
    let with = manifests("unmoved", POLICY);
    let args = ReplayArgs { with, ..arguments_of(&ledger, id(interrupted)) };
    let (text, is_same) = replay(&args).unwrap_or_else(|error| panic!("{error}"));
    assert!(is_same, "{text}");
    assert!(text.contains("no NodePool has a say in it, and --with changes nothing"), "{text}");
}

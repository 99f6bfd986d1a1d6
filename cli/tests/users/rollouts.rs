//! What is said about rollouts: of canaries, of nodes that wait for them, of halts and freezes.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{CLASS, POOL, deployment, folder, run};

/// The image of [`CLASS`] before and after the change.
const LATEST: &str = "al2023@latest";
const NEWER: &str = "al2023@v20260101";
/// One of five nodes is replaced first.
pub(crate) const CANARY: &str = "journeyman/rollout-canary: 20%, journeyman/rollout-bake-time: 10m";

/// A NodePool of nodes for one pod each.
fn pool() -> String {
    let pool = POOL.replacen("spec:\n", "spec:\n  disruption: {consolidateAfter: Never}\n", 1);
    format!(
        "{pool}      - {{key: node.kubernetes.io/instance-type, operator: In, values: [m7g.large]}}\n"
    )
}

/// Plays five nodes until `end`, whose EC2NodeClass has `annotations`: `changed` is applied after four minutes. Leaves a
/// ledger and a report.
pub(crate) fn played(name: &str, annotations: &str, changed: &str, end: &str) -> PathBuf {
    let class = |text: &str| {
        let annotated = format!("{{name: default, annotations: {{{annotations}}}}}");
        text.replacen("{name: default}", &annotated, 1)
    };
    let web = deployment("web", 5).replace("800m", "1500m");
    let scenario = format!("{{end: {end}, events: [{{at: 4m, apply: changed.yaml}}]}}");
    let files = [
        ("class.yaml", &*class(CLASS)),
        ("pool.yaml", &*pool()),
        ("web.yaml", &*web),
        ("changed.yaml", &*class(changed)),
        ("scenario.yaml", &*scenario),
    ];
    let folder = folder(name, &files);
    let played = "simulate class.yaml pool.yaml web.yaml --scenario scenario.yaml --ledger ledger.json --html report.html";
    assert_eq!(run(&folder, played).code, Some(0));
    folder
}

/// The same with another image after the change.
pub(crate) fn renewed(name: &str, annotations: &str, end: &str) -> PathBuf {
    played(name, annotations, &CLASS.replace(LATEST, NEWER), end)
}

/// A NodePool whose nodes are never initialized: nothing removes their taint.
pub(crate) fn broken() -> String {
    let taint =
        "    spec:\n      startupTaints: [{key: karpenter.sh/starting, effect: NoSchedule}]\n";
    pool().replacen("    spec:\n", taint, 1)
}

fn items(folder: &Path, what: &str) -> Vec<Value> {
    let got = run(folder, &format!("get {what} --ledger ledger.json -o json")).json();
    got.get("items").and_then(Value::as_array).expect("items").clone()
}

/// State and number of nodes of each row of `get rollouts`.
fn states(folder: &Path) -> Vec<(String, u64)> {
    let state = |row: &Value| {
        let state = row.get("state").and_then(Value::as_str).unwrap_or_default();
        (state.to_owned(), row.get("nodes").and_then(Value::as_u64).expect("a number"))
    };
    let mut states: Vec<_> = items(folder, "rollouts").iter().map(state).collect();
    states.sort();
    states
}

fn expected(states: &[(&str, u64)]) -> Vec<(String, u64)> {
    states.iter().map(|(state, nodes)| ((*state).to_owned(), *nodes)).collect()
}

/// The NodeClaims on the image that fewer nodes have: name and image.
fn canary(folder: &Path) -> (String, String) {
    let text = |claim: &Value, key: &str| {
        claim.get(key).and_then(Value::as_str).expect("a text").to_owned()
    };
    let claims = items(folder, "nodeclaims");
    let images: Vec<String> = claims.iter().map(|claim| text(claim, "image")).collect();
    let alone = |image: &String| images.iter().filter(|other| *other == image).count() == 1;
    let claim = claims.iter().find(|claim| alone(&text(claim, "image"))).expect("a canary");
    (text(claim, "name"), text(claim, "image"))
}

fn explained(folder: &Path, what: &str) -> crate::Answer {
    run(folder, &format!("explain {what} --limit 1 --ledger ledger.json"))
}

/// Adds a command to the ledger, which `progress` says more of.
fn add_command(folder: &Path, progress: &str) {
    let file = fs::OpenOptions::new().append(true).open(folder.join("ledger.json"));
    let line = format!(
        r#"{{"item":"command#halted-or-accepted","record":{{"v":2,"method":"drift","found_at":"2026-01-05T08:10:00Z","candidates":[],{progress}}}}}"#
    );
    writeln!(file.expect("a ledger"), "{line}").expect("a line more");
}

#[test]
fn a_canary_and_the_nodes_that_wait_for_it_are_named() {
    let folder = renewed("rollout-canary", CANARY, "12m");
    let (name, image) = canary(&folder);
    let waits = "the rollout of EC2NodeClass default waits for its canaries, which must be healthy until 2026-01-05T08:15:";
    explained(&folder, "nodepool general").says(&[
        &format!("1 canary node on a new AMI: {name}\n"),
        &format!("drifted nodes of NodePool general: {waits}"),
    ]);
    explained(&folder, &format!("nodeclaim {name}")).says(&[
        &format!(
            "NodeClaim {name} was launched as a canary of EC2NodeClass default on image {image}\n"
        ),
        &format!("drifted nodes of NodePool general: {waits}"),
    ]);
    let other = items(&folder, "nodeclaims").into_iter().find(|claim| claim["name"] != *name);
    let other = other.expect("another node")["name"].as_str().expect("a name").to_owned();
    let says = explained(&folder, &format!("nodeclaim {other}"));
    says.says(&[&format!("NodeClaim {other} is not disrupted: {waits}")]);
    says.is_silent_about(&["canary of"]);
    assert_eq!(states(&folder), expected(&[("Updated", 1), ("Waiting", 4)]));
    // What the ledger notes once canaries passed.
    add_command(&folder, &format!(r#""accepted":{{"node_class":"default","images":["{image}"]}}"#));
    let accepted = format!("on image {image}; the image is accepted\n");
    explained(&folder, &format!("nodeclaim {name}")).says(&[&accepted]);
    assert_eq!(states(&folder), expected(&[("Accepted", 1), ("Waiting", 4)]));
}

#[test]
fn what_waited_is_not_said_to_wait_once_others_follow() {
    let folder = renewed("rollout-followed", CANARY, "18m");
    let says = explained(&folder, "nodepool general");
    says.says(&["NodePool general\n"]);
    says.is_silent_about(&["waits for its canaries"]);
    let states = states(&folder);
    assert!(
        matches!(&*states, [(drifted, 1..), (updated, 2..)] if drifted == "Drifted" && updated == "Updated"),
        "{states:?}"
    );
}

#[test]
fn a_canary_of_a_former_rollout_is_none_of_the_next() {
    // Of the two canaries of the first rollout, the second one replaces one first.
    let folder = renewed("rollout-again", &CANARY.replace("20%", "40%"), "1m");
    let class = fs::read_to_string(folder.join("changed.yaml")).expect("a class");
    let again = class.replace(NEWER, "al2023@v20260201").replace("40%", "20%");
    fs::write(folder.join("again.yaml"), again).expect("a file");
    let events = "[{at: 4m, apply: changed.yaml}, {at: 30m, apply: again.yaml}]";
    let scenario = format!("{{end: 36m, events: {events}}}");
    fs::write(folder.join("scenario.yaml"), scenario).expect("a file");
    let played =
        "simulate class.yaml pool.yaml web.yaml --scenario scenario.yaml --ledger ledger.json";
    assert_eq!(run(&folder, played).code, Some(0));
    assert_eq!(states(&folder), expected(&[("Updated", 1), ("Waiting", 4)]));
    explained(&folder, "nodepool general").says(&["1 canary node on a new AMI: general-"]);
    let claims = items(&folder, "nodeclaims");
    let says = |claim: &Value| {
        let name = claim["name"].as_str().expect("a name");
        explained(&folder, &format!("nodeclaim {name}")).out
    };
    let of_canaries: Vec<String> =
        claims.iter().map(says).filter(|text| text.contains("was launched as a canary")).collect();
    assert!(2 <= of_canaries.len(), "{of_canaries:?}");
    let waits = |text: &&String| text.contains("drifted nodes of NodePool general: ");
    assert_eq!(of_canaries.iter().filter(waits).count(), 1, "{of_canaries:?}");
}

#[test]
fn a_canary_of_a_halted_rollout_says_that_it_is_replaced() {
    let folder = renewed("rollout-halted", CANARY, "12m");
    let (name, image) = canary(&folder);
    let halted = format!(
        r#""halted":{{"node_class":"default","node_pool":"general","image":"{image}","settings":"1","why":"it burns"}}"#
    );
    add_command(&folder, &halted);
    explained(&folder, &format!("nodeclaim {name}")).says(&[&format!(
        "NodeClaim {name} is a canary of a halted rollout, and is replaced by a node on the accepted AMI. Halted at \
         2026-01-05T08:10:00Z: it burns\n"
    )]);
    let halted = format!(
        "the rollout to NodePool general, EC2NodeClass default, image {image} is halted since 2026-01-05T08:10:00Z: it burns\n"
    );
    explained(&folder, "nodepool general").says(&[&halted]);
    assert_eq!(states(&folder), expected(&[("Halted", 1), ("Waiting", 4)]));
}

#[test]
fn only_nodes_with_a_halted_change_of_a_nodepool_are_shown_as_halted() {
    let folder = played("rollout-pool", CANARY, &broken(), "16m");
    assert_eq!(states(&folder), expected(&[("Halted", 1), ("Waiting", 5)]));
    let says = explained(&folder, "nodepool general");
    says.says(&[
        "is halted since 2026-01-05T08:13:",
        "was not initialized in time\n",
        "1 node has the change: ",
    ]);
    says.is_silent_about(&["drifted nodes of NodePool"]);
}

#[test]
fn a_freeze_is_named_with_its_end() {
    let folder = renewed("rollout-frozen", "journeyman/rollout-freeze: '0 8 * * * 1h'", "8m");
    let says = explained(&folder, "nodepool general");
    says.says(&["drifted nodes of NodePool general: no drifted node of EC2NodeClass default is replaced until \
                 2026-01-05T09:00:00Z: frozen by `0 8 * * * 1h` (decided at "]);
    says.is_silent_about(&["canary"]);
    assert_eq!(states(&folder), expected(&[("Waiting", 5)]));
}

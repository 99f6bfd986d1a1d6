//! Cases after public reports about Karpenter, Cluster Autoscaler and Kubernetes, in `tests/golden/cases`.

use std::path::PathBuf;

use clap::Parser as _;
use journeyman::{
    args::{Args, JourneymanCommand},
    plan,
};
use report::{command::RunCommand as _, error::CommandError, screen::Screen};
use serde_json::Value;
use tests::repository;

use super::explained::texts;

mod launches;

use launches::LAUNCHES;

/// A case, its command without files, what the answer must contain, and what it must not contain.
type Row = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const NOW: &str = " --now 2026-11-26T12:00:00Z";

fn folder(case: &str) -> PathBuf {
    repository().join("tests/golden/cases").join(case)
}

/// What the command prints, after [`decisions`]. `FACTS` in `command` is the case's file of cluster facts.
fn answer(case: &str, command: &str) -> String {
    let folder = folder(case);
    let words = command.split_whitespace().map(|word| match word {
        "FACTS" => folder.join("facts.json").display().to_string(),
        word => word.to_owned(),
    });
    let line = ["journeyman".to_owned()].into_iter().chain(words);
    let line = line.chain([folder.join("manifests.yaml").display().to_string()]);
    let args = Args::try_parse_from(line).unwrap_or_else(|error| panic!("{case}: {error}"));
    let (mut out, mut complaints) = (Vec::new(), Vec::new());
    let screen = Screen::default();
    let result: Result<(), CommandError> = match &args.command {
        JourneymanCommand::Plan(args) => {
            plan::run(args, screen, &mut out, (screen, &mut complaints)).map(|_| ())
        }
        _ => args.run(screen, &mut out).map(|_| ()),
    };
    let out = String::from_utf8(out).expect("text");
    let refused = result.err().map(|error| format!("refused: {error}\n")).unwrap_or_default();
    let document = serde_json::from_str(&out).unwrap_or(Value::Null);
    let complaints = String::from_utf8(complaints).expect("text");
    format!("{}{refused}{complaints}{out}", decisions(&document))
}

/// `new: PODS.`, `buys: TYPE ZONE CAPACITY-TYPE.`, `NODE: PODS.`, `pending: PODS.`, `disrupts: NODES.`.
fn decisions(document: &Value) -> String {
    let mut lines = Vec::new();
    let part = |value: &Value, name: &str| value.get(name).cloned().unwrap_or_default();
    let list = |name: &str| part(document, name).as_array().cloned().unwrap_or_default();
    let names = |value: &Value, list: &str, name: &str| texts(&part(value, list), name).join(" ");
    for claim in list("newNodeClaims") {
        lines.push(format!("new: {}.", names(&claim, "pods", "")));
        let offering = part(&claim, "cheapest");
        let word = |name: &str| part(&offering, name).as_str().unwrap_or("none").to_owned();
        let (name, zone) = (word("instanceType"), word("zone"));
        lines.push(format!("buys: {name} {zone} {}.", word("capacityType")));
    }
    for node in list("existingNodes") {
        let name = part(&node, "node");
        let name = name.as_str().unwrap_or_default();
        lines.push(format!("{name}: {}.", names(&node, "pods", "")));
    }
    if document.get("newNodeClaims").is_some() {
        lines.push(format!("claims: {}.", list("newNodeClaims").len()));
        lines.push(format!("pending: {}.", names(document, "unschedulable", "pod")));
    }
    if let Some(methods) = document.get("methods") {
        let first = part(document, "first");
        let first = first.as_str().unwrap_or("none");
        let nodes = names(&part(methods, first), "candidates", "");
        lines.push(format!("disrupts: {first} {nodes}."));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Every difference between the rows and the answers.
fn differences(rows: &[Row]) -> Vec<String> {
    let mut differences = Vec::new();
    for (case, command, has, lacks) in rows {
        let mut line = (*command).to_owned();
        if command.starts_with("plan") {
            line += " --output json";
            line += if command.contains("--now") { "" } else { NOW };
        }
        let answer = answer(case, &line);
        let missing = has.iter().filter(|needle| !answer.contains(**needle));
        let present = lacks.iter().filter(|needle| answer.contains(**needle));
        let missing = missing.map(|needle| format!("lacks `{needle}`"));
        let wrong: Vec<_> =
            missing.chain(present.map(|needle| format!("has `{needle}`"))).collect();
        if !wrong.is_empty() {
            let head: String = answer.chars().take(600).collect();
            differences.push(format!("{case}, {command}: {}\n{head}", wrong.join(", ")));
        }
    }
    differences
}

const PLANS: &[Row] = &[
    (
        "affinity-follows-volume",
        "plan",
        &["claims: 1.", " us-west-2b on-demand.", "pending: ."],
        &["buys: c6a.2xlarge us-west-2a"],
    ),
    (
        "affinity-to-daemon-pod",
        "plan",
        &["claims: 0.", "pending: default/client", "DaemonSet kube-system/agent"],
        &[],
    ),
    (
        "csi-volume-limit",
        "plan",
        &["claims: 1.", "new: default/db-3.", "n1: default/plain.", "pending: ."],
        &[],
    ),
    ("deleting-node-pods-counted", "plan", &["claims: 1.", "new: default/w-1.", "pending: ."], &[]),
    ("dra-daemonset", "plan", &["claims: 1.", "new: default/web", "pending: ."], &[]),
    ("ds-needs-registered-label", "plan", &["claims: 1.", "buys: m5.xlarge ", "pending: ."], &[]),
    ("ds-split-by-size", "plan", &["claims: 1.", "buys: m5.large ", "pending: ."], &[]),
    (
        "empty-pool-contradiction",
        "plan",
        &[
            "claims: 0.",
            "pending: default/w",
            "no instance type has karpenter.k8s.aws/instance-generation In [99]",
        ],
        &[],
    ),
    (
        "impossible-zone-counts",
        "plan",
        &["claims: 2.", " us-west-2a ", " us-west-2b ", "pending: ."],
        &[],
    ),
    ("gated-template", "plan", &["claims: 0.", "pending: .", "2 pods left out"], &[]),
    ("limits-without-requests", "plan", &["claims: 1.", "buys: m5.2xlarge ", "pending: ."], &[]),
    ("local-volume-of-gone-node", "plan", &["claims: 1.", "new: default/db", "pending: ."], &[]),
    ("match-label-keys-rollout", "plan", &["claims: 0.", "n1: default/w", "pending: ."], &[]),
    (
        "mindomains-three-of-two",
        "plan",
        &["claims: 2.", "pending: default/inflate", "us-west-2a 1, us-west-2b 1): minDomains is 3"],
        &[],
    ),
    (
        "namespace-selector",
        "plan",
        &["claims: 1.", "new: two/b-1.", "n1: two/plain.", "pending: ."],
        &[],
    ),
    (
        "old-zone-label-antiaffinity",
        "plan",
        &["claims: 1.", "pending: default/zone-1 default/zone-2.", "topology.kubernetes.io/zone"],
        &[],
    ),
    ("overlay-cheap-on-demand", "plan", &["claims: 1.", " spot."], &[]),
    (
        "overlay-cheap-on-demand",
        "plan --feature-gates NodeOverlay=true",
        &["claims: 1.", " on-demand.", "\"pricePerHour\": 0.017"],
        &[" spot."],
    ),
    (
        "overlay-adds-a-device",
        "plan --feature-gates NodeOverlay=true",
        &["claims: 1.", "buys: m5.xlarge ", "pending: ."],
        &[],
    ),
    (
        "pod-level-resources",
        "plan",
        &[
            "claims: 2.",
            "new: default/lim-0.\nbuys: m5.2xlarge ",
            "new: default/pl-0.\nbuys: m5.xlarge ",
            "pending: .",
        ],
        &[],
    ),
    (
        "pool-schedule-time-zone-stops-launches",
        "plan",
        &["claims: 1.", "pending: .", "spec.disruption.budgets[1].schedule"],
        &[],
    ),
    ("preferred-old-label", "plan", &["claims: 1.", "new: default/soft", "pending: ."], &[]),
    ("preferred-without-nodepool", "plan", &["claims: 1.", "new: default/soft", "pending: ."], &[]),
    (
        "preferred-without-nodepool",
        "plan --preference-policy Ignore",
        &["claims: 1.", "new: default/soft", "pending: ."],
        &[],
    ),
    (
        "root-volume-not-marked",
        "plan",
        &["claims: 0.", "pending: default/big", "EC2NodeClass default with `rootVolume: true`"],
        &[],
    ),
    (
        "sidecar-then-init",
        "plan",
        &[
            "claims: 2.",
            "new: default/ordered-0.\nbuys: m5.2xlarge ",
            "new: default/reversed-0.\nbuys: m5.xlarge ",
            "pending: .",
        ],
        &[],
    ),
    ("volume-with-old-zone-label", "plan", &["claims: 1.", " us-west-2b ", "pending: ."], &[]),
    (
        "volume-zone-against-spread",
        "plan",
        &[
            "claims: 0.",
            "pending: default/k",
            "topology.kubernetes.io/zone",
            "it could use us-west-2c, where its volumes cannot be",
        ],
        &[],
    ),
    (
        "windows",
        "plan",
        &["claims: 1.", "default/iis-11", "pending: ."],
        &["buys: m5a.large", "buys: m5.large"],
    ),
    ("wrong-pods-after-upgrade", "plan", &["claims: 2.", "buys: m5.large ", "pending: ."], &[]),
];

const DISRUPTIONS: &[Row] = &[
    (
        "budget-window-misread",
        "plan --disruption",
        &["disrupts: drift n0.", "\"n3\": \"RequirementsDrifted\"", "\"Drifted\": null"],
        &["drift\": \"not drifted"],
    ),
    (
        "hash-drift-volumes",
        "plan --disruption",
        &["disrupts: drift n1.", "\"n1\": \"NodeClassDrift\""],
        &["drift\": \"not drifted"],
    ),
    (
        "what-if-requirements",
        "plan --disruption",
        &["disrupts: drift n1.", "\"n1\": \"RequirementsDrifted\""],
        &["drift\": \"not drifted"],
    ),
    (
        "budget-reasons-weekday",
        "plan --disruption --now 2026-11-26T11:00:00Z",
        &["disrupts: none ."],
        &[],
    ),
    (
        "budget-reasons-weekday",
        "plan --disruption --now 2026-11-26T09:00:00Z",
        &["disrupts: emptiness n0 n1."],
        &[],
    ),
    (
        "budget-reasons-weekday",
        "plan --disruption --now 2026-11-28T11:00:00Z",
        &["disrupts: emptiness n0 n1."],
        &[],
    ),
    (
        "budget-sat-sun",
        "plan --disruption",
        &["disrupts: none .", "spec.disruption.budgets[1].schedule", "sat,sun"],
        &[],
    ),
    (
        "budget-sat-sun",
        "validate",
        &["spec.disruption.budgets[1].schedule", "sat,sun"],
        &["nothing is wrong"],
    ),
    ("completed-job-is-nothing", "plan --disruption", &["disrupts: emptiness n1."], &[]),
    (
        "do-not-disrupt-values",
        "plan --disruption",
        &[
            "disrupts: drift n1.",
            "\"eligible\"",
            "Pod default/w-2: annotation karpenter.sh/do-not-disrupt is `True`",
            "Pod default/w-3: annotation karpenter.sh/do-not-disrupt is `yes`",
        ],
        &["Pod default/w-1"],
    ),
    (
        "do-not-disrupt-values",
        "validate",
        &["Pod default/w-2: annotation", "is `True`", "Pod default/w-3: annotation", "is `yes`"],
        &["Pod default/w-1"],
    ),
    (
        "not-ready-node-closes-budget",
        "plan --disruption",
        &["disrupts: none .", "\"Underutilized\": 0", "\"Empty\": 0", "n1 is not ready"],
        &[],
    ),
    (
        "spot-to-spot-few",
        "plan --disruption --feature-gates SpotToSpotConsolidation=true",
        &["disrupts: none .", "at least 15 cheaper instance types, and there are 6"],
        &[],
    ),
    (
        "two-budgets-one-pod",
        "plan --disruption",
        &["disrupts: none .", "PodDisruptionBudgets, default/one and default/two"],
        &[],
    ),
    ("unhealthy-pod-budget", "plan --disruption", &["disrupts: drift n1."], &[]),
];

#[test]
fn pods_of_reported_cases_are_placed_as_kube_scheduler_would() {
    let differences = differences(PLANS);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn nodes_of_reported_cases_are_disrupted_as_their_budgets_allow() {
    let differences = differences(DISRUPTIONS);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn user_data_and_stories_of_reported_cases_are_right() {
    let differences = differences(LAUNCHES);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_reported_case_has_a_row() {
    let rows = [PLANS, DISRUPTIONS, LAUNCHES].concat();
    let rows: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.0).collect();
    let entries = std::fs::read_dir(folder("")).expect("the cases can be listed");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("a folder").file_name().to_string_lossy().into_owned()
    };
    let folders: std::collections::BTreeSet<String> = entries.map(name).collect();
    assert!(folders.iter().map(String::as_str).eq(rows));
}

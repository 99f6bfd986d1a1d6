//! Parameters of the stack ↔ environment of the functions ↔ `docs/settings.md`.

use std::collections::BTreeSet;

use expect_test::expect_file;
use handlers::{Allowed, SETTINGS, Setting};
use model::policies::Policies;
use serde_json::{Value, json};
use tests::{
    pages,
    stack::{parameters, template},
};

use crate::functions::read;

#[test]
fn every_variable_of_the_stack_is_read() {
    let template = template();
    let reader = read("shared/bootstrap/src/environment.rs");
    let doctor = read("shared/installer/src/doctor/steps/account.rs");
    let settings: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.variable).collect();
    let variables = &template["Globals"]["Function"]["Environment"]["Variables"];
    let variables = variables.as_object().expect("variables");
    for name in variables.keys().map(String::as_str) {
        let is_read = reader.contains(&format!("&str = \"{name}\";")) || settings.contains(name);
        assert!(is_read, "no function reads {name}");
        // What it does not know it takes for a sign of a newer release.
        let is_known = doctor.contains(&format!("    \"{name}\",\n")) || settings.contains(name);
        assert!(is_known, "`journeyman doctor` does not know {name}");
    }
    for setting in &SETTINGS {
        assert!(!reader.contains(&format!("&str = \"{}\";", setting.variable)), "read twice");
    }
}

#[test]
fn interruptions_are_heard_of_unless_the_stack_says_otherwise() {
    let template = template();
    let parameters = &template["Parameters"];
    assert_eq!(parameters["HandleInterruptions"]["Default"], "true");
    assert_eq!(parameters["RebalanceRecommendations"]["Default"], "ignore");
    let resources = template["Resources"].as_object().expect("resources");
    for (name, rule) in resources.iter().filter(|(_, r)| r["Type"] == "AWS::Events::Rule") {
        // One that nothing is done about costs nothing, and none is heard of while interruptions are not.
        let is_recommendation = name == "RebalanceRecommendationRule";
        let condition =
            if is_recommendation { "HandlesRecommendations" } else { "HandlesInterruptions" };
        let state = &rule["Properties"]["State"];
        assert_eq!(state, &json!({"Fn::If": [condition, "ENABLED", "DISABLED"]}), "{name}");
    }
    let is_handled = json!({"Fn::Equals": [{"Ref": "HandleInterruptions"}, "true"]});
    assert_eq!(template["Conditions"]["HandlesInterruptions"], is_handled);
    let is_replaced = json!({"Fn::Equals": [{"Ref": "RebalanceRecommendations"}, "replace-first"]});
    assert_eq!(
        template["Conditions"]["HandlesRecommendations"],
        json!({"Fn::And": [{"Condition": "HandlesInterruptions"}, is_replaced]})
    );
}

/// The tables of the page, made from what is deployed.
fn tables(page: &str) -> [(&'static str, String); 4] {
    let parameters = parameters();
    let quoted =
        |text: &str| if text.is_empty() { "empty".to_owned() } else { format!("`{text}`") };
    let setting = |setting: &Setting| {
        let allowed = match setting.allowed {
            Allowed::Gates => "[gates](#feature-gates), such as `NodeRepair=true`".to_owned(),
            Allowed::Whole(least, most) => format!("{least} to {most}"),
            Allowed::Duration(least, most) => format!("{least}s to {most}s, such as `1.5s`"),
            Allowed::Share => "0 to 1".to_owned(),
            other => other.to_string(),
        };
        let (default, meaning) = (quoted(setting.default), setting.meaning);
        format!("| `{}` | {default} | {allowed} | {meaning} |\n", setting.parameter)
    };
    let (of_karpenter, own): (Vec<&Setting>, Vec<&Setting>) =
        SETTINGS.iter().partition(|setting| setting.karpenter.is_some());
    let settings = |settings: Vec<&Setting>| settings.into_iter().map(setting).collect();
    let is_setting = |name: &str| SETTINGS.iter().any(|setting| setting.parameter == name);
    let others = parameters.iter().filter(|(name, _)| !is_setting(name));
    let others = others.map(|(name, parameter)| {
        let default = match &parameter["Default"] {
            Value::Null => "none".to_owned(),
            Value::String(text) => quoted(text),
            other => quoted(&other.to_string()),
        };
        let description = parameter["Description"].as_str().expect("a description");
        format!("| `{name}` | {default} | {description} |\n")
    });
    let others: String = others.collect();
    // What a gate does is written by hand, in the last column of its row.
    let effects = pages::last_cells(page, "gates");
    let gate = |(name, is_open): (&str, bool)| {
        let default = if is_open { "on" } else { "off" };
        let effect = effects.get(name).unwrap_or_else(|| panic!("docs/settings.md: {name}"));
        format!("| `{name}` | {default} | {effect} |\n")
    };
    let gates: String = Policies::default().gates().into_iter().map(gate).collect();
    [
        ("settings", settings(of_karpenter)),
        ("own settings", settings(own)),
        ("gates", gates),
        ("parameters", others),
    ]
}

fn with_tables(page: &str) -> String {
    let mut text = page.to_owned();
    for (name, table) in tables(page) {
        let (head, rule) = match name {
            "settings" | "own settings" => ("| parameter | default | must be | what it does |", 4),
            "gates" => ("| gate | by default | what it does |", 3),
            _ => ("| parameter | default | what it does |", 3),
        };
        let rule = format!("|{}", "---|".repeat(rule));
        text = pages::with_table(&text, name, &format!("{head}\n{rule}\n{table}"));
    }
    text
}

#[test]
fn the_page_says_what_can_be_set() {
    let page = read("docs/settings.md");
    expect_file!["../../../docs/settings.md"].assert_eq(&with_tables(&page));
}

/// Settings of Karpenter's core 1.15.0 and AWS provider 1.15.1, by the name of the variable.
///
/// Karpenter: `pkg/operator/options/options.go` of both.
const KARPENTER: [&str; 39] = [
    "AMI_REFRESH_INTERVAL",
    "AWS_FEATURE_GATES",
    "BATCH_IDLE_DURATION",
    "BATCH_MAX_DURATION",
    "CLUSTER_CA_BUNDLE",
    "CLUSTER_ENDPOINT",
    "CLUSTER_NAME",
    "CPU_REQUESTS",
    "DISABLE_CLUSTER_STATE_OBSERVABILITY",
    "DISABLE_CONTROLLER_WARMUP",
    "DISABLE_DRY_RUN",
    "DISABLE_LEADER_ELECTION",
    "DISABLE_WEBHOOK",
    "EKS_CONTROL_PLANE",
    "ENABLE_PROFILING",
    "ENABLE_ZONAL_SHIFT",
    "FEATURE_GATES",
    "HEALTH_PROBE_PORT",
    "IGNORE_DRA_REQUESTS",
    "INTERRUPTION_QUEUE",
    "ISOLATED_VPC",
    "KARPENTER_SERVICE",
    "KUBE_CLIENT_BURST",
    "KUBE_CLIENT_QPS",
    "LEADER_ELECTION_NAME",
    "LEADER_ELECTION_NAMESPACE",
    "LEGACY_NODE_REPAIR",
    "LOG_ERROR_OUTPUT_PATHS",
    "LOG_LEVEL",
    "LOG_OUTPUT_PATHS",
    "MEMORY_LIMIT",
    "METRICS_PORT",
    "MIN_VALUES_POLICY",
    "PREFERENCE_POLICY",
    "RESERVED_ENIS",
    "SCHEDULER_CONFIG",
    "SECURITY_GROUP_REFRESH_INTERVAL",
    "SUBNET_REFRESH_INTERVAL",
    "VM_MEMORY_OVERHEAD_PERCENT",
];

/// Feature gates of both.
const GATES: [&str; 13] = [
    "CapacityBuffer",
    "DRAEFA",
    "DRANVIDIAGPU",
    "NodeClassCEL",
    "NodeOverlay",
    "NodeRepair",
    "PodDeletionCostManagement",
    "RebootForRepair",
    "ReservedCapacity",
    "SpotToSpotConsolidation",
    "StaticCapacity",
    "TerminateFirstDrift",
    "TerminateFirstRepair",
];

/// What the cells number `cell` of the rows between `start` and `end` of `page` name.
fn named<'p>(page: &'p str, (start, end): (&str, &str), cell: usize) -> Vec<&'p str> {
    let (_, part) = page.split_once(start).expect("the part of the page");
    let (part, _) = part.split_once(end).unwrap_or((part, ""));
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.trim_matches('|').split(" | ").nth(cell));
    cells.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_setting_and_gate_of_karpenter_is_there_or_answered() {
    let page = read("docs/settings.md");
    let parameters = named(&page, ("<!-- settings -->", "<!-- end -->"), 0);
    let settings = SETTINGS.iter().filter(|setting| parameters.contains(&setting.parameter));
    let variables: Vec<&str> = settings.filter_map(|setting| setting.karpenter).collect();
    for (parameter, variable) in parameters.iter().zip(&variables) {
        assert_eq!(parameter.to_uppercase(), variable.replace('_', ""), "as the page says");
    }
    let answered = named(&page, ("## Karpenter's other settings", "\n## "), 0);
    let mut said: Vec<&str> = variables.into_iter().chain(answered).collect();
    said.sort_unstable();
    assert_eq!(said, KARPENTER, "each once, and none besides");
    let gates = named(&page, ("<!-- gates -->", "<!-- end -->"), 0);
    let row = page.lines().find(|line| line.starts_with("| `AWS_FEATURE_GATES`")).expect("a row");
    let closed = row.split('`').skip(1).step_by(2).filter(|word| GATES.contains(word));
    let said: BTreeSet<&str> = gates.into_iter().chain(closed).collect();
    assert_eq!(said, BTreeSet::from(GATES));
}

//! The table of requests that wake functions in `docs/architecture.md` is made of the rules.

use std::fmt::Write as _;

use expect_test::expect_file;
use model::wake::{WAKE_RULES, WakeCondition, WakeRule};
use tests::pages;

use crate::functions::read;

fn condition(rule: &WakeRule) -> &'static str {
    match rule.condition {
        WakeCondition::Always => "any",
        WakeCondition::UnschedulablePod { .. } => "`FailedScheduling` of a pod, not by Karpenter",
        WakeCondition::SpecChanged => "new, or another `spec`",
        WakeCondition::NodeOfKarpenter => "with the label of a NodePool or EC2NodeClass",
    }
}

fn table() -> String {
    let mut text = "| request | of | functions |\n|---|---|---|\n".to_owned();
    for rule in &WAKE_RULES {
        let operations: Vec<&str> =
            rule.operations.iter().map(|operation| operation.as_str()).collect();
        let group = if rule.group.is_empty() { "core" } else { rule.group };
        let functions: Vec<String> =
            rule.functions.iter().map(|function| format!("`{function}`")).collect();
        writeln!(
            text,
            "| {} {} ({group}) | {} | {} |",
            operations.join(", "),
            rule.kind,
            condition(rule),
            functions.join(", ")
        )
        .expect("a text grows");
    }
    text
}

#[test]
fn the_page_says_which_requests_wake_functions() {
    let page = read("docs/architecture.md");
    expect_file!["../../../docs/architecture.md"].assert_eq(&pages::with_table(
        &page,
        "wake",
        &table(),
    ));
}

//! What a function calls ↔ what its role allows.
//!
//! `journeyman template` grants of a statement's actions those which `ports::rights::iam` says that the function's
//! calls need. That a statement is there for each of them is held here, and what it is limited to in
//! `tests/fast/sim/rights.rs`.

use std::collections::BTreeSet;

use expect_test::expect_file;
use handlers::calls;
use model::Function;
use ports::{PORTS, rights::iam};
use serde_json::Value;
use tests::stack::{capitalized, template};

/// The statements of the policy `ports` of a function's role.
pub(crate) fn statements(template: &Value, function: Function) -> Vec<&Value> {
    let role = &template["Resources"][format!("{}Role", capitalized(function.as_str()))];
    let policies = role["Properties"]["Policies"].as_array().expect("policies");
    let ports = policies.iter().find(|policy| policy["PolicyName"] == "ports");
    let statements = &ports.expect("a policy called ports")["PolicyDocument"]["Statement"];
    statements.as_array().expect("statements").iter().collect()
}

/// The actions of a statement.
pub(crate) fn actions(statement: &Value) -> Vec<&str> {
    let actions = &statement["Action"];
    let actions = actions.as_array().map_or_else(|| std::slice::from_ref(actions), Vec::as_slice);
    actions.iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_template_is_made_of_the_tables() {
    let text = journeyman::template::text();
    for sign in ["#: ", "@{"] {
        assert!(!text.contains(sign), "the template still says {sign}");
    }
    expect_file!["../../../template.yaml"].assert_eq(&text);
}

#[test]
fn a_role_allows_all_that_its_function_calls() {
    let template = template();
    for function in Function::ALL {
        let statements = statements(&template, function);
        let is_index = |statement: &Value| statement["Sid"] == "LedgerIndex";
        let granted: BTreeSet<&str> =
            statements
                .into_iter()
                .flat_map(|statement| {
                    if is_index(statement) { vec![iam::QUERY_INDEX] } else { actions(statement) }
                })
                .collect();
        let needed = calls(function).iter().flat_map(|call| iam::actions(call)).copied();
        let missing: Vec<_> = needed.filter(|action| !granted.contains(action)).collect();
        assert!(missing.is_empty(), "{function} calls what needs {missing:?}");
    }
}

#[test]
fn every_call_of_a_port_says_what_it_needs() {
    let rows = iam::ACTIONS.iter().map(|(call, _)| *call);
    let calls: BTreeSet<&str> =
        PORTS.concat().iter().flat_map(|port| port.calls).copied().collect();
    assert_eq!(rows.collect::<BTreeSet<_>>(), calls);
    assert!(iam::ACTIONS.is_sorted());
    assert!(iam::ACTIONS.iter().all(|(_, actions)| !actions.is_empty() && actions.is_sorted()));
}

//! What a function calls ↔ what its role allows, in both directions.
//!
//! `handlers::calls` says what a function calls: the compiler refuses any other call, and a story makes
//! each one. `shared/aws/src/rights.rs` says what a call needs: tests there compare it with what is sent.
//! Here both meet the policies called `ports` in `template.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use handlers::{calls, receivers};
use model::Function;
use ports::PORTS;

use crate::functions::{arns, capitalized, read, resource};

#[path = "../../../shared/aws/src/rights.rs"]
mod table;

/// A statement of a policy.
#[derive(Debug, Default)]
struct Statement {
    sid: String,
    actions: BTreeSet<String>,
    /// Queues that it names.
    queues: BTreeSet<String>,
}

/// The statements of a role's policy `ports`.
fn statements(role: &str) -> Vec<Statement> {
    let (_, ports) = role.split_once("PolicyName: ports\n").expect("a policy called ports");
    let (_, ports) = ports.split_once("Statement:\n").expect("statements");
    let statements = ports.split("- Sid: ").skip(1);
    statements
        .map(|text| statement(text).unwrap_or_else(|line| panic!("what is `{line}`?")))
        .collect()
}

/// Reads a statement; a line of an unknown form is an error, so that no right stands unseen.
fn statement(text: &str) -> Result<Statement, &str> {
    let mut lines = text.lines();
    let sid = lines.next().unwrap_or_default().to_owned();
    let mut statement = Statement { sid, ..Statement::default() };
    let (mut key, mut is_index) = ("", false);
    let lines = lines.filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    for line in lines {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        let mut value = line;
        if indent == 16 {
            (key, value) = line.split_once(':').ok_or(line)?;
            value = value.trim();
        }
        match key {
            "Effect" if value == "Allow" => {}
            "Action" => {
                let action = value.strip_prefix("- ").unwrap_or(value);
                statement.actions.extend((!action.is_empty()).then(|| action.to_owned()));
            }
            "Resource" => {
                is_index |= value.contains("/index/claims_of_instances");
                statement.queues.extend(arns(value).into_iter().map(ToOwned::to_owned));
            }
            "Condition" => {}
            _ => return Err(line),
        }
    }
    if is_index {
        statement.actions =
            statement.actions.iter().map(|a| format!("{a} index/claims_of_instances")).collect();
    }
    Ok(statement)
}

/// What a call needs.
fn actions(call: &str) -> BTreeSet<String> {
    let row = table::ACTIONS.iter().find(|(known, _)| *known == call);
    let (_, actions) = row.unwrap_or_else(|| panic!("{call} has no row in rights.rs"));
    actions.iter().map(|action| (*action).to_owned()).collect()
}

/// What a function needs for each of its ports.
fn needed(function: Function) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut needed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for call in calls(function) {
        let (port, _) = call.split_once('.').expect("port and method");
        needed.entry(port).or_default().extend(actions(call));
    }
    needed
}

fn role(function: Function) -> String {
    let name = format!("{}Role", capitalized(function.as_str()));
    resource(&read("template.yaml"), &name).expect("a role")
}

#[test]
fn a_role_allows_what_its_function_calls_and_nothing_else() {
    for function in Function::ALL {
        let needed = needed(function);
        let mut granted = BTreeSet::new();
        for Statement { sid, actions, .. } in statements(&role(function)) {
            // Such as `NodeClaimsConnect`, which is about no `Node`.
            let port = needed.keys().filter(|port| sid.starts_with(**port)).max_by_key(|p| p.len());
            let port = port.unwrap_or_else(|| panic!("{function} has no port for {sid}"));
            let in_vain: Vec<_> = actions.difference(&needed[port]).collect();
            assert!(in_vain.is_empty(), "{function}: {sid} grants {in_vain:?} in vain");
            granted.extend(actions);
        }
        let texts: BTreeSet<String> = needed.into_values().flatten().collect();
        let missing: Vec<_> = texts.difference(&granted).collect();
        assert!(missing.is_empty(), "{function} calls what needs {missing:?}");
    }
}

#[test]
fn a_role_may_send_to_the_queues_of_those_whom_its_function_sends_messages() {
    for function in Function::ALL {
        let statements = statements(&role(function));
        let sending = statements.into_iter().filter(|statement| statement.sid == "MailboxSend");
        let queues: BTreeSet<String> = sending.flat_map(|statement| statement.queues).collect();
        let receivers = receivers(function).iter();
        let wanted = receivers.map(|receiver| format!("{}Queue", capitalized(receiver.as_str())));
        assert_eq!(queues, wanted.collect(), "{function}");
    }
}

#[test]
fn every_call_of_a_port_says_what_it_needs() {
    let rows = table::ACTIONS.iter().map(|(call, _)| *call);
    let calls: BTreeSet<&str> =
        PORTS.concat().iter().flat_map(|port| port.calls).copied().collect();
    assert_eq!(rows.collect::<BTreeSet<_>>(), calls);
    assert!(table::ACTIONS.is_sorted());
    assert!(table::ACTIONS.iter().all(|(_, actions)| !actions.is_empty() && actions.is_sorted()));
}

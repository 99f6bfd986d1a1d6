//! What the tables say of a function and of settings, in the words of the template.

use std::collections::BTreeSet;

use dispatch::{Allowed, SETTINGS, Setting, calls, receivers};
use installer::doctor::concurrency;
use model::{Function, ledger::LedgerFormat, words::capitalized};
use ports::rights::{iam, rbac};
use simulator::FunctionTable;

/// Whether a function is of a kind; `None` where there is no such kind.
pub(super) fn is(function: Function, kind: &str) -> Option<bool> {
    match kind {
        "function" => Some(true),
        // A stack has `wake` only with a key.
        "always" => Some(function != Function::Wake),
        "scheduled" => Some(!matches!(function, Function::Interrupt | Function::Wake)),
        "pulse" => Some(Function::WITH_PULSE.contains(&function)),
        "queue" => Some(FunctionTable::deployed().of(function).queue.is_some()),
        "admitted" => {
            let is_of_cluster = |call: &&str| rbac::RIGHTS.iter().any(|(name, _)| name == call);
            Some(calls(function).iter().any(is_of_cluster))
        }
        "subnets" => Some(needed(function, &[]).contains("ec2:DescribeSubnets")),
        name => Function::ALL.iter().any(|f| f.as_str() == name).then(|| function.as_str() == name),
    }
}

/// The names that stand for something in lines about `function`, and what they stand for.
pub(super) fn names(function: Function) -> Vec<(&'static str, String)> {
    let name = function.as_str();
    let work = if function == Function::Interrupt { "interruption" } else { name };
    let limits = FunctionTable::deployed().of(function);
    let mut names = vec![
        ("name", name.to_owned()),
        ("Name", capitalized(name)),
        ("NAME", name.to_uppercase()),
        ("work", work.to_owned()),
        ("Work", capitalized(work)),
        ("rule", "-".repeat(95 - name.len())),
        ("memory", limits.memory_mib.to_string()),
        ("executions", concurrency::at_most(function).to_string()),
        ("timeout", limits.timeout.as_secs().to_string()),
        (
            "Schedule",
            if function == Function::Catalog { "Refresh" } else { "EveryMinute" }.to_owned(),
        ),
    ];
    if let Some(executions) = concurrency::of_queue(function) {
        names.push(("concurrency", executions.to_string()));
    }
    if let Some(queue) = limits.queue {
        names.push(("batch", queue.batch_max.to_string()));
        names.push(("visibility", queue.visibility_timeout.as_secs().to_string()));
    }
    names
}

/// The actions of IAM that those calls of `function` need which are named, or whose port is; without any name, all
/// of them.
pub(super) fn needed(function: Function, named: &[&str]) -> BTreeSet<&'static str> {
    let is_named = |call: &&&str| {
        let port = call.split_once('.').map(|(port, _)| port);
        named.is_empty() || named.iter().any(|name| name == *call || Some(*name) == port)
    };
    calls(function).iter().filter(is_named).flat_map(|call| iam::actions(call)).copied().collect()
}

/// The port that the name of a statement begins with, such as `NodeClaims` of `NodeClaimsConnect`.
pub(super) fn port_of(statement: &str) -> Option<&'static str> {
    let ports = iam::ACTIONS.iter().filter_map(|(call, _)| Some(call.split_once('.')?.0));
    ports.filter(|port| statement.starts_with(port)).max_by_key(|port| port.len())
}

/// Queues of the functions that `function` sends messages to, as resources of a statement.
pub(super) fn receivers_of(function: Function) -> Vec<String> {
    arns(function, true, "Queue")
}

/// The functions without a queue that `function` calls, as resources of a statement.
pub(super) fn called_by(function: Function) -> Vec<String> {
    arns(function, false, "Function")
}

fn arns(function: Function, have_pulse: bool, end: &str) -> Vec<String> {
    let receivers = receivers(function).iter();
    let receivers = receivers.filter(|to| Function::WITH_PULSE.contains(to) == have_pulse);
    let arns = receivers.map(|to| format!("!GetAtt {}{end}.Arn", capitalized(to.as_str())));
    let arns: BTreeSet<String> = arns.collect();
    values("Resource", arns.iter().map(String::as_str))
}

/// The field `key` with one value, or with a list of them.
pub(super) fn values<'a>(
    key: &str,
    values: impl ExactSizeIterator<Item = &'a str> + Clone,
) -> Vec<String> {
    match values.clone().next() {
        Some(one) if values.len() == 1 => vec![format!("{key}: {one}")],
        _ => {
            let items = values.map(|value| format!("  - {value}"));
            std::iter::once(format!("{key}:")).chain(items).collect()
        }
    }
}

/// All parts of the dashboard's query that name a log group.
pub(super) fn sources() -> String {
    let source = |f: Function| format!("SOURCE '${{{}LogGroup}}' | ", capitalized(f.as_str()));
    let always = |function: &Function| is(*function, "always") == Some(true);
    Function::ALL.into_iter().filter(always).map(source).collect()
}

/// Which formats of the ledger the functions write and read.
pub(super) fn ledger_format() -> String {
    LedgerFormat::OURS.to_string()
}

/// The settings as variables of the functions.
pub(super) fn variables() -> Vec<String> {
    let line = |setting: &Setting| format!("{}: !Ref {}", setting.variable, setting.parameter);
    SETTINGS.iter().map(line).collect()
}

/// The settings as parameters of the stack.
pub(super) fn parameters() -> Vec<String> {
    SETTINGS.iter().flat_map(parameter).collect()
}

fn parameter(setting: &Setting) -> Vec<String> {
    const DOLLARS: &str = "[0-9]+([.][0-9]+)?";
    let list = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("AllowedValues: [{}]", words.join(", "))
    };
    let rules = match &setting.allowed {
        Allowed::OneOf(words) => vec![list(words)],
        Allowed::Whole(least, most) => {
            vec![format!("MinValue: {least}"), format!("MaxValue: {most}")]
        }
        Allowed::Dollars => vec![format!("AllowedPattern: \"^{DOLLARS}$\"")],
        Allowed::DollarsOrNone => vec![format!("AllowedPattern: \"^(none|{DOLLARS})$\"")],
        // What CloudFormation cannot judge is judged by the functions.
        Allowed::Duration(..)
        | Allowed::Share
        | Allowed::Gates
        | Allowed::SchedulerConfig
        | Allowed::Namespaces => Vec::new(),
    };
    let (kind, default) = match &setting.allowed {
        Allowed::Whole(..) => ("Number", setting.default.to_owned()),
        _ => ("String", quoted(setting.default)),
    };
    let is_gates = matches!(setting.allowed, Allowed::Gates);
    let example = if is_gates { ", such as `SpotToSpotConsolidation=true`" } else { "" };
    let karpenter = setting.karpenter.map(|name| format!("Karpenter's {name}{example}. "));
    let description = format!("{}{}", karpenter.unwrap_or_default(), setting.meaning);
    let mut lines = vec![format!("Type: {kind}"), format!("Default: {default}")];
    lines.extend(rules);
    lines.push("Description: >-".to_owned());
    lines.extend(wrapped(&description).into_iter().map(|line| format!("  {line}")));
    let lines = lines.into_iter().map(|line| format!("  {line}"));
    std::iter::once(format!("{}:", setting.parameter)).chain(lines).collect()
}

/// A word as YAML reads it for a text.
fn quoted(word: &str) -> String {
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_word && !["true", "false"].contains(&word) {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}

/// A text in lines of a hundred letters at most.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

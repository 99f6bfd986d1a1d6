//! Settings ↔ parameters of the stack ↔ environment of the functions ↔ `docs/settings.md`.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use handlers::{Allowed, SETTINGS, Setting};
use model::policies::Policies;
use tests::pages;

use crate::functions::{read, resource};

/// The parameters of the stack by name, in their order.
fn parameters(template: &str) -> Vec<(String, String)> {
    let (_, rest) = template.split_once("\nParameters:\n").expect("parameters");
    let (body, _) = rest.split_once("\nConditions:\n").expect("conditions");
    let names = body.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.strip_suffix(':')?;
        name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| name.to_owned())
    });
    names.map(|name| (name.clone(), resource(template, &name).expect("a parameter"))).collect()
}

/// What a parameter says under `key`, on one line.
fn value<'t>(parameter: &'t str, key: &str) -> Option<&'t str> {
    let (_, rest) = parameter.split_once(&format!("\n    {key}:"))?;
    Some(rest.lines().next()?.trim().trim_matches('"'))
}

fn description(parameter: &str) -> String {
    let (_, rest) = parameter.split_once("\n    Description:").expect("a description");
    let lines = rest.lines().skip(1).take_while(|line| line.starts_with("      "));
    let first = rest.lines().next().unwrap_or_default();
    let text: Vec<&str> = std::iter::once(first).chain(lines).map(str::trim).collect();
    text.join(" ").trim_start_matches(" >-").trim().trim_start_matches(">- ").to_owned()
}

/// What CloudFormation refuses by itself, as far as it can.
fn rules(allowed: &Allowed) -> BTreeMap<&'static str, String> {
    match allowed {
        Allowed::OneOf(words @ ["true", "false"]) => {
            [("AllowedValues", format!("[\"{}\"]", words.join("\", \"")))].into()
        }
        Allowed::OneOf(words) => [("AllowedValues", format!("[{}]", words.join(", ")))].into(),
        Allowed::Whole(least, most) => {
            [("MinValue", least.to_string()), ("MaxValue", most.to_string())].into()
        }
        Allowed::Duration(..)
        | Allowed::Share
        | Allowed::Dollars
        | Allowed::DollarsOrNone
        | Allowed::Gates => BTreeMap::new(),
    }
}

#[test]
fn every_setting_is_a_parameter_and_a_variable_of_every_function() {
    let template = read("template.yaml");
    let parameters: BTreeMap<String, String> = parameters(&template).into_iter().collect();
    let (_, globals) = template.split_once("\nGlobals:\n").expect("globals");
    let (globals, resources) = globals.split_once("\nResources:\n").expect("resources");
    for setting in &SETTINGS {
        let Setting { parameter: name, variable, default, allowed, .. } = setting;
        let parameter = parameters.get(*name).unwrap_or_else(|| panic!("no parameter {name}"));
        assert_eq!(value(parameter, "Default"), Some(*default), "{name}");
        let is_number = matches!(allowed, Allowed::Whole(..));
        let kind = if is_number { "Number" } else { "String" };
        assert_eq!(value(parameter, "Type"), Some(kind), "{name}");
        let rules = rules(allowed);
        for key in ["AllowedValues", "MinValue", "MaxValue"] {
            assert_eq!(value(parameter, key), rules.get(key).map(String::as_str), "{name}: {key}");
        }
        let line = format!("\n        {variable}: !Ref {name}\n");
        assert_eq!(globals.matches(&line).count(), 1, "{variable} is not {name}");
        let karpenter = setting.karpenter.map(|known| format!("Karpenter's {known}"));
        let text = description(parameter);
        assert!(karpenter.is_none_or(|known| text.starts_with(&known)), "{name}: {text}");
        assert!(text.ends_with(setting.meaning), "{name}: {text}");
    }
    assert!(!resources.contains("      Environment:\n"), "a function has variables of its own");
}

#[test]
fn every_variable_of_the_stack_is_read() {
    let template = read("template.yaml");
    let reader = read("shared/bootstrap/src/environment.rs");
    let doctor = read("shared/installer/src/doctor/steps/account.rs");
    let settings: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.variable).collect();
    let (_, variables) = template.split_once("\n      Variables:\n").expect("variables");
    let (variables, _) = variables.split_once("\nResources:\n").expect("resources");
    let names = variables.lines().filter_map(|line| Some(line.trim().split_once(": ")?.0));
    for name in names {
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
fn interruptions_are_heard_of_unless_somebody_says_otherwise() {
    let template = read("template.yaml");
    let parameter = resource(&template, "HandleInterruptions").expect("a parameter");
    assert_eq!(value(&parameter, "Default"), Some("true"));
    let rules = template.matches("Type: AWS::Events::Rule\n").count();
    let state = "State: !If [HandlesInterruptions, ENABLED, DISABLED]\n";
    let recommendations = "State: !If [HandlesRecommendations, ENABLED, DISABLED]\n";
    let switched = template.matches(state).count() + template.matches(recommendations).count();
    assert_eq!(switched, rules, "rules that are always on");
    // One that nothing is done about costs nothing, and none is heard of while interruptions are not.
    assert_eq!(template.matches(recommendations).count(), 1);
    let parameter = resource(&template, "RebalanceRecommendations").expect("a parameter");
    assert_eq!(value(&parameter, "Default"), Some("ignore"));
    assert!(template.contains(
        "HandlesRecommendations: !And\n    - !Condition HandlesInterruptions\n    \
         - !Equals [!Ref RebalanceRecommendations, replace-first]\n"
    ));
    assert!(
        template.contains("HandlesInterruptions: !Equals [!Ref HandleInterruptions, \"true\"]")
    );
}

/// The tables of the page, made from what is deployed.
fn tables() -> [(&'static str, String); 3] {
    let template = read("template.yaml");
    let parameters = parameters(&template);
    let quoted =
        |text: &str| if text.is_empty() { "empty".to_owned() } else { format!("`{text}`") };
    let setting = |setting: &Setting| {
        let karpenter = setting.karpenter.map_or_else(|| "none".to_owned(), quoted);
        format!(
            "| `{}` | {karpenter} | {} | {} | {} |\n",
            setting.parameter,
            quoted(setting.default),
            setting.allowed,
            setting.meaning
        )
    };
    let settings: String = SETTINGS.iter().map(setting).collect();
    let is_setting = |name: &str| SETTINGS.iter().any(|setting| setting.parameter == name);
    let others = parameters.iter().filter(|(name, _)| !is_setting(name)).map(|(name, text)| {
        let default = value(text, "Default").map_or_else(|| "none".to_owned(), quoted);
        format!("| `{name}` | {default} | {} |\n", description(text))
    });
    let others: String = others.collect();
    let open: BTreeSet<&str> = handlers::gates().collect();
    let gate = |(name, is_open): (&str, bool)| {
        let default = if is_open { "open" } else { "closed" };
        let carried_out = if open.contains(name) { "yes" } else { "no: to open it is refused" };
        format!("| `{name}` | {default} | {carried_out} |\n")
    };
    let gates: String = Policies::default().gates().into_iter().map(gate).collect();
    [("settings", settings), ("gates", gates), ("parameters", others)]
}

fn with_tables(page: &str) -> String {
    let mut text = page.to_owned();
    for (name, table) in tables() {
        let (head, rule) = match name {
            "settings" => {
                ("| parameter | Karpenter's variable | default | must be | what it does |", 5)
            }
            "gates" => ("| gate | by default | carried out |", 3),
            _ => ("| parameter | default | what it does |", 3),
        };
        let rule = format!("|{}", "---|".repeat(rule));
        text = pages::with_table(&text, name, &format!("{head}\n{rule}\n{table}"));
    }
    text
}

#[test]
fn the_page_says_what_can_be_set() {
    let page = include_str!("../../../docs/settings.md");
    expect_file!["../../../docs/settings.md"].assert_eq(&with_tables(page));
}

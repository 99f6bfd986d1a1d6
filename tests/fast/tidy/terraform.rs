//! Parameters and outputs of the stack ↔ the module of Terraform.
//!
//! `deploy/terraform/parameters.tf` is made of the template: a variable for each parameter, with its type, default and
//! rule. Whether Terraform accepts the module is a tier of `.ci/run`.

use std::fmt::Write as _;

use expect_test::expect_file;
use handlers::SETTINGS;
use serde_json::Value;
use tests::stack::{parameters, template};

use crate::functions::read;

/// What Terraform calls the type of a parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Bool,
    List,
    Number,
    Text,
}

impl Kind {
    fn of(parameter: &Value) -> Self {
        match parameter["Type"].as_str() {
            Some("CommaDelimitedList") => Self::List,
            Some("Number") => Self::Number,
            _ if parameter["AllowedValues"] == serde_json::json!(["true", "false"]) => Self::Bool,
            _ => Self::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::List => "list(string)",
            Self::Number => "number",
            Self::Text => "string",
        }
    }

    /// A value of the template as HCL.
    fn value(self, value: &Value) -> String {
        match (self, value.as_str()) {
            (Self::Text, Some(text)) => quoted(text),
            (Self::List, Some("")) => "[]".to_owned(),
            (Self::List, Some(text)) => {
                format!("[{}]", text.split(',').map(quoted).collect::<Vec<_>>().join(", "))
            }
            (Self::Bool, Some(text)) => text.to_owned(),
            _ => value.to_string(),
        }
    }
}

/// A text as HCL quotes it.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace("${", "$${").replace("%{", "%%{"))
}

/// `ClusterName` as names are in Terraform: `cluster_name`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// `text` with what it calls parameters and outputs of the stack as Terraform calls them. A name of one word is
/// no different from prose, and stays.
fn renamed(text: &str, names: &[String]) -> String {
    let is_in_name = |letter: char| letter.is_ascii_alphanumeric();
    let mut renamed = String::new();
    for part in text.split_inclusive(|letter| !is_in_name(letter)) {
        let word = part.trim_end_matches(|letter| !is_in_name(letter));
        let is_name = snake(word).contains('_') && names.iter().any(|name| name == word);
        renamed.push_str(&if is_name { snake(word) } else { word.to_owned() });
        renamed.push_str(&part[word.len()..]);
    }
    renamed
}

/// What a variable must be, as a condition and in words; `None` if its type says all.
fn rule(variable: &str, kind: Kind, parameter: &Value) -> Option<(String, String)> {
    if kind == Kind::Bool {
        return None;
    }
    if let Some(allowed) = parameter["AllowedValues"].as_array() {
        let hcl: Vec<String> = allowed.iter().map(|value| kind.value(value)).collect();
        let plain: Vec<String> =
            hcl.iter().map(|value| value.trim_matches('"').to_owned()).collect();
        let condition = format!("contains([{}], var.{variable})", hcl.join(", "));
        return Some((condition, format!("must be one of {}", plain.join(", "))));
    }
    if let (Some(least), Some(most)) =
        (parameter["MinValue"].as_i64(), parameter["MaxValue"].as_i64())
    {
        let value = format!("var.{variable}");
        let condition =
            format!("{value} >= {least} && {value} <= {most} && floor({value}) == {value}");
        return Some((condition, format!("must be a whole number from {least} to {most}")));
    }
    let pattern = parameter["AllowedPattern"].as_str()?;
    let constraint = parameter["ConstraintDescription"]
        .as_str()
        .map(|text| text.trim_start_matches("it ").to_owned());
    let setting = SETTINGS.iter().find(|setting| snake(setting.parameter) == variable);
    let words = constraint.or_else(|| Some(format!("must be {}", setting?.allowed)));
    let regex = |value: &str| format!("can(regex({}, {value}))", quoted(pattern));
    let (condition, must) = if kind == Kind::List {
        let condition = format!("alltrue([for item in var.{variable} : {}])", regex("item"));
        (condition, "must have items that match")
    } else {
        (regex(&format!("var.{variable}")), "must match")
    };
    Some((condition, words.unwrap_or_else(|| format!("{must} {pattern}"))))
}

/// What a parameter is for. What only the functions judge is said here, too.
fn description(name: &str, parameter: &Value, has_rule: bool, names: &[String]) -> String {
    let text = parameter["Description"].as_str().expect("a description");
    let setting = SETTINGS.iter().find(|setting| setting.parameter == name);
    match setting.filter(|_| !has_rule) {
        Some(setting) if Kind::of(parameter) == Kind::Text => {
            renamed(&format!("{text} Must be {}.", setting.allowed), names)
        }
        _ => renamed(text, names),
    }
}

/// The block of a parameter.
fn variable(name: &str, parameter: &Value, names: &[String]) -> String {
    let (variable, kind) = (snake(name), Kind::of(parameter));
    let rule = rule(&variable, kind, parameter);
    let description = quoted(&description(name, parameter, rule.is_some(), names));
    let mut block = format!("\nvariable \"{variable}\" {{\n  description = {description}\n");
    let mut line = |line: String| writeln!(block, "{line}").expect("a text takes lines");
    line(format!("  type        = {}", kind.name()));
    if let Some(default) = parameter.get("Default") {
        line(format!("  default     = {}", kind.value(default)));
    }
    line("  nullable    = false".to_owned());
    if parameter["NoEcho"] == true {
        line("  sensitive   = true".to_owned());
    }
    if let Some((condition, words)) = rule {
        line("\n  validation {".to_owned());
        line(format!("    condition     = {condition}"));
        line(format!("    error_message = {}", quoted(&format!("{variable} {words}."))));
        line("  }".to_owned());
    }
    line("}".to_owned());
    block
}

/// Lines `key = value` with the signs below each other.
fn aligned(entries: &[(String, String)]) -> String {
    let width = entries.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let line = |(key, value): &(String, String)| format!("    {key:width$} = {value}");
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The text of `parameters.tf`.
fn parameters_of_module() -> String {
    let (parameters, template) = (parameters(), template());
    let outputs = template["Outputs"].as_object().expect("outputs").keys().cloned();
    let names: Vec<String> =
        parameters.iter().map(|(name, _)| name.clone()).chain(outputs).collect();
    let passed: Vec<(String, String)> = parameters
        .iter()
        .map(|(name, parameter)| {
            let variable = format!("var.{}", snake(name));
            let is_list = Kind::of(parameter) == Kind::List;
            let value = if is_list { format!("join(\",\", {variable})") } else { variable };
            (name.clone(), value)
        })
        .collect();
    let resources = template["Resources"].as_object().expect("resources");
    let groups = resources.iter().filter_map(|(name, resource)| {
        let function = name.strip_suffix("AccessEntry")?;
        let group = resource["Properties"]["KubernetesGroups"][0].as_str()?;
        Some((snake(function), quoted(group)))
    });
    let groups: Vec<(String, String)> = groups.collect();
    let variables: String =
        parameters.iter().map(|(name, parameter)| variable(name, parameter, &names)).collect();
    format!(
        "# Made of template.yaml by UPDATE_EXPECT=1 cargo test --package tests --test tidy the_module_has\n\n\
         locals {{\n  parameters = {{\n{}\n  }}\n\n  # The groups of the functions that need access to the cluster. RBAC says what \
         each group may do.\n  kubernetes_groups = {{\n{}\n  }}\n}}\n{variables}",
        aligned(&passed),
        aligned(&groups)
    )
}

#[test]
fn the_module_has_a_variable_for_each_parameter() {
    expect_file!["../../../deploy/terraform/parameters.tf"].assert_eq(&parameters_of_module());
}

#[test]
fn the_module_has_each_output_of_the_stack() {
    let module = read("deploy/terraform/outputs.tf");
    let named: Vec<&str> = module.split('"').skip(1).step_by(2).collect();
    let template = template();
    let outputs = template["Outputs"].as_object().expect("outputs");
    for name in outputs.keys() {
        let is_there = named.contains(&name.as_str())
            || ["FunctionName", "RoleArn", "QueueUrl", "Url"]
                .iter()
                .any(|end| named.contains(end) && name.ends_with(end));
        assert!(is_there, "deploy/terraform/outputs.tf does not have {name}");
    }
    let reads =
        module.match_indices("(local.outputs, \"").chain(module.match_indices("local.outputs[\""));
    let mut count = 0;
    for (at, begin) in reads {
        let name = module[at + begin.len()..].split('"').next().expect("a name");
        assert!(outputs.contains_key(name), "the stack has no output {name}");
        count += 1;
    }
    assert!(count >= 5, "only {count} outputs were looked up");
}

#[test]
fn names_are_renamed_and_prose_is_not() {
    let names = ["SubnetIds", "Metrics", "NodeRoleName"].map(str::to_owned);
    assert_eq!(
        renamed("Metrics: with SubnetIds. Output NodeRoleName, not OtherIds", &names),
        "Metrics: with subnet_ids. Output node_role_name, not OtherIds"
    );
    assert_eq!(quoted("a \"b\" ${c}"), "\"a \\\"b\\\" $${c}\"");
}

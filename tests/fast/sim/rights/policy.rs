//! Identity policies of IAM, and what they say to a request: as much of the language as a policy can use, and an
//! error for the rest, so that nothing is judged that was not understood.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What a request is known by: condition keys in lower case, and their values.
pub(crate) type Context = BTreeMap<String, BTreeSet<String>>;

/// A request for one action on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) action: String,
    pub(crate) resource: String,
    pub(crate) context: Context,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Allow,
    Deny,
}

/// What must hold of one condition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) operator: String,
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

/// A list that names what is meant, or, inverted, all but that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) list: Vec<String>,
    is_inverted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sid: String,
    pub(crate) effect: Effect,
    pub(crate) actions: Names,
    pub(crate) resources: Names,
    pub(crate) conditions: Vec<Condition>,
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    let text = |item: &Value| match item {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{item} is no text")),
    };
    items.iter().map(text).collect()
}

impl Statement {
    /// The statements of a policy document.
    pub(crate) fn all(document: &Value) -> Result<Vec<Self>, String> {
        if document["Version"] != "2012-10-17" {
            return Err("policy variables need version 2012-10-17".to_owned());
        }
        let statements = &document["Statement"];
        let list =
            statements.as_array().map_or_else(|| vec![statements], |list| list.iter().collect());
        list.into_iter().map(Self::parse).collect()
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("a statement is an object")?;
        let known =
            ["Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"];
        if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("`{other}` is not understood"));
        }
        let names = |plain: &str, inverted: &str| match (fields.get(plain), fields.get(inverted)) {
            (Some(list), None) => Ok(Names { list: texts(list)?, is_inverted: false }),
            (None, Some(list)) => Ok(Names { list: texts(list)?, is_inverted: true }),
            _ => Err(format!("there must be one of {plain} and {inverted}")),
        };
        let mut conditions = Vec::new();
        for (operator, keys) in
            fields.get("Condition").and_then(Value::as_object).into_iter().flatten()
        {
            for (key, values) in keys.as_object().ok_or("a condition is about keys")? {
                let condition = Condition {
                    operator: operator.clone(),
                    key: key.clone(),
                    values: texts(values)?,
                };
                condition.holds(&Context::new())?;
                conditions.push(condition);
            }
        }
        Ok(Self {
            sid: value["Sid"].as_str().unwrap_or_default().to_owned(),
            effect: match value["Effect"].as_str() {
                Some("Allow") => Effect::Allow,
                Some("Deny") => Effect::Deny,
                other => return Err(format!("{other:?} is no effect")),
            },
            actions: names("Action", "NotAction")?,
            resources: names("Resource", "NotResource")?,
            conditions,
        })
    }

    /// Whether it is about `request`.
    pub(crate) fn applies(&self, request: &Request) -> Result<bool, String> {
        let action = request.action.to_ascii_lowercase();
        let is_action = |pattern: &String| is_like(&pattern.to_ascii_lowercase(), &action);
        if self.actions.list.iter().any(is_action) == self.actions.is_inverted {
            return Ok(false);
        }
        let is_resource = |pattern: &String| {
            with_variables(pattern, &request.context)
                .is_some_and(|p| is_arn_like(&p, &request.resource))
        };
        if self.resources.list.iter().any(is_resource) == self.resources.is_inverted {
            return Ok(false);
        }
        for condition in &self.conditions {
            if !condition.holds(&request.context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a role with `statements` may do: nothing, unless one allows it and none denies it.
pub(crate) fn allows(statements: &[Statement], request: &Request) -> bool {
    let mut is_allowed = false;
    for statement in statements {
        if statement.applies(request).expect("conditions were understood when they were read") {
            match statement.effect {
                Effect::Deny => return false,
                Effect::Allow => is_allowed = true,
            }
        }
    }
    is_allowed
}

impl Condition {
    /// Whether it holds. An error is an operator that is not understood.
    ///
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html>
    fn holds(&self, context: &Context) -> Result<bool, String> {
        let values =
            context.get(&self.key.to_ascii_lowercase()).filter(|values| !values.is_empty());
        let (set, operator) = match self.operator.split_once(':') {
            Some((set, operator)) => (Some(set), operator),
            None => (None, self.operator.as_str()),
        };
        if operator == "Null" {
            return Ok(self.values.iter().any(|wanted| (wanted == "true") == values.is_none()));
        }
        let (operator, if_exists) = match operator.strip_suffix("IfExists") {
            Some(operator) => (operator, true),
            None => (operator, false),
        };
        let test =
            Test::of(operator).ok_or_else(|| format!("{} is not understood", self.operator))?;
        let wanted: Vec<String> =
            self.values.iter().filter_map(|value| with_variables(value, context)).collect();
        // A negated operator is about none of the values.
        let fits = |value: &String| wanted.iter().any(|w| test.fits(w, value)) != test.is_negated;
        Ok(match (values, set) {
            (None, _) if if_exists => true,
            (None, None | Some("ForAnyValue")) => test.is_negated && set.is_none(),
            (None, Some("ForAllValues")) => true,
            (Some(values), Some("ForAllValues")) => values.iter().all(fits),
            (Some(values), None | Some("ForAnyValue")) => values.iter().any(fits),
            (_, Some(other)) => return Err(format!("{other} is not understood")),
        })
    }
}

/// How a value is compared.
struct Test {
    kind: &'static str,
    is_negated: bool,
}

impl Test {
    fn of(operator: &str) -> Option<Self> {
        let (kind, is_negated) = match operator {
            "StringEquals" => ("equals", false),
            "StringNotEquals" => ("equals", true),
            "StringEqualsIgnoreCase" | "Bool" => ("equals-ignoring-case", false),
            "StringNotEqualsIgnoreCase" => ("equals-ignoring-case", true),
            "StringLike" => ("like", false),
            "StringNotLike" => ("like", true),
            "ArnEquals" | "ArnLike" => ("arn", false),
            "ArnNotEquals" | "ArnNotLike" => ("arn", true),
            _ => return None,
        };
        Some(Self { kind, is_negated })
    }

    fn fits(&self, wanted: &str, value: &str) -> bool {
        match self.kind {
            "equals" => wanted == value,
            "equals-ignoring-case" => wanted.eq_ignore_ascii_case(value),
            "like" => is_like(wanted, value),
            _ => is_arn_like(wanted, value),
        }
    }
}

/// `pattern` with what its variables stand for; `None` where one has no value, or more than one: then it
/// matches nothing.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html>
fn with_variables(pattern: &str, context: &Context) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let (name, after) = after.split_once('}')?;
        let (key, default) = match name.split_once(',') {
            Some((key, default)) => (key.trim(), Some(default.trim().trim_matches('\''))),
            None => (name, None),
        };
        match key {
            "*" | "?" | "$" => out.push_str(key),
            key => {
                let values = context.get(&key.to_ascii_lowercase());
                match values.map(|values| values.iter().collect::<Vec<_>>()).as_deref() {
                    Some([value]) => out.push_str(value),
                    None => out.push_str(default?),
                    Some(_) => return None,
                }
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Whether `text` is `pattern`, in which `*` is any text and `?` any character.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(place) {
            Some('*') => {
                star = Some((place, at));
                place += 1;
            }
            Some(c) if *c == '?' || Some(c) == text.get(at) => {
                place += 1;
                at += 1;
            }
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                place = after + 1;
                at = from + 1;
            }
        }
    }
    pattern.iter().skip(place).all(|c| *c == '*')
}

/// The same, where no `*` reaches beyond one of the first five parts of an ARN.
fn is_arn_like(pattern: &str, text: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (patterns, texts): (Vec<&str>, Vec<&str>) =
        (pattern.splitn(6, ':').collect(), text.splitn(6, ':').collect());
    patterns.len() == texts.len() && patterns.iter().zip(texts).all(|(p, t)| is_like(p, t))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(action: &str, resource: &str, context: &[(&str, &str)]) -> Request {
        let mut keys = Context::new();
        for (key, value) in context {
            keys.entry(key.to_ascii_lowercase()).or_default().insert((*value).to_owned());
        }
        Request { action: action.to_owned(), resource: resource.to_owned(), context: keys }
    }

    #[track_caller]
    fn check(statement: &Value, context: &[(&str, &str)], expected: bool) {
        let mut statement = statement.clone();
        let fields = statement.as_object_mut().unwrap();
        fields.entry("Effect").or_insert(json!("Allow"));
        if !fields.contains_key("NotAction") {
            fields.entry("Action").or_insert(json!("ec2:*"));
        }
        fields.entry("Resource").or_insert(json!("*"));
        let document = json!({"Version": "2012-10-17", "Statement": statement});
        let statements = Statement::all(&document).unwrap();
        let request = request("ec2:RunInstances", "arn:aws:ec2:us-west-2:1:instance/i-1", context);
        assert_eq!(allows(&statements, &request), expected, "{statement} for {context:?}");
    }

    #[test]
    fn actions_and_resources_are_patterns() {
        for (action, expected) in [
            ("ec2:RunInstances", true),
            ("EC2:runinstances", true),
            ("ec2:Run*", true),
            ("ec2:RunInstance?", true),
            ("*", true),
            ("ec2:RunInstance", false),
            ("sqs:*", false),
        ] {
            check(&json!({"Action": action}), &[], expected);
            check(&json!({"NotAction": [action]}), &[], !expected);
        }
        for (resource, expected) in [
            ("*", true),
            ("arn:aws:ec2:*:1:instance/*", true),
            ("arn:aws:ec2:us-west-2:*:instance/i-?", true),
            ("arn:aws:ec2:us-west-2:1:volume/*", false),
            ("arn:aws:ec2:us-east-1:1:instance/*", false),
            // A star stays within its part.
            ("arn:aws:ec2:*:instance/i-1", false),
            ("arn:aws:ec2:us-west-2:${aws:PrincipalAccount}:instance/*", true),
            ("arn:aws:ec2:us-west-2:${aws:SourceAccount}:instance/*", false),
            ("arn:aws:ec2:us-west-2:${aws:SourceAccount, '1'}:instance/*", true),
        ] {
            check(&json!({"Resource": [resource]}), &[("aws:PrincipalAccount", "1")], expected);
        }
    }

    #[test]
    fn conditions_hold_as_iam_says() {
        let team: &[(&str, &str)] = &[("aws:RequestTag/team", "A1")];
        let keys: &[(&str, &str)] = &[("aws:TagKeys", "a"), ("aws:TagKeys", "b")];
        let key = "aws:requesttag/TEAM";
        for (operator, key, values, context, expected) in [
            ("StringEquals", key, json!("A1"), team, true),
            ("StringEquals", key, json!(["x", "A1"]), team, true),
            ("StringEquals", key, json!("a1"), team, false),
            ("StringEquals", key, json!("A1"), &[], false),
            ("StringEqualsIfExists", key, json!("x"), &[], true),
            ("StringEqualsIfExists", key, json!("x"), team, false),
            ("StringNotEquals", key, json!(["x", "A1"]), team, false),
            ("StringNotEquals", key, json!("x"), &[], true),
            ("StringEqualsIgnoreCase", key, json!("a1"), team, true),
            ("StringLike", key, json!("A*"), team, true),
            ("StringLike", key, json!("*"), &[], false),
            ("StringNotLike", key, json!("A?"), team, false),
            ("StringEquals", key, json!("${aws:RequestTag/team}"), team, true),
            ("Bool", key, json!(true), &[("aws:RequestTag/team", "true")], true),
            ("Null", key, json!("true"), team, false),
            ("Null", key, json!("true"), &[], true),
            ("Null", key, json!(false), team, true),
            ("ForAllValues:StringEquals", "aws:TagKeys", json!(["a", "b", "c"]), keys, true),
            ("ForAllValues:StringEquals", "aws:TagKeys", json!(["a"]), keys, false),
            ("ForAllValues:StringEquals", "aws:TagKeys", json!(["a"]), &[], true),
            ("ForAnyValue:StringLike", "aws:TagKeys", json!(["b*"]), keys, true),
            ("ForAnyValue:StringEquals", "aws:TagKeys", json!(["a"]), &[], false),
            (
                "ArnLike",
                key,
                json!("arn:aws:iam::*:role/x"),
                &[(key, "arn:aws:iam::1:role/x")],
                true,
            ),
            ("ArnLike", key, json!("arn:aws:*:role/x"), &[(key, "arn:aws:iam::1:role/x")], false),
            (
                "ArnNotEquals",
                key,
                json!("arn:aws:iam::1:role/y"),
                &[(key, "arn:aws:iam::1:role/x")],
                true,
            ),
        ] {
            check(&json!({"Condition": {operator: {key: values}}}), context, expected);
        }
    }

    #[test]
    fn a_denial_wins_and_what_is_not_understood_is_an_error() {
        let allow = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
        let deny =
            json!({"Effect": "Deny", "Action": "ec2:*", "NotResource": "arn:aws:ec2:*:*:volume/*"});
        let document = json!({"Version": "2012-10-17", "Statement": [allow, deny]});
        let statements = Statement::all(&document).unwrap();
        let volume = request("ec2:RunInstances", "arn:aws:ec2:a:1:volume/*", &[]);
        let instance = request("ec2:RunInstances", "arn:aws:ec2:a:1:instance/*", &[]);
        assert!(allows(&statements, &volume) && !allows(&statements, &instance));
        for bad in [
            json!({"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": "*"}),
            json!({"Effect": "Allow", "Action": "*"}),
            json!({"Effect": "Perhaps", "Action": "*", "Resource": "*"}),
            json!({"Effect": "Allow", "Action": "*", "Resource": "*",
                   "Condition": {"DateLessThan": {"aws:CurrentTime": "2030-01-01"}}}),
        ] {
            let document = json!({"Version": "2012-10-17", "Statement": bad});
            assert!(Statement::all(&document).is_err(), "{document}");
        }
    }
}

//! A walk over an object with the schema of its definition: what an API server would refuse, field by
//! field, with path, line and cure.

use std::{collections::BTreeMap, sync::LazyLock};

use model::problem::Weight;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{node_class_rules, pattern, pool_rules, rule::Rule, schema::fill_in};
use crate::document::{
    field::{Check, Field},
    spelling,
    tree::TreeValue,
};

/// What is known beside the schema of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints {
    /// What to write instead of an unknown field, by the path of the map that it is in and its key; or
    /// of an unknown word, by the path of its field.
    pub(crate) cure: fn(&str, &str) -> Option<String>,
    /// Paths of fields that an API server prunes: no reader complains of them.
    pub(crate) dropped: &'static [&'static str],
}

impl Hints {
    /// Nothing.
    pub(crate) const NONE: Self = Self { cure: |_, _| None, dropped: &[] };
}

/// The typed form of `field`, if nothing is wrong with it, with the defaults of `schema`; what is wrong goes to the
/// complaints.
pub(crate) fn typed<T: DeserializeOwned>(
    field: &Field<'_>,
    schema: &Value,
    hints: Hints,
) -> Option<T> {
    let _has_right_keys = check(field, schema, hints);
    if field.has_within(Weight::Refused) {
        return None;
    }
    let mut value = field.tree().to_json();
    fill_in(&mut value, schema);
    field.accept(serde_json::from_value(value))
}

/// Every rule by its expressions.
static CHECKS: LazyLock<BTreeMap<String, Check>> = LazyLock::new(|| {
    let rules = [node_class_rules::ALL, pool_rules::ALL].into_iter().flatten().copied().flatten();
    let checked = |rule: &Rule| {
        let check = rule.check;
        rule.texts().into_iter().map(move |(expression, _)| (expression, check))
    };
    rules.flat_map(checked).collect()
});

/// The checks of the rules that `schema` names, in order.
fn checks(schema: &Value) -> impl Iterator<Item = Check> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    let expressions = rules.into_iter().flatten().filter_map(|rule| rule.get("rule")?.as_str());
    expressions.filter_map(|expression| {
        let check = CHECKS.get(expression).copied();
        debug_assert!(check.is_some(), "a rule of a schema is in no list: {expression}");
        check
    })
}

/// Complains of everything in `field` that is not as `schema` asks for. Rules across fields are only
/// looked at where the keys of the field and within it are right: a value that is wrong hides nothing else. The
/// checks of patterns and rules ask for more than their expressions do: see [`Field::beyond_definition`].
///
/// Returns whether its keys are right: there is no unknown one, nothing that is required is missing, and maps and
/// lists stand where they should.
fn check(field: &Field<'_>, schema: &Value, hints: Hints) -> bool {
    let (is_of_its_type, has_right_keys) = match schema.get("type").and_then(Value::as_str) {
        Some("object") => map(field, schema, hints).map_or((false, false), |right| (true, right)),
        Some("array") => list(field, schema, hints).map_or((false, false), |right| (true, right)),
        Some("string") => (text(field, schema, hints).is_some(), true),
        Some("boolean") => (field.boolean().is_some(), true),
        Some("integer") => {
            let bound = |key: &str, default: i64| {
                schema.get(key).and_then(Value::as_i64).unwrap_or(default)
            };
            let is_short = schema.get("format").and_then(Value::as_str) == Some("int32");
            let (least, most) =
                if is_short { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
            let number = field.integer::<i64>(bound("minimum", least), bound("maximum", most));
            (number.is_some(), true)
        }
        _ if schema.get("x-kubernetes-int-or-string").is_some() => {
            (field.quantity().is_some(), true)
        }
        _ => (true, true),
    };
    if is_of_its_type && has_right_keys {
        let field = field.beyond_definition();
        checks(schema).for_each(|check| check(&field));
    }
    has_right_keys
}

/// A limit of `schema` on how many there are.
fn limit(schema: &Value, key: &str) -> Option<usize> {
    usize::try_from(schema.get(key)?.as_u64()?).ok()
}

fn too_many(field: &Field<'_>, schema: &Value, key: &str, count: usize) {
    if let Some(most) = limit(schema, key).filter(|most| count > *most) {
        field.complain(format!("must have at most {most} entries, not {count}"));
    }
}

/// Whether all keys are right; `None` if it is no map.
fn map(field: &Field<'_>, schema: &Value, hints: Hints) -> Option<bool> {
    let entries = field.entries()?;
    let mut has_right_keys = true;
    too_many(field, schema, "maxProperties", entries.len());
    if let Some(values) = schema.get("additionalProperties") {
        for (_, value) in &entries {
            has_right_keys &= check(value, values, hints);
        }
        return Some(has_right_keys);
    }
    let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
    let Some(members) = schema.get("properties").and_then(Value::as_object) else {
        return Some(true);
    };
    let mut cures = Vec::new();
    for (key, value) in entries.iter().filter(|_| !is_open) {
        match members.get(*key) {
            Some(_) if value.tree().is_null() => {}
            Some(member) => has_right_keys &= check(value, member, hints),
            None if field.ignores_unknown() || hints.dropped.contains(&value.path()) => {}
            None => {
                let near = || spelling::cure(key, members.keys().map(String::as_str));
                let cure = (hints.cure)(field.path(), key).or_else(near);
                cures.extend(cure.clone());
                has_right_keys = false;
                value.complain_cured("unknown field", cure);
            }
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for key in required.filter_map(Value::as_str).filter(|key| !field.has(key)) {
        has_right_keys = false;
        // One that is spelled otherwise was complained about already.
        if !cures.iter().any(|cure| cure.contains(&format!("`{key}"))) {
            field.missing(key).complain("is required");
        }
    }
    Some(has_right_keys)
}

/// Whether all keys of its items are right; `None` if it is no list.
fn list(field: &Field<'_>, schema: &Value, hints: Hints) -> Option<bool> {
    let items = field.list()?;
    let mut has_right_keys = true;
    too_many(field, schema, "maxItems", items.len());
    if items.len() < limit(schema, "minItems").unwrap_or_default() {
        field.complain("must have at least one entry");
        has_right_keys = false;
    }
    let is_set = schema.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("set");
    for (index, item) in items.iter().enumerate() {
        if let Some(schema) = schema.get("items") {
            has_right_keys &= check(item, schema, hints);
        }
        let before = items.iter().take(index);
        if is_set && before.into_iter().any(|other| other.tree().value == item.tree().value) {
            item.complain("stands there twice");
        }
    }
    Some(has_right_keys)
}

fn text(field: &Field<'_>, schema: &Value, hints: Hints) -> Option<()> {
    let expression = schema.get("pattern").and_then(Value::as_str);
    if let (TreeValue::Number(_), Some(number), Some(unit)) =
        (&field.tree().value, field.tree().as_written(), expression.and_then(pattern::unit))
    {
        let rule = format!("must be a text, not the number {number}");
        field.complain_with(rule, format!("write it with its unit, such as `{number}{unit}`"));
        return None;
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<_> =
            choices.iter().filter_map(Value::as_str).map(|choice| (choice, ())).collect();
        let text = field.tree().as_text().unwrap_or_default();
        let is_known = choices.iter().any(|(choice, ())| *choice == text);
        if let Some(cure) = (hints.cure)(field.path(), text).filter(|_| !is_known) {
            field.complain_with(format!("`{text}` is the name of an older version"), cure);
            return None;
        }
        return field.choice(&choices);
    }
    let text = field.text()?;
    let length = text.chars().count();
    if length < limit(schema, "minLength").unwrap_or_default() {
        field.complain("must not be empty");
    } else if let Some(most) = limit(schema, "maxLength").filter(|most| length > *most) {
        field.complain(format!("must have at most {most} characters, not {length}"));
    } else if let Some(expression) = expression {
        pattern::check(&field.beyond_definition(), expression);
    }
    Some(())
}

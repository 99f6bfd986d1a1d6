//! What an API server does with an object under a definition: prunes, fills in defaults, looks at the
//! schema and evaluates the rules.
//!
//! It reads the definition and nothing else of `api`, so that a reader which is stricter than its
//! definition is noticed.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::{Map, Value};

use super::cel::{Expression, with_regex};

thread_local! {
    static RULES: RefCell<BTreeMap<String, Expression>> = RefCell::default();
}

/// The object as it is stored, or what it is refused for.
pub(crate) fn stored(schema: &Value, object: &Value) -> Result<Value, String> {
    let mut object = object.clone();
    pruned(schema, &mut object);
    complain(schema, &object, "")?;
    Ok(object)
}

/// Drops members without a schema, and fills in defaults.
fn pruned(schema: &Value, value: &mut Value) {
    match value {
        Value::Array(items) => {
            for item in items {
                pruned(&schema["items"], item);
            }
        }
        Value::Object(map) => {
            if let Some(values) = schema.get("additionalProperties") {
                map.values_mut().for_each(|value| pruned(values, value));
            }
            let Some(members) = schema.get("properties").and_then(Value::as_object) else { return };
            if schema.get("x-kubernetes-preserve-unknown-fields").is_none() {
                map.retain(|key, value| members.contains_key(key) && !value.is_null());
            }
            for (key, member) in members {
                if let (None, Some(default)) = (map.get(key), member.get("default")) {
                    map.insert(key.clone(), default.clone());
                }
                if let Some(value) = map.get_mut(key) {
                    pruned(member, value);
                }
            }
        }
        _ => {}
    }
}

fn complain(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let refused = |rule: &str| Err(format!("{path}: {rule}: {value}"));
    let is_int_or_string = schema.get("x-kubernetes-int-or-string").is_some();
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(map)) => of_map(schema, map, path)?,
        (Some("array"), Value::Array(items)) => of_list(schema, items, path)?,
        (Some("string"), Value::String(text)) => of_text(schema, text, path)?,
        (Some("boolean"), Value::Bool(_)) => {}
        (Some("integer"), Value::Number(number)) => {
            let is_short = schema.get("format").and_then(Value::as_str) == Some("int32");
            let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
            let fits = |number: i64| {
                (!is_short || i32::try_from(number).is_ok())
                    && bound("minimum").is_none_or(|least| number >= least)
                    && bound("maximum").is_none_or(|most| number <= most)
            };
            if !number.as_i64().is_some_and(fits) {
                return refused("out of bounds");
            }
        }
        (None, Value::String(text)) if is_int_or_string => of_text(schema, text, path)?,
        (None, Value::Number(number)) if is_int_or_string && number.is_i64() => {}
        (None, _) if schema.get("x-kubernetes-preserve-unknown-fields").is_some() => {}
        _ => return refused("another type"),
    }
    for rule in
        schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten()
    {
        let text = rule["rule"].as_str().expect("a rule");
        let holds = RULES.with_borrow_mut(|rules| {
            let parsed = rules.entry(text.to_owned()).or_insert_with(|| Expression::parse(text));
            if parsed.is_of_change() { Ok(true) } else { parsed.holds_of(value) }
        });
        if holds != Ok(true) {
            return refused(&format!("{text} {holds:?}"));
        }
    }
    Ok(())
}

fn of_map(schema: &Value, map: &Map<String, Value>, path: &str) -> Result<(), String> {
    within(schema, "maxProperties", map.len(), usize::le, path)?;
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for key in required.filter_map(Value::as_str) {
        if !map.contains_key(key) {
            return Err(format!("{path}.{key}: required"));
        }
    }
    for (key, value) in map {
        let member = schema.get("properties").and_then(|members| members.get(key));
        if let Some(schema) = member.or_else(|| schema.get("additionalProperties")) {
            complain(schema, value, &format!("{path}.{key}"))?;
        }
    }
    Ok(())
}

fn of_list(schema: &Value, items: &[Value], path: &str) -> Result<(), String> {
    within(schema, "maxItems", items.len(), usize::le, path)?;
    within(schema, "minItems", items.len(), usize::ge, path)?;
    let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let keys: Vec<&str> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        complain(&schema["items"], item, &path)?;
        let is_alike = |other: &Value| match kind {
            Some("set") => item == other,
            Some("map") => keys.iter().all(|key| item.get(key) == other.get(key)),
            _ => false,
        };
        if items[..index].iter().any(is_alike) {
            return Err(format!("{path}: duplicate"));
        }
    }
    Ok(())
}

fn of_text(schema: &Value, text: &str, path: &str) -> Result<(), String> {
    let length = text.chars().count();
    within(schema, "maxLength", length, usize::le, path)?;
    within(schema, "minLength", length, usize::ge, path)?;
    let choices = schema.get("enum").and_then(Value::as_array);
    let is_choice = choices.is_none_or(|choices| choices.iter().any(|choice| choice == text));
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let is_matched = pattern.is_none_or(|pattern| with_regex(pattern, |it| it.is_match(text)));
    let is_time =
        schema.get("format").and_then(Value::as_str) != Some("date-time") || is_time(text);
    if !is_matched || !is_choice || !is_time {
        return Err(format!("{path}: does not match: {text}"));
    }
    Ok(())
}

fn within(
    schema: &Value,
    key: &str,
    count: usize,
    fits: impl Fn(&usize, &usize) -> bool,
    path: &str,
) -> Result<(), String> {
    let limit =
        schema.get(key).and_then(Value::as_u64).map(|limit| usize::try_from(limit).unwrap());
    match limit {
        Some(limit) if !fits(&count, &limit) => Err(format!("{path}: {key} {limit}, not {count}")),
        _ => Ok(()),
    }
}

/// Whether an API server takes `text` for a time: it looks at an offset's form only.
fn is_time(text: &str) -> bool {
    const TIME: &str = concat!(
        r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]",
        r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
    );
    with_regex(TIME, |it| it.is_match(text))
}

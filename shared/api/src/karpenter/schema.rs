//! Schemas from the types, in the form that an API server takes: every schema in its place instead of
//! references, no null types, enums as lists of values.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of `T`.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.clear();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    structural(&mut schema);
    schema
}

/// Brings a schema and all within it into the form that an API server takes.
fn structural(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for foreign in ["$schema", "title"] {
        map.remove(foreign);
    }
    unwrap_nullable(map);
    enum_of_constants(map);
    if let Some(Value::Array(kinds)) = map.get("type") {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        map.insert("type".to_owned(), kind.unwrap_or(Value::Null));
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    map.retain(|key, value| !(value.is_null() && matches!(key.as_str(), "default" | "format")));
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            structural(inner);
        }
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(structural);
    }
}

/// Fills `value` in as an API server does when it reads an object: what is absent, or null, gets the default that
/// `schema` has for it, and within that the defaults of its own.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting>
pub(crate) fn fill_in(value: &mut Value, schema: &Value) {
    let within = |key: &str| schema.get(key);
    match value {
        Value::Object(members) => {
            let properties = within("properties").and_then(Value::as_object);
            for (key, property) in properties.into_iter().flatten() {
                if let Some(default) = property.get("default")
                    && members.get(key).is_none_or(Value::is_null)
                {
                    members.insert(key.clone(), default.clone());
                }
            }
            for (key, member) in members {
                let property = properties.and_then(|properties| properties.get(key));
                if let Some(of_member) = property.or_else(|| within("additionalProperties")) {
                    fill_in(member, of_member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of_items) = within("items") {
                for item in items {
                    fill_in(item, of_items);
                }
            }
        }
        _ => {}
    }
}

/// `anyOf: [X, null]` is X: what is absent is absent, and nothing is null.
fn unwrap_nullable(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type") != Some(&json!("null")));
    if let [Value::Object(only)] = choices.as_mut_slice() {
        let only = std::mem::take(only);
        map.remove("anyOf");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

/// Variants with words of their own come as a choice of constants.
fn enum_of_constants(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let values: Vec<_> = choices.iter().filter_map(|choice| choice.get("const").cloned()).collect();
    map.remove("oneOf");
    map.insert("type".to_owned(), json!("string"));
    map.insert("enum".to_owned(), Value::Array(values));
}

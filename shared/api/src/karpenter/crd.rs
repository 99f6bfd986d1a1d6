//! CustomResourceDefinitions from the types.
//!
//! What `schemars` says is brought into what an API server takes: every schema in its place instead
//! of references, no null types, enums as lists of values. Nothing here is on the way of a decision.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    capacity_buffer::CapacityBufferSpec,
    kind::{CustomKind, Scope},
    node_claim::NodeClaimSpec,
    node_class::Ec2NodeClassSpec,
    node_overlay::NodeOverlaySpec,
    node_pool::NodePoolSpec,
};

/// Every definition with its file's name, as in Karpenter's charts: `karpenter.sh_nodepools.yaml`.
pub fn all() -> Vec<(String, Value)> {
    [
        named::<NodePoolSpec>(),
        named::<NodeClaimSpec>(),
        named::<NodeOverlaySpec>(),
        named::<Ec2NodeClassSpec>(),
        named::<CapacityBufferSpec>(),
    ]
    .into()
}

fn named<S: CustomKind>() -> (String, Value) {
    (format!("{}_{}.yaml", S::NAMES.group, S::NAMES.plural), definition::<S>())
}

/// The definition of one kind.
pub fn definition<S: CustomKind>() -> Value {
    let names = S::NAMES;
    let mut called = json!({
        "kind": names.kind,
        "listKind": format!("{}List", names.kind),
        "plural": names.plural,
        "singular": names.kind.to_lowercase(),
        "categories": [names.category],
    });
    if let (false, Value::Object(map)) = (names.short.is_empty(), &mut called) {
        map.insert("shortNames".to_owned(), json!(names.short));
    }
    let mut subresources = json!({"status": {}});
    if let (Some(replicas), Value::Object(map)) = (names.replicas, &mut subresources) {
        let scale =
            json!({"specReplicasPath": replicas.spec, "statusReplicasPath": replicas.status});
        map.insert("scale".to_owned(), scale);
    }
    let columns: Vec<_> = names.columns.iter().map(|column| column.to_value()).collect();
    let metadata = json!({"name": format!("{}.{}", names.plural, names.group)});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": names.group,
            "names": called,
            "scope": match names.scope {
                Scope::Cluster => "Cluster",
                Scope::Namespaced => "Namespaced",
            },
            "versions": [{
                "name": names.version,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": whole::<S>()},
                "subresources": subresources,
            }],
        },
    })
}

fn whole<S: CustomKind>() -> Value {
    let mut schema = json!({
        "type": "object",
        "description": S::NAMES.about,
        "properties": {
            "apiVersion": {
                "type": "string",
                "description": "Group and version of the object's form.",
            },
            "kind": {"type": "string", "description": "What the object is."},
            "metadata": {"type": "object"},
            "spec": schema_of::<S>(),
            "status": schema_of::<S::Status>(),
        },
    });
    if let (true, Value::Object(map)) = (S::NAMES.requires_spec, &mut schema) {
        map.insert("required".to_owned(), json!(["spec"]));
    }
    schema
}

fn schema_of<T: JsonSchema>() -> Value {
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

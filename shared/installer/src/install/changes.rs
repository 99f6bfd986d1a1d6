//! What applying an object changes: field by field, from what is there and what the server says would be.

use serde_json::Value;

/// Fields of one object that are shown.
const FIELDS_MAX: usize = 10;
/// Letters of a value that are shown.
const LETTERS_MAX: usize = 60;

/// What the server writes by itself, below `metadata`.
const OF_THE_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is not there yet.
    New,
    /// It stays as it is.
    Unchanged,
    /// These fields change, each in words.
    Fields(Vec<String>),
}

impl Change {
    /// From what is there to what would be.
    pub fn of(present: Option<&Value>, applied: &Value) -> Self {
        let Some(present) = present else { return Self::New };
        let mut fields = Vec::new();
        compare(&written(present), &written(applied), "", &mut fields);
        if fields.is_empty() { Self::Unchanged } else { Self::Fields(fields) }
    }

    /// In lines for people, each with how far it stands in.
    pub fn lines(&self, object: &Value) -> Vec<(usize, String)> {
        let name = named(object);
        match self {
            Self::New => vec![(2, format!("+ {name}: new"))],
            Self::Unchanged => vec![(2, format!("= {name}: unchanged"))],
            Self::Fields(fields) => {
                let shown = fields.iter().take(FIELDS_MAX).map(|field| (6, field.clone()));
                let mut lines = vec![(2, format!("~ {name}: changes"))];
                lines.extend(shown);
                let more = fields.len().saturating_sub(FIELDS_MAX);
                lines.extend((more > 0).then(|| (6, format!("and {more} other fields"))));
                lines
            }
        }
    }
}

/// `ClusterRole journeyman-launch`
pub fn named(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    match text("/metadata/namespace") {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

/// The object without what the server writes by itself.
fn written(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !OF_THE_SERVER.contains(&name.as_str()));
        }
    }
    object
}

fn compare(before: &Value, after: &Value, path: &str, fields: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let names =
                before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let part = |of: &serde_json::Map<String, Value>| of.get(name).cloned();
                match (part(before), part(after)) {
                    (Some(before), Some(after)) => compare(&before, &after, &path, fields),
                    (None, Some(after)) => {
                        fields.push(format!("{path}: + {}", short(&path, &after)));
                    }
                    (Some(before), None) => {
                        fields.push(format!("{path}: - {}", short(&path, &before)));
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, &format!("{path}[{at}]"), fields);
            }
        }
        (before, after) if before == after => {}
        (before, after) => {
            fields.push(format!("{path}: {} → {}", short(path, before), short(path, after)));
        }
    }
}

/// The beginning of the value at `path`.
fn short(path: &str, value: &Value) -> String {
    let text = without_secrets(path, value).to_string();
    if text.chars().count() <= LETTERS_MAX {
        return text;
    }
    text.chars().take(LETTERS_MAX).chain(['…']).collect()
}

/// The value at `path` without the paths of webhooks' URLs.
fn without_secrets(path: &str, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, part): (&String, &Value)| {
                (name.clone(), without_secrets(&format!("{path}.{name}"), part))
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| without_secrets(path, item)).collect())
        }
        Value::String(url) if path.ends_with(".clientConfig.url") => {
            let host: Vec<&str> = url.splitn(4, '/').take(3).collect();
            Value::String(format!("{}/…", host.join("/")))
        }
        value => value.clone(),
    }
}

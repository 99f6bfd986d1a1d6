//! Text as a tree of values with line numbers.
//!
//! YAML is read in one place, here: the library behind it is young. Nothing is interpreted, but for
//! what YAML itself says: `on` is true, a quoted `"5"` is text, merge keys are merged.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Budget, Spanned};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// From 1; 0 is unknown.
    pub(crate) line: u32,
    pub(crate) value: Value,
}

/// What a value is. Numbers are kept as text: nothing here calculates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: u32,
    pub(crate) value: Tree,
}

/// Why a text is no YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) line: Option<u32>,
    pub(crate) rule: String,
}

impl Tree {
    /// The value of `key`, if this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Whether this is an object that an API server has stored.
    pub(crate) fn has_uid(&self) -> bool {
        self.get("metadata").and_then(|metadata| metadata.get("uid")).is_some()
    }

    /// The text, if this is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without lines. Numbers that JSON does not have become texts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(text) => {
                text.parse().map_or_else(|_| Json::String(text.clone()), Json::Number)
            }
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                let entry = |entry: &Entry| (entry.key.clone(), entry.value.to_json());
                Json::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// The same further down in its file.
    pub(crate) fn moved_down(mut self, lines: u32) -> Self {
        self.move_down(lines);
        self
    }

    fn move_down(&mut self, lines: u32) {
        self.line += lines;
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.move_down(lines)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.line += lines;
                    entry.value.move_down(lines);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value == Value::Null
    }
}

impl Value {
    /// What it is, for complaints.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Most documents of one file, and most values of one document.
const DOCUMENTS_MAX: usize = 200_000;
const VALUES_MAX: usize = 50_000_000;

/// Reads the documents of `text`; empty ones are left out.
pub(crate) fn parse_yaml(text: &str) -> Result<Vec<Tree>, SyntaxError> {
    let mut budget = Budget::default();
    budget.max_documents = DOCUMENTS_MAX;
    budget.max_nodes = VALUES_MAX;
    budget.max_events = VALUES_MAX * 4;
    let options = serde_saphyr::options! { budget: Some(budget) };
    let documents: Vec<Spanned<SpannedValue>> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| SyntaxError {
            line: error.location().map(|location| line_of(&location)).filter(|line| *line > 0),
            rule: syntax_rule(&error.without_snippet().to_string()),
        })?;
    Ok(documents.into_iter().map(tree_of).filter(|tree| !tree.is_null()).collect())
}

/// The library's words without what stands beside them anyway: the position, its own options.
fn syntax_rule(text: &str) -> String {
    let text = text.split(" at line ").next().unwrap_or(text);
    let text = text.split(", set DuplicateKeyPolicy").next().unwrap_or(text);
    format!("not valid YAML: {text}")
}

fn line_of(location: &serde_saphyr::Location) -> u32 {
    u32::try_from(location.line()).unwrap_or_default()
}

/// Reads one JSON value without lines. Fields of which nothing is ever read (managed fields,
/// probes, environments) are skipped: they are most of what an API server sends.
pub(crate) fn parse_json(text: &str) -> Result<Tree, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    JsonSeed::default().deserialize(&mut deserializer).map_err(|error| error.to_string())
}

fn tree_of(spanned: Spanned<SpannedValue>) -> Tree {
    let line = line_of(&spanned.referenced);
    let value = match spanned.value {
        SpannedValue::Scalar(value) => value,
        SpannedValue::List(items) => Value::List(items.into_iter().map(tree_of).collect()),
        SpannedValue::Map(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<SpannedValue>)| Entry {
                line: line_of(&key.referenced),
                key: key.value,
                value: tree_of(value),
            };
            Value::Map(entries.into_iter().map(entry).collect())
        }
    };
    Tree { line, value }
}

enum SpannedValue {
    Scalar(Value),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for SpannedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpannedVisitor)
    }
}

/// The scalars are alike in both formats.
macro_rules! visit_scalars {
    ($wrap:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
            Ok($wrap(Value::Bool(value)))
        }
        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok($wrap(Value::Number(value.to_string())))
        }
        fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
            Ok($wrap(Value::Number(value.to_string())))
        }
        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok($wrap(Value::Number(value.to_string())))
        }
        fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
            Ok($wrap(Value::Text(value.to_owned())))
        }
        fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
            Ok($wrap(Value::Text(value)))
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($wrap(Value::Null))
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok($wrap(Value::Null))
        }
    };
}

struct SpannedVisitor;

impl<'de> Visitor<'de> for SpannedVisitor {
    type Value = SpannedValue;

    visit_scalars!(SpannedValue::Scalar);

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<SpannedValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SpannedValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(SpannedValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SpannedValue, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(SpannedValue::Map(map))
    }
}

/// Fields whose lists and maps no reader looks into, wherever they stand in an object of Kubernetes.
/// A label may be called `env` as well: its text is kept.
const SKIPPED: [&str; 11] = [
    "managedFields",
    "env",
    "envFrom",
    "volumeMounts",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "securityContext",
    "imagePullSecrets",
    "images",
];

/// Reads a value; with `skips`, lists and maps come out empty.
#[derive(Clone, Copy, Default)]
struct JsonSeed {
    skips: bool,
}

impl<'de> DeserializeSeed<'de> for JsonSeed {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        let value = deserializer.deserialize_any(self)?;
        Ok(Tree { line: 0, value })
    }
}

impl<'de> Visitor<'de> for JsonSeed {
    type Value = Value;

    visit_scalars!(std::convert::identity);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        if self.skips {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::List(list));
        }
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        if self.skips {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Map(map));
        }
        while let Some(key) = entries.next_key::<String>()? {
            let skips = SKIPPED.contains(&key.as_str());
            let value = entries.next_value_seed(Self { skips })?;
            if !(skips && matches!(value.value, Value::List(_) | Value::Map(_))) {
                map.push(Entry { key, line: 0, value });
            }
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_through_the_whole_file() {
        let documents = parse_yaml("a: 1\n---\n\nb:\n  - c: on\n---\n").unwrap();
        assert_eq!(documents.len(), 2);
        let b = documents[1].get("b").unwrap();
        let Value::List(items) = &b.value else { panic!("{b:?}") };
        assert_eq!((items[0].line, &items[0].get("c").unwrap().value), (5, &Value::Bool(true)));
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        for (text, line, rule) in [
            ("a: 1\na: 2\n", 2, "not valid YAML: duplicate mapping key: a"),
            ("a: 1\n b: 2\n", 2, "not valid YAML: mapping values are not allowed in this context"),
        ] {
            let error = parse_yaml(text).unwrap_err();
            assert_eq!((error.line, error.rule.as_str()), (Some(line), rule));
        }
    }

    #[test]
    fn json_skips_what_nobody_reads() {
        let tree = parse_json(
            r#"{"metadata":{"managedFields":[{"a":1}],"name":"x","labels":{"env":"prod"}}}"#,
        )
        .unwrap();
        let metadata = tree.get("metadata").unwrap();
        assert_eq!(metadata.get("managedFields"), None);
        assert_eq!(metadata.get("name").unwrap().as_text(), Some("x"));
        let env = metadata.get("labels").unwrap().get("env").unwrap();
        assert_eq!(env.as_text(), Some("prod"));
    }
}

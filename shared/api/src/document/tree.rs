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
pub struct Tree {
    /// From 1; 0 is unknown.
    pub line: u32,
    /// What stands there.
    pub value: TreeValue,
    /// The text of a number or a boolean in YAML, if it is not the value's own: `1.10`, `0x1F`, `yes`.
    written: Option<Box<str>>,
}

/// What a value is. Numbers are kept as text: nothing here calculates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeValue {
    /// Nothing: as good as absent.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(String),
    /// A text.
    Text(String),
    /// Items in order.
    List(Vec<Tree>),
    /// Members in the order of the text.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// The line of the key; 0 is unknown.
    pub line: u32,
    /// Its value.
    pub value: Tree,
}

/// Why a text is no YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, where it is known.
    pub line: Option<u32>,
    /// What is wrong there.
    pub rule: String,
}

impl Tree {
    /// A value at `line`.
    pub fn new(line: u32, value: TreeValue) -> Self {
        Self { line, value, written: None }
    }

    /// A scalar as it stands in its file.
    pub fn as_written(&self) -> Option<&str> {
        match &self.value {
            _ if self.written.is_some() => self.written.as_deref(),
            TreeValue::Text(text) | TreeValue::Number(text) => Some(text),
            TreeValue::Bool(true) => Some("true"),
            TreeValue::Bool(false) => Some("false"),
            TreeValue::Null | TreeValue::List(_) | TreeValue::Map(_) => None,
        }
    }

    /// The value of `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let TreeValue::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Whether this is an object that an API server has stored.
    pub fn has_uid(&self) -> bool {
        self.get("metadata").and_then(|metadata| metadata.get("uid")).is_some()
    }

    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            TreeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without lines. Numbers that JSON does not have become texts.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            TreeValue::Null => Json::Null,
            TreeValue::Bool(value) => Json::Bool(*value),
            TreeValue::Number(text) => {
                let number = text.parse();
                number.map_or_else(|_| Json::String(text.clone()), Json::Number)
            }
            TreeValue::Text(text) => Json::String(text.clone()),
            TreeValue::List(items) => items.iter().map(Self::to_json).collect(),
            TreeValue::Map(entries) => {
                let entry = |entry: &Entry| (entry.key.clone(), entry.value.to_json());
                Json::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// The same further down in its file.
    #[must_use]
    pub fn moved_down(mut self, lines: u32) -> Self {
        self.move_down(lines);
        self
    }

    fn move_down(&mut self, lines: u32) {
        self.line += lines;
        match &mut self.value {
            TreeValue::List(items) => items.iter_mut().for_each(|item| item.move_down(lines)),
            TreeValue::Map(entries) => {
                for entry in entries {
                    entry.line += lines;
                    entry.value.move_down(lines);
                }
            }
            TreeValue::Null | TreeValue::Bool(_) | TreeValue::Number(_) | TreeValue::Text(_) => {}
        }
    }

    /// Whether nothing stands there.
    pub fn is_null(&self) -> bool {
        self.value == TreeValue::Null
    }
}

impl TreeValue {
    /// What it is, for complaints.
    pub fn kind(&self) -> &'static str {
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
pub fn parse_yaml(text: &str) -> Result<Vec<Tree>, SyntaxError> {
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
    let trees = documents.into_iter().map(|document| tree_of(document, text));
    Ok(trees.filter(|tree| !tree.is_null()).collect())
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
pub fn parse_json(text: &str) -> Result<Tree, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    JsonSeed::default().deserialize(&mut deserializer).map_err(|error| error.to_string())
}

fn tree_of(spanned: Spanned<SpannedValue>, text: &str) -> Tree {
    let line = line_of(&spanned.referenced);
    let value = match spanned.value {
        SpannedValue::Scalar(value) => {
            let tree = Tree::new(line, value);
            let written = word_at(text, &spanned.defined);
            let is_other = !matches!(&tree.value, TreeValue::Text(_) | TreeValue::Null)
                && tree.as_written() != written;
            return Tree { written: written.filter(|_| is_other).map(Into::into), ..tree };
        }
        SpannedValue::List(items) => {
            TreeValue::List(items.into_iter().map(|item| tree_of(item, text)).collect())
        }
        SpannedValue::Map(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<SpannedValue>)| Entry {
                line: line_of(&key.referenced),
                key: key.value,
                value: tree_of(value, text),
            };
            TreeValue::Map(entries.into_iter().map(entry).collect())
        }
    };
    Tree::new(line, value)
}

/// The number or the boolean at `location` of `text`.
fn word_at<'t>(text: &'t str, location: &serde_saphyr::Location) -> Option<&'t str> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
    let word = text.get(start..)?.split(|c| !is_of_word(c)).next()?;
    (!word.is_empty()).then_some(word)
}

enum SpannedValue {
    Scalar(TreeValue),
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
            Ok($wrap(TreeValue::Bool(value)))
        }
        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Number(value.to_string())))
        }
        fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Number(value.to_string())))
        }
        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Number(value.to_string())))
        }
        fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Text(value.to_owned())))
        }
        fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Text(value)))
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Null))
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok($wrap(TreeValue::Null))
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
        Ok(Tree::new(0, value))
    }
}

impl<'de> Visitor<'de> for JsonSeed {
    type Value = TreeValue;

    visit_scalars!(std::convert::identity);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<TreeValue, A::Error> {
        let mut list = Vec::new();
        if self.skips {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(TreeValue::List(list));
        }
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(TreeValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<TreeValue, A::Error> {
        let mut map = Vec::new();
        if self.skips {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(TreeValue::Map(map));
        }
        while let Some(key) = entries.next_key::<String>()? {
            let skips = SKIPPED.contains(&key.as_str());
            let value = entries.next_value_seed(Self { skips })?;
            if !(skips && matches!(value.value, TreeValue::List(_) | TreeValue::Map(_))) {
                map.push(Entry { key, line: 0, value });
            }
        }
        Ok(TreeValue::Map(map))
    }
}

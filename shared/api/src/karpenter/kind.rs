//! What is common to Karpenter's kinds: names, columns, and an object as the API server stores it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A kind of object: what its `spec` and `status` are, and how it is installed.
pub trait CustomKind: Default + Serialize + DeserializeOwned + schemars::JsonSchema {
    /// What controllers write.
    type Status: Serialize + DeserializeOwned + schemars::JsonSchema;
    /// Names, columns and subresources.
    const NAMES: Names;

    /// The schema of `spec`, as the definition has it.
    fn schema() -> &'static Value;
}

/// An object: `spec` by users, `status` by controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct CustomObject<S: CustomKind> {
    /// Group and version.
    pub api_version: String,
    /// The kind's name.
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(default)]
    pub spec: S,
    /// What is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<S::Status>,
}

/// The part of `metadata` that anything here reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Unique within kind and namespace.
    #[serde(default)]
    pub name: String,
    /// Of namespaced kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// For selectors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// For everything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Counts changes of `spec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
}

/// How a kind is called and printed.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// API group.
    pub group: &'static str,
    /// Version, the only one.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Name of lists, lower case.
    pub plural: &'static str,
    /// Names for impatient people.
    pub short: &'static [&'static str],
    /// `kubectl get CATEGORY` lists it with others.
    pub category: &'static str,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// Whether an object without `spec` is refused.
    pub requires_spec: bool,
    /// The scale subresource.
    pub replicas: Option<Replicas>,
    /// What `kubectl get` prints.
    pub columns: &'static [Column],
}

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They do not.
    Cluster,
    /// They do.
    Namespaced,
}

/// Where `kubectl scale` finds the numbers.
#[derive(Clone, Copy, Debug)]
pub struct Replicas {
    /// How many are wanted.
    pub spec: &'static str,
    /// How many there are.
    pub status: &'static str,
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    path: &'static str,
    format: &'static str,
    is_wide: bool,
}

impl Column {
    /// How old the object is.
    pub const AGE: Self =
        Self { name: "Age", path: ".metadata.creationTimestamp", format: "date", is_wide: false };

    /// A column of text.
    pub const fn text(name: &'static str, path: &'static str) -> Self {
        Self { name, path, format: "string", is_wide: false }
    }

    /// A column of whole numbers.
    pub const fn number(name: &'static str, path: &'static str) -> Self {
        Self { name, path, format: "integer", is_wide: false }
    }

    /// This column, only with `-o wide`.
    #[must_use]
    pub const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    /// The column as a definition has it.
    pub fn to_value(self) -> Value {
        let mut column = json!({"name": self.name, "jsonPath": self.path, "type": self.format});
        if let (true, Value::Object(map)) = (self.is_wide, &mut column) {
            map.insert("priority".to_owned(), json!(1));
        }
        column
    }
}

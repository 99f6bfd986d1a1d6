//! What is common to Karpenter's kinds: names, columns, and an object as the API server stores it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A kind of object: what its `spec` and `status` are, and how it is installed.
pub(crate) trait Kind:
    Default + Serialize + DeserializeOwned + schemars::JsonSchema
{
    /// What controllers write.
    type Status: Serialize + DeserializeOwned + schemars::JsonSchema;
    /// Names, columns and subresources.
    const NAMES: Names;
}

/// An object: `spec` by users, `status` by controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub(crate) struct Object<S: Kind> {
    /// Group and version.
    pub(crate) api_version: String,
    /// The kind's name.
    pub(crate) kind: String,
    /// Name, labels, annotations.
    pub(crate) metadata: Metadata,
    /// What is wanted.
    #[serde(default)]
    pub(crate) spec: S,
    /// What is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<S::Status>,
}

/// The part of `metadata` that anything here reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// Unique within kind and namespace.
    #[serde(default)]
    pub(crate) name: String,
    /// Of namespaced kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// For selectors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    /// For everything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    /// Counts changes of `spec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
}

/// How a kind is called and printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// API group.
    pub(crate) group: &'static str,
    /// Version, the only one.
    pub(crate) version: &'static str,
    /// Kind.
    pub(crate) kind: &'static str,
    /// Name of lists, lower case.
    pub(crate) plural: &'static str,
    /// Names for impatient people.
    pub(crate) short: &'static [&'static str],
    /// `kubectl get CATEGORY` lists it with others.
    pub(crate) category: &'static str,
    /// Whether objects live in namespaces.
    pub(crate) scope: Scope,
    /// What it is, in one sentence.
    pub(crate) about: &'static str,
    /// Whether an object without `spec` is refused.
    pub(crate) requires_spec: bool,
    /// The scale subresource.
    pub(crate) replicas: Option<Replicas>,
    /// What `kubectl get` prints.
    pub(crate) columns: &'static [Column],
}

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// They do not.
    Cluster,
    /// They do.
    Namespaced,
}

/// Where `kubectl scale` finds the numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replicas {
    /// How many are wanted.
    pub(crate) spec: &'static str,
    /// How many there are.
    pub(crate) status: &'static str,
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    name: &'static str,
    path: &'static str,
    format: &'static str,
    is_wide: bool,
}

impl Column {
    /// How old the object is.
    pub(crate) const AGE: Self =
        Self { name: "Age", path: ".metadata.creationTimestamp", format: "date", is_wide: false };

    /// A column of text.
    pub(crate) const fn text(name: &'static str, path: &'static str) -> Self {
        Self { name, path, format: "string", is_wide: false }
    }

    /// A column of whole numbers.
    pub(crate) const fn number(name: &'static str, path: &'static str) -> Self {
        Self { name, path, format: "integer", is_wide: false }
    }

    /// The same, only with `-o wide`.
    #[must_use]
    pub(crate) const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    /// The column as a definition has it.
    pub(crate) fn to_value(self) -> Value {
        let mut column = json!({"name": self.name, "jsonPath": self.path, "type": self.format});
        if let (true, Value::Object(map)) = (self.is_wide, &mut column) {
            map.insert("priority".to_owned(), json!(1));
        }
        column
    }
}

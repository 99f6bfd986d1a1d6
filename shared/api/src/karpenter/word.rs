//! Values of the model that the API writes as words: one list serves serde, the schema and the reader.

use std::borrow::Cow;

use model::{
    Operator, TaintEffect,
    disruption::DisruptionReason,
    node_class::{ImageFamily, MatchCriteria},
    node_pool::ConsolidationPolicy,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A type with a word for each of its values.
pub trait Words: Copy + PartialEq + 'static {
    /// What the words are about, where no field says it.
    const ABOUT: &'static str;
    /// Every word with its value, in the order of the schema.
    const WORDS: &'static [(&'static str, Self)];
}

/// A value that is written as its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word<T>(pub T);

impl<T: Words> Word<T> {
    /// The word; empty for a value that has none.
    pub fn as_str(self) -> &'static str {
        let word = T::WORDS.iter().find(|(_, value)| *value == self.0);
        word.map_or("", |(word, _)| word)
    }
}

impl<T: Words> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let word = T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| Self(*value));
        word.ok_or_else(|| D::Error::custom(format!("unknown word `{text}`")))
    }
}

impl<T: Words> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({"type": "string", "description": T::ABOUT, "enum": words})
    }
}

impl Words for Operator {
    const ABOUT: &'static str = "How the value of a label relates to given values.";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("In", Self::In),
        ("NotIn", Self::NotIn),
        ("Exists", Self::Exists),
        ("DoesNotExist", Self::DoesNotExist),
        ("Gt", Self::Gt),
        ("Lt", Self::Lt),
        ("Gte", Self::Gte),
        ("Lte", Self::Lte),
    ];
}

impl Words for TaintEffect {
    const ABOUT: &'static str = "What a taint does to pods that do not tolerate it.";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("NoSchedule", Self::NoSchedule),
        ("PreferNoSchedule", Self::PreferNoSchedule),
        ("NoExecute", Self::NoExecute),
    ];
}

impl Words for ImageFamily {
    const ABOUT: &'static str = "What user data a machine image understands.";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("AL2", Self::Al2),
        ("AL2023", Self::Al2023),
        ("Bottlerocket", Self::Bottlerocket),
        ("Custom", Self::Custom),
        ("Windows2019", Self::Windows2019),
        ("Windows2022", Self::Windows2022),
        ("Windows2025", Self::Windows2025),
    ];
}

impl Words for MatchCriteria {
    const ABOUT: &'static str = "Which instances a capacity reservation takes.";
    const WORDS: &'static [(&'static str, Self)] =
        &[("open", Self::Open), ("targeted", Self::Targeted)];
}

impl Words for ConsolidationPolicy {
    const ABOUT: &'static str = "Which nodes may be consolidated.";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("WhenEmpty", Self::WhenEmpty),
        ("WhenEmptyOrUnderutilized", Self::WhenEmptyOrUnderutilized),
        ("Balanced", Self::Balanced),
    ];
}

impl Words for DisruptionReason {
    const ABOUT: &'static str = "Why a node is disrupted while it still works.";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("Underutilized", Self::Underutilized),
        ("Empty", Self::Empty),
        ("Drifted", Self::Drifted),
        ("Unhealthy", Self::Unhealthy),
    ];
}

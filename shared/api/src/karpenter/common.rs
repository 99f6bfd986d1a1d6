//! What several kinds share: requirements, taints, quantities, conditions.

use std::{borrow::Cow, fmt};

use model::{ConditionKind, Operator, TaintEffect};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Visitor},
};

use super::{pattern, pool_rules, rule::validations, word::Word};

const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
const CONDITION_TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
const REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
const REASON_OR_EMPTY: &str = r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$";

/// An amount such as `500m`, `2Gi` or `3`, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct QuantityText(pub String);

impl<'de> Deserialize<'de> for QuantityText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = QuantityText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as `500m` or `2Gi`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<QuantityText, E> {
        Ok(QuantityText(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }
}

impl JsonSchema for QuantityText {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true,
        })
    }
}

/// A constraint on one label of the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequirementSpec {
    /// The label.
    #[schemars(
        length(max = 316),
        regex(pattern = pattern::QUALIFIED_NAME.expression),
        extend("x-kubernetes-validations" = validations(pool_rules::KEY))
    )]
    pub key: String,
    /// How the label's value relates to `values`.
    pub operator: Word<Operator>,
    /// Values of the label. Gt, Lt, Gte and Lte take one whole number; Exists and DoesNotExist
    /// take none.
    // Karpenter's CRD has the items' length and pattern on the list itself, where they do nothing:
    // values are checked when a controller looks at the object.
    #[schemars(extend(
        "maxLength" = 63,
        "pattern" = pattern::LABEL_VALUE.expression,
        "x-kubernetes-list-type" = "atomic"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// How many different values of the label the instance types that remain must have, so that a
    /// launch can choose among them.
    #[schemars(range(min = 1, max = 50), extend("format" = null))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_values: Option<i32>,
}

/// What pods must tolerate to run on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintSpec {
    /// What the taint is about.
    #[schemars(length(min = 1), regex(pattern = pattern::QUALIFIED_NAME.expression))]
    pub key: String,
    /// The value that goes with the key.
    #[schemars(regex(pattern = pattern::QUALIFIED_NAME.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: Word<TaintEffect>,
    /// When the taint was added.
    #[schemars(extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<String>,
}

/// Names the object that says how nodes are launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClassReference {
    /// API group of the object, such as `karpenter.k8s.aws`.
    #[schemars(
        regex(pattern = pattern::GROUP.expression),
        extend("x-kubernetes-validations" = validations(pool_rules::GROUP))
    )]
    pub group: String,
    /// Kind of the object, such as `EC2NodeClass`.
    #[schemars(extend("x-kubernetes-validations" = validations(pool_rules::KIND)))]
    pub kind: String,
    /// Name of the object.
    #[schemars(extend("x-kubernetes-validations" = validations(pool_rules::NAME)))]
    pub name: String,
}

/// One aspect of an object's state, as a controller saw it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionEntry {
    /// The aspect.
    #[schemars(length(max = 316), regex(pattern = CONDITION_TYPE))]
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    #[schemars(length(min = 1, max = 1024), regex(pattern = REASON))]
    pub reason: String,
    /// Why, in words for people.
    #[schemars(length(max = 32_768))]
    pub message: String,
    /// When `status` changed last.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// `metadata.generation` of the object that was looked at.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl ConditionEntry {
    /// Whether it is of this kind.
    pub fn is(&self, kind: ConditionKind) -> bool {
        self.kind == kind.as_str()
    }
}

/// The same, of a NodeClaim: reason and message may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionalReason {
    /// The aspect.
    #[schemars(length(max = 316), regex(pattern = CONDITION_TYPE))]
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    #[schemars(length(max = 1024), regex(pattern = REASON_OR_EMPTY))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in words for people.
    #[schemars(length(max = 32_768))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When `status` changed last.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// `metadata.generation` of the object that was looked at.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// Not known yet.
    Unknown,
}

impl ConditionStatus {
    /// That of a condition that holds, or does not; `None` is unknown.
    pub const fn of(status: Option<bool>) -> Self {
        match status {
            Some(true) => Self::True,
            Some(false) => Self::False,
            None => Self::Unknown,
        }
    }

    /// The reverse.
    pub const fn holds(self) -> Option<bool> {
        match self {
            Self::True => Some(true),
            Self::False => Some(false),
            Self::Unknown => None,
        }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

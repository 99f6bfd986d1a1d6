//! Conditions of writes: each looks at one attribute of the item that stands there.

use aws_sdk_dynamodb::types::AttributeValue;

/// What must hold for a write to happen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Guard {
    expression: &'static str,
    /// The attribute. Always sent as a placeholder: `item`, `sequence` and others are reserved
    /// words of DynamoDB.
    attribute: &'static str,
    value: Option<AttributeValue>,
}

/// The placeholder of the attribute in expressions.
pub(super) const ATTRIBUTE: &str = "#guarded";
/// The placeholder of the value in expressions.
pub(super) const VALUE: &str = ":guard";

impl Guard {
    /// `attribute` is not there, so neither is an item of this kind.
    pub(super) fn absent(attribute: &'static str) -> Self {
        Self { expression: "attribute_not_exists(#guarded)", attribute, value: None }
    }

    /// `attribute` is there and is `value`.
    pub(super) fn equal(attribute: &'static str, value: AttributeValue) -> Self {
        Self { expression: "#guarded = :guard", attribute, value: Some(value) }
    }

    /// `attribute` is not there, or is `value`.
    pub(super) fn absent_or_equal(attribute: &'static str, value: AttributeValue) -> Self {
        let expression = "attribute_not_exists(#guarded) OR #guarded = :guard";
        Self { expression, attribute, value: Some(value) }
    }

    /// `attribute` is not there, or is at most `value`.
    pub(super) fn absent_or_at_most(attribute: &'static str, value: AttributeValue) -> Self {
        let expression = "attribute_not_exists(#guarded) OR #guarded <= :guard";
        Self { expression, attribute, value: Some(value) }
    }

    /// `attribute` is not there, or is at least `value`.
    pub(super) fn absent_or_at_least(attribute: &'static str, value: AttributeValue) -> Self {
        let expression = "attribute_not_exists(#guarded) OR #guarded >= :guard";
        Self { expression, attribute, value: Some(value) }
    }

    pub(super) fn expression(&self) -> &'static str {
        self.expression
    }

    pub(super) fn attribute(&self) -> &'static str {
        self.attribute
    }

    pub(super) fn value(&self) -> Option<&AttributeValue> {
        self.value.as_ref()
    }
}

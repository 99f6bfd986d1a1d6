//! Label selectors: `matchLabels` and `matchExpressions`.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

use std::collections::BTreeSet;

use model::{
    id,
    selector::{LabelSelector, SelectorExpression, SelectorOperator},
};

use crate::document::field::Field;

const OPERATORS: &[(&str, SelectorOperator)] = &[
    ("In", SelectorOperator::In),
    ("NotIn", SelectorOperator::NotIn),
    ("Exists", SelectorOperator::Exists),
    ("DoesNotExist", SelectorOperator::DoesNotExist),
];

/// Reads a selector. One that breaks a rule is complained about, and selects nothing.
pub(crate) fn read(field: &Field<'_>) -> Option<LabelSelector> {
    let mut fields = field.fields()?;
    let mut selector = LabelSelector::default();
    for (key, value) in fields.get("matchLabels").and_then(|f| f.entries()).unwrap_or_default() {
        let text = value.text()?;
        let expression = SelectorExpression::is(key, text);
        selector.is_invalid |= complains(&value, &expression);
        selector.expressions.insert(expression);
    }
    for item in fields.get("matchExpressions").and_then(|f| f.list()).unwrap_or_default() {
        let expression = expression(&item)?;
        selector.is_invalid |= complains(&item, &expression);
        selector.expressions.insert(expression);
    }
    fields.done();
    Some(selector)
}

fn expression(item: &Field<'_>) -> Option<SelectorExpression> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text());
    let operator = fields.require("operator").and_then(|field| field.choice(OPERATORS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    fields.done();
    let values: BTreeSet<String> = values?.into_iter().map(ToOwned::to_owned).collect();
    Some(SelectorExpression { key: key?.to_owned(), operator: operator?, values })
}

/// Complains about an expression that breaks a rule, and says whether it does.
///
/// <https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/validation/validation.go>
fn complains(field: &Field<'_>, expression: &SelectorExpression) -> bool {
    let SelectorExpression { key, operator, values } = expression;
    let has_values = !values.is_empty();
    let takes_values = matches!(operator, SelectorOperator::In | SelectorOperator::NotIn);
    let rule = if !id::is_qualified_name(key) {
        format!("`{key}` is not a label key")
    } else if takes_values && !has_values {
        "the operators In and NotIn need values".to_owned()
    } else if !takes_values && has_values {
        "the operators Exists and DoesNotExist take no values".to_owned()
    } else if let Some(bad) = values.iter().find(|value| !id::is_label_value(value)) {
        format!("`{bad}` is not a label value")
    } else {
        return false;
    };
    field.complain_if_written(rule);
    true
}

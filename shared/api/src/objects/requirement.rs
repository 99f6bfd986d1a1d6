//! Requirements, taints and labels: the rules that pools and pods share.
//!
//! Karpenter: `pkg/apis/v1/nodeclaim.go` (schema), `pkg/apis/v1/nodeclaim_validation.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Operator, Requirement, Requirements, Taint,
    api_version::{AWS_GROUP, KARPENTER_GROUP},
    id, labels,
};

use crate::{document::field::Field, karpenter::word::Words};

/// Most requirements of a NodePool.
const REQUIREMENTS_MAX: usize = 100;
/// Most labels of a NodePool's template.
const LABELS_MAX: usize = 100;

/// Reads `requirements` of a NodePool.
pub(crate) fn of_node_pool(field: &Field<'_>) -> Requirements {
    let items = field.list_up_to(REQUIREMENTS_MAX).unwrap_or_default();
    items.iter().filter_map(one_of_node_pool).collect()
}

fn one_of_node_pool(item: &Field<'_>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key_field = fields.require("key");
    let key = key_field.as_ref().and_then(|field| node_pool_key(field));
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values_field = fields.get("values");
    let values = values_field.as_ref().map_or(Some(Vec::new()), Field::texts);
    let min_values_field = fields.get("minValues");
    let min_values = min_values_field.as_ref().and_then(|field| field.integer::<u32>(1, 50));
    let place = values_field.unwrap_or_else(|| fields.missing("values"));
    fields.done();
    let (key, operator, values) = (key?, operator?, values?);
    check_values(&place, key, operator, &values)?;
    if let (Some(min), Operator::In) = (min_values, operator)
        && values.len() < usize::try_from(min).unwrap_or(usize::MAX)
    {
        let field = min_values_field.as_ref().unwrap_or(&place);
        field.complain(format!("must not be above the number of values, {}", values.len()));
        return None;
    }
    check_known_values(&place, key, operator, &values, min_values);
    let requirement = place.accept(Requirement::new(key, operator, values.iter().copied()))?;
    Some(requirement.with_min_values(min_values))
}

/// Values that Karpenter knows for a label; a requirement that names only others is an error.
fn check_known_values(
    place: &Field<'_>,
    key: &str,
    operator: Operator,
    values: &[&str],
    min_values: Option<u32>,
) {
    let known: &[&str] = match labels::canonical(key) {
        labels::CAPACITY_TYPE => &["on-demand", "spot", "reserved"],
        labels::INSTANCE_TENANCY => &["default", "dedicated"],
        _ => return,
    };
    let count = values.iter().filter(|value| known.contains(value)).count();
    if operator == Operator::In && count == 0 {
        place.complain_unusable(format!(
            "{values:?} has none of the known values {}",
            known.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        ));
    } else if min_values.is_some_and(|min| count < usize::try_from(min).unwrap_or(usize::MAX))
        && operator == Operator::In
    {
        place.complain_unusable("has fewer known values than minValues");
    }
}

fn node_pool_key<'a>(field: &Field<'a>) -> Option<&'a str> {
    let key = field.text_not_empty()?;
    if let Some(rule) = key_rule(key) {
        field.complain(rule);
        return None;
    }
    if labels::canonical(key) == labels::NODE_POOL {
        field.complain(format!("`{key}` cannot be required of a NodePool: it is set by it"));
        return None;
    }
    if let Some(rule) = restriction(key) {
        field.complain_unusable(rule);
    }
    Some(key)
}

/// What the schema says against a key of a requirement.
fn key_rule(key: &str) -> Option<String> {
    if key.len() > 316 || !id::is_qualified_name(key) {
        return Some(format!(
            "`{key}` is not a label key: it must be an optional DNS prefix and `/`, then at most \
             63 letters, digits, `-`, `_` and `.`"
        ));
    }
    let let_through = [labels::CAPACITY_TYPE, labels::NODE_POOL].contains(&key);
    is_restricted_by_schema(key, let_through).then(|| format!("label `{key}` is restricted"))
}

/// What the CRDs say against labels; `is_let_through` is for those in Karpenter's own domain.
fn is_restricted_by_schema(key: &str, is_let_through: bool) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    key == labels::HOSTNAME
        || domain.ends_with(KARPENTER_GROUP) && !is_let_through
        || domain.ends_with(AWS_GROUP) && !labels::is_well_known(key) && key != labels::NODE_CLASS
}

/// What Karpenter's own validation says against a key, after aliases were replaced.
fn restriction(key: &str) -> Option<String> {
    let canonical = labels::canonical(key);
    labels::is_restricted(canonical).then(|| format!("label `{key}` is restricted"))
}

/// What is wrong with the values that go with an operator, if anything.
pub(crate) fn values_rule(key: &str, operator: Operator, values: &[&str]) -> Option<String> {
    match operator {
        Operator::In if values.is_empty() => {
            Some(format!("operator In on `{key}` needs at least one value"))
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => {
            Requirement::new(key, operator, values.iter().copied())
                .err()
                .map(|error| error.to_string())
                .or_else(|| (values.len() != 1).then(|| "exactly one value is needed".to_owned()))
        }
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => None,
    }
}

fn check_values(place: &Field<'_>, key: &str, operator: Operator, values: &[&str]) -> Option<()> {
    if let Some(rule) = values_rule(key, operator, values) {
        place.complain(rule);
        return None;
    }
    for value in values {
        if !id::is_label_value(value) {
            place.complain_unusable(format!(
                "`{value}` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, \
                 starting and ending with a letter or digit"
            ));
        }
    }
    Some(())
}

/// Reads `metadata.labels` of a NodePool's template.
pub(crate) fn template_labels(field: &Field<'_>) -> BTreeMap<String, String> {
    let entries = field.entries().unwrap_or_default();
    if entries.len() > LABELS_MAX {
        field.complain(format!("must have at most {LABELS_MAX} entries, not {}", entries.len()));
    }
    let mut pool_labels = BTreeMap::new();
    for (key, value) in entries {
        let Some(text) = value.text() else { continue };
        if key == labels::NODE_POOL || is_restricted_by_schema(key, key == labels::CAPACITY_TYPE) {
            value.complain(format!("label `{key}` is restricted"));
        } else if !id::is_label_value(text) {
            value.complain(format!(
                "`{text}` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, \
                 starting and ending with a letter or digit"
            ));
        } else if !id::is_qualified_name(key) {
            value.complain_unusable(format!("`{key}` is not a label key"));
        } else if let Some(rule) = restriction(key) {
            value.complain_unusable(rule);
        }
        pool_labels.insert(key.to_owned(), text.to_owned());
    }
    pool_labels
}

/// Reads a list of taints by the schema's rules.
pub(crate) fn taints(field: Option<&Field<'_>>) -> Vec<Taint> {
    let items = field.and_then(Field::list).unwrap_or_default();
    items.iter().filter_map(taint).collect()
}

fn taint(item: &Field<'_>) -> Option<Taint> {
    let mut fields = item.fields()?;
    fields.ignore(&["timeAdded"]);
    let key = fields.require("key").and_then(|field| {
        let key = field.text_not_empty()?;
        if id::is_qualified_name(key) {
            return Some(key.to_owned());
        }
        field.complain(format!("`{key}` is not a taint key: it must be a qualified name"));
        None
    });
    let value = fields.get("value").map_or(Some(String::new()), |field| {
        let value = field.text()?;
        // The CRD has the pattern of keys here: a prefix may stand in it, and it is never empty.
        if !id::is_qualified_name(value) {
            let rule = format!("`{value}` is not a taint value: it must be a label value");
            if value.is_empty() {
                field.complain_with(rule, "leave `value` out");
            } else {
                field.complain(rule);
            }
            return None;
        }
        if !id::is_label_value(value) {
            field.complain_unusable(format!("`{value}` is not a label value"));
        }
        Some(value.to_owned())
    });
    let effect = fields.require("effect").and_then(|field| field.choice(Words::WORDS));
    fields.done();
    Some(Taint { key: key?, value: value?, effect: effect? })
}

/// Complains when a pair of key and effect stands twice among a pool's taints.
pub(crate) fn check_unique(lists: &[Option<&Field<'_>>]) {
    let mut seen = BTreeSet::new();
    for item in lists.iter().flatten().filter_map(|field| field.list()).flatten() {
        let text = |key: &str| item.tree().get(key).and_then(|tree| tree.as_text());
        if let (Some(key), Some(effect)) = (text("key"), text("effect"))
            && !seen.insert((key, effect))
        {
            item.complain_unusable(format!(
                "`{key}` with the effect {effect} stands there twice among taints and startup taints"
            ));
        }
    }
}

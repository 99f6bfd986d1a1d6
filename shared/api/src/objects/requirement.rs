//! Requirements, taints and labels of Karpenter's kinds as the model has them, with what its controllers
//! say of them once an object is there.
//!
//! Karpenter: `pkg/apis/v1/nodeclaim.go` (schema), `pkg/apis/v1/nodeclaim_validation.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use model::{Operator, Requirement, Taint, id, labels};
use serde_json::Value;

use crate::{
    document::field::Field,
    karpenter::{
        common::{RequirementSpec, TaintSpec},
        pattern::not_a_label_value,
        schema::schema_of,
        walk::{self, Hints},
    },
};

/// A requirement of a NodePool, which stands at `item`.
pub(crate) fn of_node_pool(spec: &RequirementSpec, item: &Field<'_>) -> Option<Requirement> {
    if let Some(rule) = restriction(&spec.key) {
        item.at("key").complain_unusable(rule);
    }
    let values = values_of(spec);
    if let Some(value) = values.iter().find(|value| !id::is_label_value(value)) {
        item.at("values").complain_unusable(not_a_label_value(value));
    }
    let min_values = spec.min_values.and_then(|count| u32::try_from(count).ok());
    check_known_values(&item.at("values"), spec, &values, min_values);
    let requirement = Requirement::new(&spec.key, spec.operator.0, values.iter().copied());
    Some(item.at("values").accept(requirement)?.with_min_values(min_values))
}

/// The values of a requirement, none if it has no list of them.
pub(crate) fn values_of(spec: &RequirementSpec) -> Vec<&str> {
    spec.values.iter().flatten().map(String::as_str).collect()
}

/// Values that Karpenter knows for a label; a requirement that names only others is an error.
fn check_known_values(
    place: &Field<'_>,
    spec: &RequirementSpec,
    values: &[&str],
    min_values: Option<u32>,
) {
    let known_values: &[&str] = match labels::canonical(&spec.key) {
        labels::CAPACITY_TYPE => &["on-demand", "spot", "reserved"],
        labels::INSTANCE_TENANCY => &["default", "dedicated"],
        _ => return,
    };
    let count = values.iter().filter(|value| known_values.contains(value)).count();
    let is_in = spec.operator.0 == Operator::In;
    if is_in && count == 0 {
        place.complain_unusable(format!(
            "{values:?} has none of the known values {}",
            known_values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        ));
    } else if is_in
        && min_values.is_some_and(|min| count < usize::try_from(min).unwrap_or(usize::MAX))
    {
        place.complain_unusable("has fewer known values than minValues");
    }
}

/// What Karpenter's own validation says against a key, after aliases were replaced.
fn restriction(key: &str) -> Option<String> {
    let canonical = labels::canonical(key);
    labels::is_restricted(canonical).then(|| format!("label `{key}` is restricted"))
}

/// Complains of `metadata.labels` of a NodePool's template, which stand at `field`.
pub(crate) fn check_labels(texts: &BTreeMap<String, String>, field: &Field<'_>) {
    for key in texts.keys() {
        if !id::is_qualified_name(key) {
            field.at(key).complain_unusable(format!("`{key}` is not a label key"));
        } else if let Some(rule) = restriction(key) {
            field.at(key).complain_unusable(rule);
        }
    }
}

/// Reads a list of taints by the schema's rules.
pub(crate) fn taints(field: Option<&Field<'_>>) -> Vec<Taint> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<Vec<TaintSpec>>);
    let Some(field) = field else { return Vec::new() };
    let specs: Option<Vec<TaintSpec>> = walk::typed(field, &SCHEMA, Hints::NONE);
    taints_of(specs.unwrap_or_default(), field)
}

/// The taints of `specs`, which stand at `field`.
pub(crate) fn taints_of(specs: Vec<TaintSpec>, field: &Field<'_>) -> Vec<Taint> {
    let taint = |(index, spec): (usize, TaintSpec)| {
        let value = spec.value.unwrap_or_default();
        if !id::is_label_value(&value)
            && let Some(item) = field.list().as_ref().and_then(|items| items.get(index))
        {
            item.at("value").complain_unusable(format!("`{value}` is not a label value"));
        }
        Taint { key: spec.key, value, effect: spec.effect.0 }
    };
    specs.into_iter().enumerate().map(taint).collect()
}

/// Complains when a pair of key and effect stands twice among a pool's taints.
pub(crate) fn check_unique(lists: &[Field<'_>]) {
    let mut seen = BTreeSet::new();
    for item in lists.iter().filter_map(Field::list_if_any).flatten() {
        if let (Some(key), Some(effect)) = (item.text_at("key"), item.text_at("effect"))
            && !seen.insert((key, effect))
        {
            item.complain_unusable(format!(
                "`{key}` with the effect {effect} stands there twice among taints and startup taints"
            ));
        }
    }
}

//! Parts of records: resources, requirements, taints, texts of ids.

use std::collections::BTreeMap;

use model::{
    HourlyPrice, LabelKey, Namespace, ObjectName, Operator, PodKey, Requirement, Requirements,
    ResourceName, Resources, Taint, TaintEffect, requirement::Value,
};
use serde::{Deserialize, Serialize};

/// Amounts in base units by resource; zeros of resources of one's own are kept.
pub(crate) type ResourcesV1 = BTreeMap<String, u64>;

pub(crate) fn of_resources(resources: &Resources) -> ResourcesV1 {
    let mut amounts: ResourcesV1 =
        resources.iter().map(|(name, amount)| (name.to_owned(), amount)).collect();
    amounts.extend(
        resources.extended.iter().map(|(name, amount)| (name.as_str().to_owned(), *amount)),
    );
    amounts
}

pub(crate) fn into_resources(record: &ResourcesV1) -> Result<Resources, String> {
    let mut resources = Resources::default();
    for (name, amount) in record {
        resources.set(&id(name, ResourceName::new)?, *amount);
    }
    Ok(resources)
}

/// A requirement as the set that it is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequirementV1 {
    key: String,
    /// Whether the set is everything but `values`.
    #[serde(default, skip_serializing_if = "is_false")]
    not: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_values: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

pub(crate) fn of_requirements(requirements: &Requirements) -> Vec<RequirementV1> {
    let record_of = |requirement: &Requirement| RequirementV1 {
        key: requirement.key().as_str().to_owned(),
        not: requirement.is_complement(),
        values: requirement.values().iter().map(ToString::to_string).collect(),
        at_least: requirement.at_least(),
        at_most: requirement.at_most(),
        min_values: requirement.min_values(),
    };
    requirements.iter().map(record_of).collect()
}

pub(crate) fn into_requirements(records: &[RequirementV1]) -> Result<Requirements, String> {
    records.iter().map(into_requirement).collect()
}

fn into_requirement(record: &RequirementV1) -> Result<Requirement, String> {
    let key = id(&record.key, LabelKey::new)?;
    let values = record.values.iter().map(|value| Value::from(value.as_str())).collect();
    let set = if record.not {
        Requirement::excluding(key, values)
    } else {
        Requirement::listed(key, values)
    };
    let set = bounded(set, (record.at_least, record.at_most))?;
    Ok(set.with_min_values(record.min_values))
}

/// `set` without what is below or above the `bounds`.
pub(crate) fn bounded(
    mut set: Requirement,
    (at_least, at_most): (Option<i64>, Option<i64>),
) -> Result<Requirement, String> {
    // The upper bound of `Lt 0` is -1, which only `Lt` can say.
    let upper = at_most.map(|most| match most.checked_add(1) {
        Some(limit) => (Operator::Lt, limit),
        None => (Operator::Lte, most),
    });
    let lower = at_least.map(|least| (Operator::Gte, least));
    for (operator, bound) in lower.into_iter().chain(upper) {
        let bound = bound.to_string();
        let bound = Requirement::new(set.key().as_str(), operator, [bound.as_str()])
            .map_err(|error| error.to_string())?;
        set = set.intersection(&bound);
    }
    Ok(set)
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaintV1 {
    key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    value: String,
    effect: String,
}

pub(crate) fn of_taints(taints: &[Taint]) -> Vec<TaintV1> {
    let record_of = |taint: &Taint| TaintV1 {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.as_str().to_owned(),
    };
    taints.iter().map(record_of).collect()
}

pub(crate) fn into_taints(records: Vec<TaintV1>) -> Result<Vec<Taint>, String> {
    let taint_of = |record: TaintV1| {
        let effect = known(&record.effect, "taint effect", TaintEffect::parse)?;
        Ok(Taint { key: record.key, value: record.value, effect })
    };
    records.into_iter().map(taint_of).collect()
}

/// The id in `text`, or why it is none.
pub(crate) fn id<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, model::id::InvalidId>,
) -> Result<T, String> {
    read(text).map_err(|error| error.to_string())
}

/// The ids in `texts`.
pub(crate) fn ids<T>(
    texts: &[String],
    read: impl Fn(&str) -> Result<T, model::id::InvalidId>,
) -> Result<Vec<T>, String> {
    texts.iter().map(|text| id(text, &read)).collect()
}

/// `namespace/name`.
pub(crate) fn pod_key(text: &str) -> Result<PodKey, String> {
    let (namespace, name) = text
        .split_once('/')
        .ok_or_else(|| format!("`{text}` is not a pod's namespace and name"))?;
    Ok(PodKey { namespace: id(namespace, Namespace::new)?, name: id(name, ObjectName::new)? })
}

/// The member of an enumeration called `text`.
pub(crate) fn known<T>(
    text: &str,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    read(text).ok_or_else(|| format!("`{text}` is not a known {what}"))
}

pub(crate) fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

pub(crate) fn price(nanos: u64) -> HourlyPrice {
    HourlyPrice::from_nanos(nanos)
}

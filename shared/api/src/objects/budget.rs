//! PodDisruptionBudgets, PriorityClasses and Namespaces.

use std::collections::BTreeMap;

use model::{
    Namespace,
    eviction::{CountOrPercent, PodDisruptionBudget},
};

use super::{label_selector, metadata::Metadata};
use crate::document::{field::Field, tree::TreeValue};

/// The label that every namespace has from its API server.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Reads a PodDisruptionBudget, and whether its status says how many disruptions it allows; else it allows none.
pub(crate) fn read(object: &Field<'_>) -> Option<(PodDisruptionBudget, bool)> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| field.fields());
    let mut status = fields.get("status").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    let selector =
        spec.get("selector").map_or(Some(None), |field| label_selector::read(&field).map(Some));
    let (min_field, max_field) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    let amount = |field: &Option<Field<'_>>| match field {
        Some(field) => count_or_percent(field).map(Some),
        None => Some(None),
    };
    let (min_available, max_unavailable) = (amount(&min_field), amount(&max_field));
    let policy =
        spec.get("unhealthyPodEvictionPolicy").map_or(Some(false), |field| field.choice(POLICIES));
    spec.done();
    if let (Some(_), Some(field)) = (min_field, max_field) {
        field.complain("must not be there together with `minAvailable`");
    }
    let allowed = status.as_mut().and_then(|status| status.get("disruptionsAllowed"));
    let is_counted = allowed.is_some();
    let budget = PodDisruptionBudget {
        key: metadata?.key(object)?,
        selector: selector?,
        min_available: min_available?,
        max_unavailable: max_unavailable?,
        always_allows_unhealthy: policy?,
        disruptions_allowed: allowed
            .and_then(|field| field.integer(0, i64::from(i32::MAX)))
            .unwrap_or_default(),
    };
    Some((budget, is_counted))
}

/// Whether pods that are not ready may always go.
const POLICIES: &[(&str, bool)] = &[("AlwaysAllow", true), ("IfHealthyBudget", false)];

fn count_or_percent(field: &Field<'_>) -> Option<CountOrPercent> {
    if let TreeValue::Number(_) = &field.tree().value {
        return field.integer(0, i64::from(i32::MAX)).map(CountOrPercent::Count);
    }
    let text = field.text()?;
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    if percent.is_none_or(|percent| percent > 100) {
        field.complain(format!("`{text}` is not a count or a percentage such as `10%`"));
        return None;
    }
    percent.map(CountOrPercent::Percent)
}

/// Reads a Namespace: its labels.
pub(crate) fn read_namespace(object: &Field<'_>) -> Option<(Namespace, BTreeMap<String, String>)> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["spec", "status"]);
    fields.done();
    let Metadata { name, mut labels, .. } = metadata?;
    labels.insert(NAMESPACE_NAME.to_owned(), name.clone());
    Some((object.name().accept(Namespace::new(&name))?, labels))
}

/// A PriorityClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    /// Its name.
    pub name: String,
    /// The priority of its pods.
    pub value: i32,
    /// Whether pods without a class have it.
    pub is_global_default: bool,
}

/// Reads a PriorityClass.
pub(crate) fn read_priority_class(object: &Field<'_>) -> Option<PriorityClass> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["description", "preemptionPolicy"]);
    let value = fields
        .require("value")
        .and_then(|field| field.integer(i64::from(i32::MIN), i64::from(i32::MAX)));
    let is_default = fields.get("globalDefault").map_or(Some(false), |field| field.boolean());
    fields.done();
    Some(PriorityClass { name: metadata?.name, value: value?, is_global_default: is_default? })
}

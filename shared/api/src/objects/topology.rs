//! What a pod asks about the places of other pods: `topologySpreadConstraints`, `podAffinity` and
//! `podAntiAffinity`.
//!
//! What the API server would make of them is worked in: its defaults, and labels of the pod that
//! constraints name by their keys alone.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    LabelKey, Namespace, labels,
    selector::{LabelSelector, SelectorExpression, SelectorOperator},
    topology::{
        NodeInclusionPolicy, PodAffinity, PodAffinityTerm, SpreadConstraint, Weighted,
        WhenUnsatisfiable,
    },
};

use super::label_selector;
use crate::document::field::{Field, Fields};

/// The labels of the pod that asks.
type Labels = BTreeMap<String, String>;

const WHEN_UNSATISFIABLE: &[(&str, WhenUnsatisfiable)] = &[
    ("DoNotSchedule", WhenUnsatisfiable::DoNotSchedule),
    ("ScheduleAnyway", WhenUnsatisfiable::ScheduleAnyway),
];

const POLICIES: &[(&str, NodeInclusionPolicy)] =
    &[("Honor", NodeInclusionPolicy::Honor), ("Ignore", NodeInclusionPolicy::Ignore)];

/// Reads `topologySpreadConstraints` of a pod with `labels`.
pub(crate) fn spread(field: &Field<'_>, labels: &Labels) -> Vec<SpreadConstraint> {
    let items = field.list().unwrap_or_default();
    let mut seen = BTreeSet::new();
    for item in &items {
        let [topology, otherwise] =
            ["topologyKey", "whenUnsatisfiable"].map(|key| item.text_at(key));
        if let (Some(topology), Some(otherwise)) = (topology, otherwise)
            && !seen.insert((topology, otherwise))
        {
            item.complain_if_written_with(
                format!("a constraint before has `{topology}` with `{otherwise}` too"),
                "keep one of them",
            );
        }
    }
    items.iter().filter_map(|item| constraint(item, labels)).collect()
}

/// Reads one of them.
pub(crate) fn constraint(item: &Field<'_>, labels: &Labels) -> Option<SpreadConstraint> {
    let mut fields = item.fields()?;
    let topology_key = topology_key(&mut fields);
    let max_skew =
        fields.require("maxSkew").and_then(|field| field.integer(1, i64::from(i32::MAX)));
    let min_domains_field = fields.get("minDomains");
    let min_domains = min_domains_field.as_ref().map(|f| f.integer(1, i64::from(i32::MAX)));
    let when_unsatisfiable =
        fields.require("whenUnsatisfiable").and_then(|field| field.choice(WHEN_UNSATISFIABLE));
    let selector = selector(&mut fields, "labelSelector");
    let policy = |field: Option<Field<'_>>, default| {
        field.map_or(Some(default), |field| field.choice(POLICIES))
    };
    let node_affinity_policy = policy(fields.get("nodeAffinityPolicy"), NodeInclusionPolicy::Honor);
    let node_taints_policy = policy(fields.get("nodeTaintsPolicy"), NodeInclusionPolicy::Ignore);
    let keys = match_keys(item, &mut fields, "matchLabelKeys");
    fields.done();
    if let (Some(field), Some(WhenUnsatisfiable::ScheduleAnyway)) =
        (min_domains_field, when_unsatisfiable)
    {
        field.complain_if_written("goes with `whenUnsatisfiable: DoNotSchedule` only");
    }
    Some(SpreadConstraint {
        topology_key: topology_key?,
        max_skew: max_skew?,
        min_domains: min_domains.map_or(Some(None), |given| given.map(Some))?,
        when_unsatisfiable: when_unsatisfiable?,
        selector: with_keys(selector?, &keys, labels, SelectorOperator::In),
        node_affinity_policy: node_affinity_policy?,
        node_taints_policy: node_taints_policy?,
    })
}

/// Reads `podAffinity` or `podAntiAffinity` of a pod with `labels`.
pub(crate) fn pod_affinity(field: &Field<'_>, labels: &Labels) -> PodAffinity {
    let Some(mut fields) = field.fields() else { return PodAffinity::default() };
    let mut list =
        |key: &'static str| fields.get(key).and_then(|field| field.list()).unwrap_or_default();
    let required = list("requiredDuringSchedulingIgnoredDuringExecution");
    let preferred = list("preferredDuringSchedulingIgnoredDuringExecution");
    fields.done();
    PodAffinity {
        required: required.iter().filter_map(|item| term(item, labels)).collect(),
        preferred: preferred.iter().filter_map(|item| preference(item, labels)).collect(),
    }
}

fn preference(item: &Field<'_>, labels: &Labels) -> Option<Weighted<PodAffinityTerm>> {
    let mut fields = item.fields()?;
    let weight = fields.require("weight").and_then(|field| field.integer(1, 100));
    let term = fields.require("podAffinityTerm").and_then(|field| term(&field, labels));
    fields.done();
    Some(Weighted { weight: weight?, term: term? })
}

fn term(item: &Field<'_>, labels: &Labels) -> Option<PodAffinityTerm> {
    let mut fields = item.fields()?;
    let topology_key = topology_key(&mut fields);
    let selector = selector(&mut fields, "labelSelector");
    let namespace_selector = self::selector(&mut fields, "namespaceSelector");
    let namespaces: BTreeSet<Namespace> = fields
        .get("namespaces")
        .and_then(|field| field.list())
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.parsed(Namespace::new))
        .collect();
    let matching = match_keys(item, &mut fields, "matchLabelKeys");
    let differing = match_keys(item, &mut fields, "mismatchLabelKeys");
    fields.done();
    if let Some(key) = differing.iter().find(|key| matching.contains(key)) {
        let rule = format!("`{key}` is among `matchLabelKeys` as well");
        item.at("mismatchLabelKeys").complain_if_written_with(rule, "take it out of one of them");
    }
    let selector = with_keys(selector?, &matching, labels, SelectorOperator::In);
    Some(PodAffinityTerm {
        topology_key: topology_key?,
        selector: with_keys(selector, &differing, labels, SelectorOperator::NotIn),
        namespaces,
        namespace_selector: namespace_selector?,
    })
}

fn topology_key(fields: &mut Fields<'_>) -> Option<LabelKey> {
    let field = fields.require("topologyKey")?;
    let text = field.text_not_empty()?;
    field.accept(LabelKey::new(labels::canonical(text)))
}

/// The selector called `key`: `Some(None)` where there is none, `None` where it cannot be read.
#[expect(clippy::option_option, reason = "no selector and no readable selector are two things")]
fn selector(fields: &mut Fields<'_>, key: &'static str) -> Option<Option<LabelSelector>> {
    match fields.get(key) {
        Some(field) => label_selector::read(&field).map(Some),
        None => Some(None),
    }
}

/// The keys of labels at `name` of `item`, whose fields are `fields`. They need a `labelSelector`.
///
/// Kubernetes: `validateLabelKeys` in `pkg/apis/core/validation/validation.go`.
fn match_keys<'a>(item: &Field<'a>, fields: &mut Fields<'a>, name: &'static str) -> Vec<&'a str> {
    let Some(field) = fields.get(name) else { return Vec::new() };
    let keys = field.texts().unwrap_or_default();
    if !keys.is_empty() && !item.has("labelSelector") {
        let cure = format!("write a `labelSelector`, or leave out `{name}`");
        field.complain_if_written_with("goes with a `labelSelector` only", cure);
    }
    keys
}

/// The selector with what the pod itself has for `keys`; keys that it does not have say nothing.
///
/// The API server works them in as well, from Kubernetes 1.34 on for spread: a repeated expression
/// is the same selector.
fn with_keys(
    selector: Option<LabelSelector>,
    keys: &[&str],
    labels: &Labels,
    operator: SelectorOperator,
) -> Option<LabelSelector> {
    let mut selector = selector?;
    for key in keys {
        if let Some(value) = labels.get(*key) {
            let (key, values) = ((*key).to_owned(), BTreeSet::from([value.clone()]));
            selector.expressions.insert(SelectorExpression { key, operator, values });
        }
    }
    Some(selector)
}

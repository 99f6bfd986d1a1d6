//! `affinity` of a pod: node affinity here, that to other pods in `topology`.

use std::collections::BTreeMap;

use model::{
    Operator, Problem, Requirement,
    topology::{PodAffinity, Weighted},
};

use super::topology;
use crate::{
    document::field::Field,
    karpenter::{pool_rules::values_rule, word::Words},
};

/// Affinity as it was read.
#[derive(Default)]
pub(crate) struct Affinity {
    /// The alternatives of the required node affinity, in their order.
    pub(crate) required: Vec<Vec<Requirement>>,
    pub(crate) preferred: Vec<Weighted<Vec<Requirement>>>,
    /// Whether a required term has `matchFields`.
    pub(crate) has_match_fields: bool,
    /// The `matchFields` of each required term; empty if none has any.
    pub(crate) match_fields: Vec<Vec<Requirement>>,
    pub(crate) pods: PodAffinity,
    pub(crate) anti: PodAffinity,
}

/// Reads `affinity` of a pod with `labels`. What Karpenter refuses to schedule for its form is put
/// into words.
pub(crate) fn read(
    field: &Field<'_>,
    labels: &BTreeMap<String, String>,
    problems: &mut Vec<Problem>,
) -> Affinity {
    let Some(mut fields) = field.fields() else { return Affinity::default() };
    let mut pods = |key: &'static str| {
        let field = fields.get(key);
        field.map(|field| topology::pod_affinity(&field, labels)).unwrap_or_default()
    };
    let (near, far) = (pods("podAffinity"), pods("podAntiAffinity"));
    let node = fields.get("nodeAffinity").map(|field| node_affinity(&field, problems));
    fields.done();
    Affinity { pods: near, anti: far, ..node.unwrap_or_default() }
}

fn node_affinity(field: &Field<'_>, problems: &mut Vec<Problem>) -> Affinity {
    let Some(mut fields) = field.fields() else { return Affinity::default() };
    let preferred = fields.get("preferredDuringSchedulingIgnoredDuringExecution");
    let preferred = preferred.and_then(|field| field.list()).unwrap_or_default();
    let required = fields.get("requiredDuringSchedulingIgnoredDuringExecution");
    let mut required = required.and_then(|field| field.fields());
    let terms = required.as_mut().and_then(|inner| inner.require("nodeSelectorTerms"));
    if let Some(inner) = required {
        inner.done();
    }
    fields.done();
    let terms = terms.and_then(|field| field.list()).unwrap_or_default();
    let terms: Vec<Term> = terms.iter().filter_map(|item| term(item, problems)).collect();
    let preferred = preferred.iter().filter_map(preference);
    let has_match_fields = terms.iter().any(|term| term.has_match_fields);
    let has_names = terms.iter().any(|term| !term.match_fields.is_empty());
    let match_fields = terms.iter().map(|term| term.match_fields.clone());
    Affinity {
        has_match_fields,
        match_fields: if has_names { match_fields.collect() } else { Vec::new() },
        preferred: preferred.collect(),
        required: terms.into_iter().map(|term| term.expressions).collect(),
        ..Affinity::default()
    }
}

/// A term of node affinity.
pub(crate) struct Term {
    pub(crate) expressions: Vec<Requirement>,
    pub(crate) match_fields: Vec<Requirement>,
    has_match_fields: bool,
}

/// A preference keeps no pod from a node: one that no node can satisfy, or whose form is wrong, is left out.
fn preference(item: &Field<'_>) -> Option<Weighted<Vec<Requirement>>> {
    let mut broken = Vec::new();
    let mut fields = item.fields()?;
    let weight = fields.require("weight").and_then(|field| field.integer(1, 100));
    let read = |field: Field<'_>| term_of(&field, |item| preferred_expression(item, &mut broken));
    let term = fields.require("preference").and_then(read);
    fields.done();
    let preference = Weighted { weight: weight?, term: term?.expressions };
    broken.is_empty().then_some(preference)
}

/// An expression of a preference. Karpenter takes any whole number there, and no node has less than none.
fn preferred_expression(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<Requirement> {
    let (key, operator, values) = parts(item)?;
    let number = values.first().and_then(|text| text.parse::<i64>().ok());
    let is_below_none = number.is_some_and(|number| number < 0) && values.len() == 1;
    if is_below_none && matches!(operator, Operator::Gt | Operator::Gte) {
        return Requirement::new(key, Operator::Gte, ["0"]).ok();
    }
    judged(item, (key, operator, values), problems)
}

/// Reads a term of node affinity, or of another node selector.
pub(crate) fn term(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<Term> {
    term_of(item, |item| judged(item, parts(item)?, problems))
}

fn term_of(
    item: &Field<'_>,
    expression: impl FnMut(&Field<'_>) -> Option<Requirement>,
) -> Option<Term> {
    let mut fields = item.fields()?;
    let match_fields = fields.get("matchFields").and_then(|field| field.list());
    let expressions = fields.get("matchExpressions").and_then(|field| field.list());
    fields.done();
    let match_fields = match_fields.unwrap_or_default();
    Some(Term {
        expressions: expressions.unwrap_or_default().iter().filter_map(expression).collect(),
        has_match_fields: !match_fields.is_empty(),
        match_fields: match_fields.iter().filter_map(match_field).collect(),
    })
}

/// A member of `matchFields`; lists of functions keep only that there is one.
fn match_field(item: &Field<'_>) -> Option<Requirement> {
    if item.is_null() {
        return None;
    }
    let (key, operator, values) = parts(item)?;
    item.accept(Requirement::new(key, operator, values))
}

/// Key, operator and values of an expression.
fn parts<'a>(item: &Field<'a>) -> Option<(&'a str, Operator, Vec<&'a str>)> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    fields.done();
    Some((key?, operator?, values?))
}

/// The requirement of an expression. What is wrong with its key and its values is judged where pods are placed; an
/// operator that does not go with its values cannot even be kept.
fn judged(
    item: &Field<'_>,
    (key, operator, values): (&str, Operator, Vec<&str>),
    problems: &mut Vec<Problem>,
) -> Option<Requirement> {
    if let Some(rule) = values_rule(key, operator, &values) {
        let words = format!("node affinity {key}: {rule}");
        problems.push(Problem::unsupported("affinity.nodeAffinity", words));
        return Requirement::new(key, operator, values).ok();
    }
    item.accept(Requirement::new(key, operator, values))
}

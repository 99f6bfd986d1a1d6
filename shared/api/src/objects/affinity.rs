//! `affinity` of a pod: node affinity here, that to other pods in `topology`.

use std::collections::BTreeMap;

use model::{
    Problem, Requirement,
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
    let preferred = preferred.iter().filter_map(|item| preference(item, problems));
    Affinity {
        has_match_fields: terms.iter().any(|term| term.has_match_fields),
        preferred: preferred.collect(),
        required: terms.into_iter().map(|term| term.expressions).collect(),
        ..Affinity::default()
    }
}

/// A term of node affinity.
pub(crate) struct Term {
    pub(crate) expressions: Vec<Requirement>,
    has_match_fields: bool,
}

fn preference(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<Weighted<Vec<Requirement>>> {
    let mut fields = item.fields()?;
    let weight = fields.require("weight").and_then(|field| field.integer(1, 100));
    let term = fields.require("preference").and_then(|field| term(&field, problems));
    fields.done();
    Some(Weighted { weight: weight?, term: term?.expressions })
}

/// Reads a term of node affinity, of a pod or of a PersistentVolume.
pub(crate) fn term(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<Term> {
    let mut fields = item.fields()?;
    let match_fields = fields.get("matchFields").and_then(|field| field.list());
    let expressions = fields.get("matchExpressions").and_then(|field| field.list());
    fields.done();
    let expressions = expressions.unwrap_or_default();
    let expressions = expressions.iter().filter_map(|item| expression(item, problems));
    Some(Term {
        expressions: expressions.collect(),
        has_match_fields: match_fields.is_some_and(|list| !list.is_empty()),
    })
}

/// An expression. What is wrong with its key and its values is judged where pods are placed; an
/// operator that does not go with its values cannot even be kept.
fn expression(item: &Field<'_>, problems: &mut Vec<Problem>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    fields.done();
    let (key, operator, values) = (key?, operator?, values?);
    if let Some(rule) = values_rule(key, operator, &values) {
        let words = format!("node affinity {key}: {rule}");
        problems.push(Problem::unsupported("affinity.nodeAffinity", words));
        return Requirement::new(key, operator, values).ok();
    }
    item.accept(Requirement::new(key, operator, values))
}

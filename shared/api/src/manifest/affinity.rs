//! `affinity` of a pod: required node affinity is read, the rest is put into words.

use model::{Operator, Requirement, labels};

use super::{
    pod_spec::not_yet,
    requirement::{self, OPERATORS},
};
use crate::fields::Field;

/// The alternatives of the required node affinity, in their order.
pub(crate) fn read(field: &Field<'_>, unsupported: &mut Vec<String>) -> Vec<Vec<Requirement>> {
    let Some(mut fields) = field.fields() else { return Vec::new() };
    for key in ["podAffinity", "podAntiAffinity"] {
        let Some(mut inner) = fields.get(key).and_then(|field| field.fields()) else { continue };
        let mut has = |key: &'static str| {
            inner.get(key).and_then(|field| field.list()).is_some_and(|list| !list.is_empty())
        };
        // Both are asked for, so that neither counts as unknown.
        let required = has("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = has("preferredDuringSchedulingIgnoredDuringExecution");
        if required || preferred {
            unsupported.push(not_yet(key));
        }
        inner.done();
    }
    let node = fields.get("nodeAffinity").map(|field| node_affinity(&field, unsupported));
    fields.done();
    node.unwrap_or_default()
}

fn node_affinity(field: &Field<'_>, unsupported: &mut Vec<String>) -> Vec<Vec<Requirement>> {
    let Some(mut fields) = field.fields() else { return Vec::new() };
    let preferred = fields.get("preferredDuringSchedulingIgnoredDuringExecution");
    if preferred.and_then(|field| field.list()).is_some_and(|list| !list.is_empty()) {
        unsupported.push(not_yet("preferred node affinity"));
    }
    let required = fields.get("requiredDuringSchedulingIgnoredDuringExecution");
    let mut required = required.and_then(|field| field.fields());
    let terms = required.as_mut().and_then(|inner| inner.require("nodeSelectorTerms"));
    if let Some(inner) = required {
        inner.done();
    }
    fields.done();
    let terms = terms.and_then(|field| field.list()).unwrap_or_default();
    let all: Vec<_> = terms.iter().map(|item| term(item, unsupported)).collect();
    let refuses_pools = all.first().into_iter().flatten().any(|requirement| {
        requirement.key().as_str() == labels::NODE_POOL
            && requirement.operator() == Operator::DoesNotExist
    });
    if refuses_pools {
        unsupported.push("its node affinity asks for nodes of no NodePool".to_owned());
    }
    all
}

fn term(item: &Field<'_>, unsupported: &mut Vec<String>) -> Vec<Requirement> {
    let Some(mut fields) = item.fields() else { return Vec::new() };
    let match_fields = fields.get("matchFields").and_then(|field| field.list());
    if match_fields.is_some_and(|list| !list.is_empty()) {
        unsupported.push(not_yet("matchFields in node affinity"));
    }
    let expressions = fields.get("matchExpressions").and_then(|field| field.list());
    fields.done();
    let expressions = expressions.unwrap_or_default();
    expressions.iter().filter_map(|expression| read_expression(expression, unsupported)).collect()
}

fn read_expression(item: &Field<'_>, unsupported: &mut Vec<String>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(OPERATORS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    fields.done();
    let (key, operator, values) = (key?, operator?, values?);
    if let Some(rule) = requirement::invalid_for_pod(key, operator, &values) {
        unsupported.push(format!("node affinity {key}: {rule}"));
        return Requirement::new(key, operator, values).ok();
    }
    item.accept(Requirement::new(key, operator, values))
}

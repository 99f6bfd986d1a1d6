//! A plan for machines: new claims, places on existing nodes, pods without a place.

use std::collections::BTreeMap;

use model::{
    NodeClaim, PodKey, Requirement, Requirements, labels, plan::Promise, plan::Target, resources,
};
use serde::Serialize;

use super::Planned;

/// The whole answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waiting: bool,
    new_node_claims: Vec<NewClaim<'a>>,
    /// Of pools with `replicas`: no pod is for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    static_node_claims: Vec<NewClaim<'a>>,
    /// Pools with `replicas` that do not get them, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    static_node_pools: Vec<String>,
    existing_nodes: Vec<Existing<'a>>,
    unschedulable: Vec<Unschedulable>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NewClaim<'a> {
    name: &'a str,
    node_pool: &'a str,
    node_class: &'a str,
    pods: Vec<String>,
    instance_types: Vec<&'a str>,
    requirements: Vec<Entry<'a>>,
    requests: BTreeMap<String, String>,
    cheapest: Cheapest<'a>,
}

/// An entry of a NodeClaim's `requirements`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    key: &'a str,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_values: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cheapest<'a> {
    instance_type: &'a str,
    zone: &'a str,
    capacity_type: &'static str,
    price_per_hour: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Existing<'a> {
    node: &'a str,
    pods: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Unschedulable {
    pod: String,
    reason: String,
}

/// The answer to `planned`.
pub(super) fn document(planned: &Planned) -> Document<'_> {
    let plan = &planned.plan;
    let existing = plan.placements.iter().map(|placement| Existing {
        node: match &placement.target {
            Target::Node(node) => node.as_str(),
            Target::Claim(claim) => claim.as_str(),
        },
        pods: names(&placement.pods),
    });
    let unschedulable = plan.unplaced.iter().map(|unplaced| {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        Unschedulable { pod: unplaced.pod.to_string(), reason: reasons.join("; ") }
    });
    Document {
        waiting: planned.is_waiting,
        new_node_claims: plan.promises.iter().map(new_claim).collect(),
        static_node_claims: planned.fixed.promises.iter().map(new_claim).collect(),
        static_node_pools: planned.fixed.notes.iter().map(ToString::to_string).collect(),
        existing_nodes: existing.collect(),
        unschedulable: unschedulable.collect(),
    }
}

fn names(pods: &[PodKey]) -> Vec<String> {
    pods.iter().map(ToString::to_string).collect()
}

fn new_claim(promise: &Promise) -> NewClaim<'_> {
    let NodeClaim { name, node_pool, node_class, requirements, requests, .. } = &promise.claim;
    let shown =
        |(name, amount): (&str, u64)| (name.to_owned(), resources::format_amount(name, amount));
    NewClaim {
        name: name.as_str(),
        node_pool: node_pool.as_str(),
        node_class: node_class.as_str(),
        pods: names(&promise.claim.pods),
        instance_types: promise.possible.iter().map(model::InstanceTypeName::as_str).collect(),
        requirements: entries(requirements),
        requests: requests.iter().filter(|(_, amount)| *amount > 0).map(shown).collect(),
        cheapest: Cheapest {
            instance_type: promise.cheapest.instance_type.as_str(),
            zone: promise.cheapest.zone.as_str(),
            capacity_type: promise.cheapest.capacity_type.as_str(),
            price_per_hour: promise.price.to_string(),
        },
    }
}

/// Requirements as a NodeClaim has them, without the list of types, which stands beside them.
pub(super) fn entries(requirements: &Requirements) -> Vec<Entry<'_>> {
    let others = requirements.iter().filter(|requirement| {
        requirement.key().as_str() != labels::INSTANCE_TYPE || requirement.min_values().is_some()
    });
    others.flat_map(entries_of).collect()
}

fn entries_of(requirement: &Requirement) -> impl Iterator<Item = Entry<'_>> {
    let (key, min_values) = (requirement.key().as_str(), requirement.min_values());
    requirement.entries().into_iter().map(move |(operator, values)| Entry {
        key,
        operator: operator.as_str(),
        values,
        min_values,
    })
}

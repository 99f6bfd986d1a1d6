//! A plan for machines: new claims, places on existing nodes, pods without a place.

use std::collections::BTreeMap;

use model::{
    NodeClaim, Plan, PodKey, Requirement, Requirements, labels,
    plan::{NewClaim, Placement, Reason, Target},
    resources,
};
use report::{json::Dollars, output::HOURS_PER_MONTH};
use serde::Serialize;

use super::{Planned, rounds::Round};

/// The whole answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waiting: bool,
    new_node_claims: Vec<NewNodeClaim<'a>>,
    /// Of pools with `replicas`: no pod is for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    static_node_claims: Vec<NewNodeClaim<'a>>,
    /// Pools with `replicas` that do not get them, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    static_node_pools: Vec<String>,
    existing_nodes: Vec<Existing<'a>>,
    unschedulable: Vec<Unschedulable>,
    /// What would be planned once that is launched, as far as it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<Later<'a>>,
    totals: Totals,
    /// What is left out, and why.
    left_out: &'a [String],
    /// What was taken for granted, because no object says it.
    assumptions: &'a [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Later<'a> {
    new_node_claims: Vec<NewNodeClaim<'a>>,
    existing_nodes: Vec<Existing<'a>>,
    unschedulable: Vec<Unschedulable>,
}

/// Sums over the first round. Prices are dollars, those of each claim's cheapest offering.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    nodes: usize,
    price_per_hour: Dollars,
    price_per_month: Dollars,
    /// Of the claims with their volumes, and of other plans for the same pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet_per_hour: Option<FleetTotals>,
    pods_on_new_nodes: usize,
    pods_on_existing_nodes: usize,
    pods_unschedulable: usize,
    by_node_pool: BTreeMap<String, PoolTotals>,
}

/// Dollars for one hour.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetTotals {
    price: Dollars,
    karpenter: Dollars,
    cheapest: Dollars,
    /// No plan can cost less.
    lower_bound: Dollars,
    /// What these are of.
    included: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolTotals {
    nodes: usize,
    price_per_hour: Dollars,
    pods: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NewNodeClaim<'a> {
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
    price_per_hour: Dollars,
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
    /// All of `reasons` in one text.
    reason: String,
    reasons: Vec<OneReason>,
    /// It would find a place once the new nodes are there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    placed_after_launch: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OneReason {
    #[serde(skip_serializing_if = "Option::is_none")]
    node_pool: Option<String>,
    message: String,
}

/// The answer to `planned`.
pub(super) fn document(planned: &Planned) -> Document<'_> {
    let plan = &planned.plan;
    let later = planned.later.iter().filter(|round| round.is_wanted).map(|round| Later {
        new_node_claims: round.plan.new_claims.iter().map(new_node_claim).collect(),
        existing_nodes: existing(&round.plan.placements),
        unschedulable: unschedulable(&round.plan, None),
    });
    Document {
        waiting: planned.is_waiting,
        new_node_claims: plan.new_claims.iter().map(new_node_claim).collect(),
        static_node_claims: planned.fixed.new_claims.iter().map(new_node_claim).collect(),
        static_node_pools: planned.fixed.notes.iter().map(ToString::to_string).collect(),
        existing_nodes: existing(planned.on_existing()),
        unschedulable: unschedulable(plan, planned.later.first()),
        rounds: later.collect(),
        totals: totals(planned),
        left_out: &planned.remarks.left_out,
        assumptions: &planned.remarks.assumptions,
    }
}

fn totals(planned: &Planned) -> Totals {
    let plan = &planned.plan;
    let mut pools: BTreeMap<String, (PoolTotals, u128)> = BTreeMap::new();
    let mut sum = 0;
    let new_claims = || plan.new_claims.iter().chain(&planned.fixed.new_claims);
    for new in new_claims() {
        let (totals, price) = pools.entry(new.claim.node_pool.to_string()).or_default();
        totals.nodes += 1;
        totals.pods += new.claim.pods.len();
        *price += u128::from(new.price.nanos());
        sum += u128::from(new.price.nanos());
    }
    let by_node_pool = pools.into_iter().map(|(pool, (totals, price))| {
        (pool, PoolTotals { price_per_hour: Dollars::of(price), ..totals })
    });
    Totals {
        nodes: new_claims().count(),
        price_per_hour: Dollars::of(sum),
        price_per_month: Dollars::of(sum * HOURS_PER_MONTH),
        fleet_per_hour: planned.prices.map(|prices| FleetTotals {
            price: prices.plan.into(),
            karpenter: prices.karpenter.into(),
            cheapest: prices.cheapest.into(),
            lower_bound: prices.bound.into(),
            included: planned.included.clone(),
        }),
        pods_on_new_nodes: new_claims().map(|new| new.claim.pods.len()).sum(),
        pods_on_existing_nodes: planned.on_existing().map(|placed| placed.pods.len()).sum(),
        pods_unschedulable: plan.unplaced.len(),
        by_node_pool: by_node_pool.collect(),
    }
}

fn existing<'a>(placements: impl IntoIterator<Item = &'a Placement>) -> Vec<Existing<'a>> {
    let existing = placements.into_iter().map(|placement| Existing {
        node: match &placement.target {
            Target::Node(node) => node.as_str(),
            Target::Claim(claim) => claim.as_str(),
        },
        pods: names(&placement.pods),
    });
    existing.collect()
}

fn unschedulable(plan: &Plan, later: Option<&Round>) -> Vec<Unschedulable> {
    let unschedulable = plan.unplaced.iter().map(|unplaced| {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        let in_parts = |reason: &Reason| OneReason {
            node_pool: reason.node_pool.as_ref().map(ToString::to_string),
            message: reason.text.clone(),
        };
        Unschedulable {
            pod: unplaced.pod.to_string(),
            reason: reasons.join("; "),
            reasons: unplaced.reasons.iter().map(in_parts).collect(),
            placed_after_launch: later.is_some_and(|round| round.places(&unplaced.pod)),
        }
    });
    unschedulable.collect()
}

fn names(pods: &[PodKey]) -> Vec<String> {
    pods.iter().map(ToString::to_string).collect()
}

fn new_node_claim(new: &NewClaim) -> NewNodeClaim<'_> {
    let NodeClaim { name, node_pool, node_class, requirements, requests, .. } = &new.claim;
    let shown =
        |(name, amount): (&str, u64)| (name.to_owned(), resources::format_amount(name, amount));
    NewNodeClaim {
        name: name.as_str(),
        node_pool: node_pool.as_str(),
        node_class: node_class.as_str(),
        pods: names(&new.claim.pods),
        instance_types: new.possible.iter().map(model::InstanceTypeName::as_str).collect(),
        requirements: entries(requirements),
        requests: requests.iter().filter(|(_, amount)| *amount > 0).map(shown).collect(),
        cheapest: Cheapest {
            instance_type: new.cheapest.instance_type.as_str(),
            zone: new.cheapest.zone.as_str(),
            capacity_type: new.cheapest.capacity_type.as_str(),
            price_per_hour: new.price.into(),
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

//! From the types that a claim names to those that are worth sending to EC2.
//!
//! The steps stand in the order in which they are taken; each looks only at what the ones before
//! it left. Karpenter: `pkg/providers/instance/filter/filter.go` and `instance.go` of the AWS
//! provider.

use std::sync::Arc;

use model::{
    CapacityType, HourlyPrice, InstanceType, LabelKey, NodeClaim, Offering, Requirement,
    Requirements, labels, limits, policies::MinValuesPolicy, requirements::Undefined,
};

mod reserved;

pub(crate) use reserved::market;

const EXOTIC_RESOURCES: [&str; 5] = [
    "nvidia.com/gpu",
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "habana.ai/gaudi",
];

/// A type with those of its offerings that may still be bought; never without any.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    /// The type.
    pub(crate) instance_type: &'a InstanceType,
    /// Available, and allowed by the claim.
    pub(crate) offerings: Vec<&'a Offering>,
}

impl Candidate<'_> {
    fn cheapest(&self) -> Option<HourlyPrice> {
        self.offerings.iter().map(|offering| offering.price).min()
    }

    /// With only those offerings that `keeps`; nothing if none is left.
    fn filtered(self, keeps: impl Fn(&Offering) -> bool) -> Option<Self> {
        let offerings: Vec<_> = self.offerings.into_iter().filter(|o| keeps(o)).collect();
        (!offerings.is_empty()).then_some(Self { offerings, ..self })
    }
}

/// What `claim` may be launched as: at most 60 types, cheapest first. The error says which step
/// left none.
pub(crate) fn candidates<'a>(
    claim: &NodeClaim,
    types: &'a [Arc<InstanceType>],
    min_values: MinValuesPolicy,
) -> Result<Vec<Candidate<'a>>, String> {
    let requirements = &claim.requirements;
    let fitting = fitting(claim, types);
    if fitting.is_empty() {
        let any = if claim.is_standalone() { types.len() } else { 0 };
        let named = claim.instance_types.len().max(any);
        return Err(format!(
            "of the {named} instance types of the claim none fits its requirements and requests \
             and is available"
        ));
    }
    let fitting = if allows(requirements, CapacityType::Reserved) {
        reserved::best(fitting)
    } else {
        fitting
    };
    if requirements.has_min_values() {
        return truncated(fitting, requirements, min_values);
    }
    let ordinary = without_exotic(fitting);
    truncated(without_dear_spot(ordinary, requirements), requirements, min_values)
}

/// How the claim is launched: reserved before spot before on-demand, if any candidate offers it.
pub(crate) fn capacity_type(candidates: &[Candidate<'_>]) -> CapacityType {
    let offers = |wanted: &CapacityType| {
        let mut offerings = candidates.iter().flat_map(|candidate| &candidate.offerings);
        offerings.any(|offering| offering.capacity_type == *wanted)
    };
    let preferred = [CapacityType::Reserved, CapacityType::Spot];
    preferred.into_iter().find(offers).unwrap_or(CapacityType::OnDemand)
}

/// Types that the claim names, or any for one that a user made, whose labels it allows, that its requests fit on, with an available
/// offering that it allows.
fn fitting<'a>(claim: &NodeClaim, types: &'a [Arc<InstanceType>]) -> Vec<Candidate<'a>> {
    let named: std::collections::BTreeSet<_> = claim.instance_types.iter().collect();
    let requirements = &claim.requirements;
    let fits = |instance_type: &&Arc<InstanceType>| {
        (named.contains(&instance_type.name) || claim.is_standalone())
            && requirements.compatible(&instance_type.requirements, Undefined::WellKnown).is_ok()
            && claim.requests.fits_in(&instance_type.allocatable())
    };
    let offered = |instance_type: &'a Arc<InstanceType>| {
        let allowed = |o: &&Offering| o.is_launchable() && o.is_compatible(requirements);
        let offerings: Vec<_> = instance_type.offerings.iter().filter(allowed).collect();
        Candidate { instance_type, offerings }
    };
    let candidates = types.iter().filter(fits).map(offered);
    candidates.filter(|candidate| !candidate.offerings.is_empty()).collect()
}

/// Without bare metal and accelerators, unless there is nothing else.
fn without_exotic(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let is_exotic = |candidate: &Candidate<'_>| {
        let instance_type = candidate.instance_type;
        let is_metal =
            instance_type.label(labels::INSTANCE_SIZE).is_some_and(|s| s.contains("metal"));
        is_metal || EXOTIC_RESOURCES.iter().any(|name| instance_type.capacity.get(name) > 0)
    };
    if candidates.iter().all(is_exotic) {
        return candidates;
    }
    candidates.into_iter().filter(|candidate| !is_exotic(candidate)).collect()
}

/// When both spot and on-demand are allowed and offered: without spot that costs more than the
/// cheapest on-demand offering. Equal prices stay.
fn without_dear_spot<'a>(
    candidates: Vec<Candidate<'a>>,
    requirements: &Requirements,
) -> Vec<Candidate<'a>> {
    if !allows(requirements, CapacityType::Spot) || !allows(requirements, CapacityType::OnDemand) {
        return candidates;
    }
    let offerings = candidates.iter().flat_map(|candidate| &candidate.offerings);
    let on_demand = offerings.filter(|o| o.capacity_type == CapacityType::OnDemand);
    let Some(limit) = on_demand.map(|offering| offering.price).min() else {
        return candidates;
    };
    let keeps = |o: &Offering| o.capacity_type != CapacityType::Spot || o.price <= limit;
    candidates.into_iter().filter_map(|candidate| candidate.filtered(keeps)).collect()
}

/// Whether a claim with `requirements` may be paid for like this.
fn allows(requirements: &Requirements, capacity_type: CapacityType) -> bool {
    let requirement = requirements.get(labels::CAPACITY_TYPE);
    requirement.is_none_or(|requirement| requirement.has(capacity_type.as_str()))
}

/// Whether a claim with `requirements` can only be paid for like this.
fn allows_only(requirements: &Requirements, capacity_type: CapacityType) -> bool {
    let asked = requirements.get(labels::CAPACITY_TYPE).and_then(Requirement::single_value);
    asked.is_some_and(|only| **only == *capacity_type.as_str())
}

/// The cheapest 60, if they still have as many different values as `minValues` asks for. Ties go
/// to the name that sorts first.
fn truncated<'a>(
    mut candidates: Vec<Candidate<'a>>,
    requirements: &Requirements,
    min_values: MinValuesPolicy,
) -> Result<Vec<Candidate<'a>>, String> {
    candidates
        .sort_by_cached_key(|candidate| (candidate.cheapest(), &candidate.instance_type.name));
    candidates.truncate(limits::INSTANCE_TYPES_PER_FLEET_MAX);
    let types = candidates.iter().map(|candidate| candidate.instance_type);
    let violated = requirements.min_values(types).violated;
    // A claim that is held to reservations had to reach its `minValues` with the types that are not
    // reserved as well: none of them can be sent.
    let is_held = allows_only(requirements, CapacityType::Reserved);
    if violated.is_empty() || is_held || min_values == MinValuesPolicy::BestEffort {
        return Ok(candidates);
    }
    let labels: Vec<&str> = violated.keys().map(LabelKey::as_str).collect();
    Err(format!(
        "the {} cheapest instance types have fewer different values than minValues asks for of {}",
        candidates.len(),
        labels.join(", ")
    ))
}

#[cfg(test)]
mod tests;

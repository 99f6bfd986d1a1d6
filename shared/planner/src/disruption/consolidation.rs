//! One set of nodes: could it go, and what would come for less?
//!
//! Karpenter: `pkg/controllers/disruption/consolidation.go`, `computeConsolidation`, and
//! `multinodeconsolidation.go`, `filterOutSameInstanceType`.

use std::collections::BTreeMap;

use model::{
    CapacityType, InstanceType, Operator, Requirement, Requirements, labels, policies::Packing,
};

use super::{
    candidate::Candidate,
    nodes::State,
    objection::Objection,
    price::{self, Exact},
    simulation::{Mode, NewNode, Simulated, Simulator},
};

/// Types that a single spot node's spot replacement must have at least, so that what EC2 chooses
/// from them is not improved upon at once.
///
/// Karpenter: `consolidation.go`, `MinInstanceTypesForSpotToSpotConsolidation`.
pub(super) const SPOT_TYPES_MIN: usize = 15;

/// What would happen without `nodes`: nothing new, or one new node that is cheaper whatever EC2
/// chooses.
pub(crate) fn compute<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    nodes: &[&Candidate<'a>],
) -> Result<Simulated, Objection> {
    let trial = || simulator.without(nodes, Mode::Consolidation(state.now));
    let mut outcome = places_for_all(state, nodes, trial)?;
    let [new] = outcome.in_flight.as_mut_slice() else {
        return match outcome.in_flight.len() {
            0 => holds_scattered(state, simulator, nodes).map(|()| outcome),
            count => Err(Objection::ManyNodes(count)),
        };
    };
    let before = price::of_all(nodes);
    if are_all_spot(nodes) && allows(&new.requirements, CapacityType::Spot) {
        spot_to_spot(state, new, before, nodes.len())?;
        keep_saving(state, new, (before, nodes))?;
        return Ok(outcome);
    }
    keep_cheaper(new, before)?;
    // A launch that falls back to on-demand might cost more than what it replaces.
    if allows(&new.requirements, CapacityType::Spot)
        && allows(&new.requirements, CapacityType::OnDemand)
    {
        only_spot(&mut new.requirements);
    }
    keep_saving(state, new, (before, nodes))?;
    Ok(outcome)
}

/// What the `trial` without `nodes` comes to, if each of their pods has a place then, and no more are moved than may
/// be.
pub(super) fn places_for_all(
    state: &State<'_>,
    nodes: &[&Candidate<'_>],
    trial: impl FnOnce() -> Result<Simulated, Objection>,
) -> Result<Simulated, Objection> {
    let pods = nodes.iter().map(|node| node.pods.len()).sum();
    if let Some(objection) = state.history.too_many(pods) {
        return Err(objection);
    }
    let outcome = trial()?;
    match &outcome.stuck {
        Some(reason) => Err(Objection::Stuck(Box::new(reason.clone()))),
        None => Ok(outcome),
    }
}

/// Whether the pods of `nodes` find their places also where kube-scheduler places them as it likes. Nodes that are packed
/// so that they cost least are full to the last: where the pods of one fit onto the others in one way alone,
/// kube-scheduler finds another, and a node like it is launched again.
pub(super) fn holds_scattered<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    nodes: &[&Candidate<'a>],
) -> Result<(), Objection> {
    let usual = state.facts.policies.packing;
    if nodes.iter().all(|node| node.pool.packing().unwrap_or(usual) == Packing::Karpenter) {
        return Ok(());
    }
    let outcome = simulator.scattered(nodes, state.now)?;
    if outcome.stuck.is_some() || !outcome.in_flight.is_empty() {
        return Err(Objection::OneWayOnly);
    }
    Ok(())
}

pub(super) fn are_all_spot(nodes: &[&Candidate<'_>]) -> bool {
    nodes.iter().all(|node| node.capacity_type == Some(CapacityType::Spot))
}

/// Keeps the types that save as much as the settings ask for, and none of which there is a node among
/// `nodes` that is paid for alike; where they ask for nothing, all.
fn keep_saving(
    state: &State<'_>,
    new: &mut NewNode,
    (before, nodes): (Exact, &[&Candidate<'_>]),
) -> Result<(), Objection> {
    let least = state.facts.policies.calm.saving_min_millionths;
    if least == 0 {
        return Ok(());
    }
    let most = before.less(least);
    let requirements = &new.requirements;
    let is_like = |instance_type: &InstanceType| {
        nodes.iter().any(|node| {
            let of_node = node.instance_type.as_ref();
            of_node.is_some_and(|of_node| of_node.name == instance_type.name)
                && node.capacity_type.is_some_and(|paid| allows(requirements, paid))
        })
    };
    new.types.retain(|instance_type| {
        let worst = price::worst(instance_type, requirements);
        worst.is_some_and(|worst| worst <= most) && !is_like(instance_type)
    });
    if new.types.is_empty() {
        return Err(Objection::SavesLittle(before.rounded()));
    }
    reaches_minimums(new)
}

pub(super) fn allows(requirements: &Requirements, capacity_type: CapacityType) -> bool {
    let requirement = requirements.get(labels::CAPACITY_TYPE);
    requirement.is_none_or(|asked| asked.has(capacity_type.as_str()))
}

pub(super) fn only_spot(requirements: &mut Requirements) {
    let spot = [CapacityType::Spot.as_str()];
    if let Ok(spot) = Requirement::new(labels::CAPACITY_TYPE, Operator::In, spot) {
        requirements.add(spot);
    }
}

/// Keeps the types whose dearest launch costs less than `most`.
fn keep_cheaper(new: &mut NewNode, most: Exact) -> Result<(), Objection> {
    let requirements = &new.requirements;
    new.types.retain(|instance_type| {
        price::worst(instance_type, requirements).is_some_and(|worst| worst < most)
    });
    if new.types.is_empty() {
        return Err(Objection::NotCheaper(most.rounded()));
    }
    reaches_minimums(new)
}

pub(super) fn reaches_minimums(new: &NewNode) -> Result<(), Objection> {
    let types = new.types.iter().map(|instance_type| &**instance_type);
    let is_reached = new.requirements.min_values(types).violated.is_empty();
    if is_reached { Ok(()) } else { Err(Objection::MinValues) }
}

fn spot_to_spot(
    state: &State<'_>,
    new: &mut NewNode,
    before: Exact,
    nodes: usize,
) -> Result<(), Objection> {
    if !state.facts.policies.spot_to_spot_consolidation {
        return Err(Objection::SpotGate);
    }
    only_spot(&mut new.requirements);
    keep_cheaper(new, before)?;
    if nodes > 1 {
        return Ok(());
    }
    if new.types.len() < SPOT_TYPES_MIN {
        return Err(Objection::FewSpotTypes(new.types.len()));
    }
    let needed = if new.requirements.has_min_values() {
        new.requirements.min_values(new.types.iter().map(|instance_type| &**instance_type)).types
    } else {
        0
    };
    new.types.truncate(needed.max(SPOT_TYPES_MIN));
    Ok(())
}

/// Takes the types out of the replacement of `nodes` that are no cheaper than keeping the node among
/// them that has such a type: three nodes are not replaced by one like the smallest of them.
pub(crate) fn without_same_types(
    state: &State<'_>,
    nodes: &[&Candidate<'_>],
    outcome: &mut Simulated,
) -> Result<(), Objection> {
    let [new] = outcome.in_flight.as_mut_slice() else { return Ok(()) };
    let mut least: BTreeMap<&str, Option<Exact>> = BTreeMap::new();
    for node in nodes {
        let Some(instance_type) = &node.instance_type else { continue };
        let least_price = least.entry(instance_type.name.as_str()).or_default();
        let labels = Requirements::of_labels(state.nodes[node.number].all_labels());
        let filter =
            instance_type.offerings.iter().filter(|offering| offering.is_compatible(&labels));
        let cheapest = filter.map(price::exact).min();
        *least_price = match (*least_price, cheapest) {
            (Some(price), Some(cheapest)) => Some(price.min(cheapest)),
            (price, cheapest) => price.or(cheapest),
        };
    }
    let shared =
        new.types.iter().filter_map(|instance_type| least.get(instance_type.name.as_str()));
    let Some(most) = shared.map(|price| price.unwrap_or_default()).min() else { return Ok(()) };
    match keep_cheaper(new, most) {
        Err(Objection::NotCheaper(_)) => Err(Objection::SameType),
        other => other,
    }
}

/// What the replacements of an outcome cost at least.
pub(crate) fn price_after(outcome: &Simulated) -> Exact {
    let prices = outcome.in_flight.iter().filter_map(|new| {
        let cheapest = new
            .types
            .iter()
            .filter_map(|instance_type| price::cheapest(instance_type, &new.requirements));
        cheapest.map(|(price, _)| price).min()
    });
    prices.fold(Exact::default(), Exact::plus)
}

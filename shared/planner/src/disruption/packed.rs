//! One set of nodes: could several new nodes, packed so that they cost least, take their pods for less?
//!
//! Only thorough consolidation asks that (`thorough`): Karpenter puts at most one node in the place of others. What
//! has to be cheaper whatever EC2 chooses is one node there, and the sum of all here: each may cost its part.

use std::collections::BTreeSet;

use model::{
    CapacityType, HourlyPrice, NodePoolName, PodKey,
    limits::{INSTANCE_TYPES_PER_FLEET_MAX, ITEM_BYTES_MAX},
};

use super::{
    candidate::Candidate,
    consolidation::{
        self, SPOT_TYPES_MIN, allows, are_all_spot, holds_scattered, only_spot, places_for_all,
        reaches_minimums,
    },
    nodes::State,
    objection::Objection,
    price::{self, Exact},
    simulation::{NewNode, Simulated, Simulator},
};

/// New nodes of one command at most. With their pods and types they are one item of the ledger, of which each may
/// take a kilobyte and a half.
const REPLACEMENTS_MAX: usize = 200;
const _: () = assert!(REPLACEMENTS_MAX * 1_536 <= ITEM_BYTES_MAX);
/// Instance types of all new nodes of one command, a dozen bytes each; but of each node as many as Karpenter asks for
/// to be flexible.
const TYPES_MAX: usize = 6_000;

/// What would happen without `nodes`, if new nodes are packed so that they cost least: they are cheaper together.
pub(crate) fn compute<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    nodes: &[&Candidate<'a>],
) -> Result<Simulated, Objection> {
    let mut outcome = places_for_all(state, nodes, || simulator.packed(nodes, state.now))?;
    let moved: BTreeSet<&PodKey> =
        nodes.iter().flat_map(|node| &node.pods).map(|pod| &pod.key).collect();
    // What only waiting pods need is not for this to launch.
    let is_for_others = |new: &NewNode| !new.pods.iter().any(|pod| moved.contains(pod));
    let count = outcome.in_flight.len();
    if REPLACEMENTS_MAX < count || outcome.in_flight.iter().any(is_for_others) {
        return Err(Objection::ManyNodes(count));
    }
    if count == 0 {
        holds_scattered(state, simulator, nodes)?;
    } else {
        keep_cheaper(state, &mut outcome.in_flight, nodes)?;
    }
    Ok(outcome)
}

/// Keeps the types with which all of `new` together cost less than `nodes`, by as much as the settings ask for,
/// whatever EC2 chooses: what is saved is shared by what each costs at least.
fn keep_cheaper(
    state: &State<'_>,
    new: &mut [NewNode],
    nodes: &[&Candidate<'_>],
) -> Result<(), Objection> {
    let before = price::of_all(nodes);
    let least = state.facts.policies.calm.saving_min_millionths;
    let dear = || match least {
        0 => Objection::NotCheaper(before.rounded()),
        _ => Objection::SavesLittle(before.rounded()),
    };
    let all_spot = are_all_spot(nodes);
    let mut prices = Vec::with_capacity(new.len());
    for new in &mut *new {
        if allows(&new.requirements, CapacityType::Spot) {
            if all_spot && !state.facts.policies.spot_to_spot_consolidation {
                return Err(Objection::SpotGate);
            }
            // A launch that falls back to on-demand might cost more than what it replaces.
            only_spot(&mut new.requirements);
        }
        prices.push(cheapest(new).ok_or_else(dear)?);
    }
    let after = prices.iter().copied().fold(Exact::default(), Exact::plus);
    let most = before.less(least);
    if most <= after {
        return Err(dear());
    }
    let types_max =
        (TYPES_MAX / new.len().max(1)).clamp(SPOT_TYPES_MIN, INSTANCE_TYPES_PER_FLEET_MAX);
    let millionths = most.0.saturating_mul(1_000_000) / after.0.max(1);
    for (new, price) in new.iter_mut().zip(prices) {
        let part = Exact(price.0.saturating_mul(millionths) / 1_000_000);
        let NewNode { types, requirements, .. } = new;
        types.retain(|offered| {
            price::worst(offered, requirements).is_some_and(|worst| worst < part)
        });
        let is_spot = allows(requirements, CapacityType::Spot);
        if types.is_empty() {
            return Err(dear());
        }
        // What EC2 chooses for one node is not to be improved upon at once, as in Karpenter.
        if is_spot && all_spot && nodes.len() == 1 && types.len() < SPOT_TYPES_MIN {
            return Err(Objection::FewSpotTypes(types.len()));
        }
        types.truncate(types_max);
        reaches_minimums(new)?;
    }
    Ok(())
}

fn cheapest(new: &NewNode) -> Option<Exact> {
    let prices = new.types.iter().filter_map(|offered| price::cheapest(offered, &new.requirements));
    prices.map(|(price, _)| price).min()
}

/// What `outcome` saves in one hour of what `nodes` cost. Where there are more nodes afterwards, their volumes and
/// what else each counts as are set against it.
pub(crate) fn saving(state: &State<'_>, nodes: &[&Candidate<'_>], outcome: &Simulated) -> Exact {
    let before = price::of_all(nodes);
    let saving = before.minus(consolidation::price_after(outcome));
    let charged = charges(state, nodes.iter().map(|node| &node.pool.name));
    let charges = charges(state, outcome.in_flight.iter().map(|new| &new.pool));
    saving.minus(charges.minus(charged))
}

/// What a node of each of `pools` costs beside its instance, in sum.
fn charges<'p>(state: &State<'_>, pools: impl Iterator<Item = &'p NodePoolName>) -> Exact {
    let charge = |name: &NodePoolName| {
        let pool = state.pool(name.as_str());
        let charge = pool.map(|pool| state.facts.node_charge(&pool.template.node_class));
        Exact(charge.map_or(0, HourlyPrice::parts))
    };
    pools.map(charge).fold(Exact::default(), Exact::plus)
}

/// What `nodes` cost in one hour with what each costs beside its instance.
pub(crate) fn whole_price(state: &State<'_>, node: &Candidate<'_>) -> Exact {
    node.price.plus(charges(state, std::iter::once(&node.pool.name)))
}

/// What the new nodes of `outcome` cost in one hour at least, with what each costs beside its instance.
pub(crate) fn whole_price_after(state: &State<'_>, outcome: &Simulated) -> Exact {
    let charges = charges(state, outcome.in_flight.iter().map(|new| &new.pool));
    consolidation::price_after(outcome).plus(charges)
}

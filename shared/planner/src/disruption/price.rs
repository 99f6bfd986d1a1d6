//! Prices to the last digit, and what they decide: which types a replacement may have.
//!
//! Karpenter: `pkg/cloudprovider/types.go`, `WorstLaunchPrice`, `OrderByPrice`.

use model::{CapacityType, HourlyPrice, InstanceType, Offering, Requirements, labels};

use super::{
    candidate::Candidate,
    nodes::{State, StateNode},
};

/// Ten-millionths of a nano-dollar for one hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(pub u128);

impl Exact {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The price less this number of millionths, rounded down.
    pub(crate) fn less(self, millionths: u64) -> Self {
        let share = u128::from(1_000_000_u64.saturating_sub(millionths));
        Self(self.0 / 1_000_000 * share + self.0 % 1_000_000 * share / 1_000_000)
    }

    /// As a price.
    pub fn rounded(self) -> HourlyPrice {
        HourlyPrice::from_parts(self.0)
    }
}

/// The price of an offering.
pub fn exact(offering: &Offering) -> Exact {
    Exact(offering.price.parts())
}

/// What `nodes` cost together.
pub(crate) fn of_all(nodes: &[&Candidate<'_>]) -> Exact {
    nodes.iter().map(|node| node.price).fold(Exact::default(), Exact::plus)
}

/// The price of the offering that a node came from, whether it is there to be bought now or not. If offerings were not
/// observed, the price expected at launch. 0 when it is not known: then nothing is cheaper, and the node is not replaced
/// for its price. Karpenter replaces nothing then, either (`getCandidatePrices`).
pub fn of_node(state: &State<'_>, node: &StateNode<'_>) -> Exact {
    if !state.knows_offers() {
        let instance = node.claim.and_then(|claim| claim.instance.as_ref());
        return instance
            .map(|launched_instance| Exact(launched_instance.price.parts()))
            .unwrap_or_default();
    }
    let price = || {
        let pool = state.pool(node.pool_name()?)?;
        let instance_type = state.instance_type(pool, node.label(labels::INSTANCE_TYPE)?)?;
        let (zone, paid) = (node.label(labels::ZONE)?, node.label(labels::CAPACITY_TYPE)?);
        let mut offerings = instance_type.offerings.iter();
        let offering = offerings.find(|offering| {
            offering.zone.as_str() == zone && offering.capacity_type.as_str() == paid
        })?;
        Some(exact(offering))
    };
    price().unwrap_or_default()
}

/// The least price at which `instance_type` can be bought now as `requirements` allow.
pub(crate) fn cheapest<'t>(
    instance_type: &'t InstanceType,
    requirements: &Requirements,
) -> Option<(Exact, &'t Offering)> {
    let open = instance_type.offerings.iter().filter(|offering| offering.is_launchable());
    open.filter(|offering| offering.is_compatible(requirements))
        .map(|offering| (exact(offering), offering))
        .min_by_key(|(price, offering)| (*price, &offering.zone, offering.capacity_type))
}

/// The most that a launch of `instance_type` could cost: EC2 takes reserved capacity before spot,
/// spot before on-demand, and any zone. `None` when it cannot be launched.
pub fn worst(instance_type: &InstanceType, requirements: &Requirements) -> Option<Exact> {
    CapacityType::ALL.into_iter().find_map(|capacity_type| {
        let open = instance_type.offerings.iter().filter(|offering| {
            offering.is_launchable()
                && offering.capacity_type == capacity_type
                && offering.is_compatible(requirements)
        });
        open.map(exact).max()
    })
}

//! Prices to the last digit, and what they decide: which types a replacement may have.
//!
//! A reserved offering costs a ten-millionth of the on-demand price, which nano-dollars cannot tell
//! apart. Prices are compared in ten-millionths of them.
//!
//! Karpenter: `pkg/cloudprovider/types.go`, `WorstLaunchPrice`, `OrderByPrice`.

use model::{CapacityType, HourlyPrice, InstanceType, Offering, Requirements, labels};

use super::nodes::{State, StateNode};

/// Ten-millionths of a nano-dollar for one hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Exact(pub(crate) u128);

const PARTS: u128 = 10_000_000;

impl Exact {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// In nano-dollars, rounded half up.
    pub(crate) fn rounded(self) -> HourlyPrice {
        let nanos = self.0.saturating_add(PARTS / 2) / PARTS;
        HourlyPrice(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The price of an offering of `instance_type`.
pub(crate) fn exact(instance_type: &InstanceType, offering: &Offering) -> Exact {
    let whole = |price: HourlyPrice| Exact(u128::from(price.0) * PARTS);
    if offering.capacity_type != CapacityType::Reserved {
        return whole(offering.price);
    }
    let mut offerings = instance_type.offerings.iter();
    let on_demand = offerings.find(|offered| {
        offered.capacity_type == CapacityType::OnDemand && offered.zone == offering.zone
    });
    // Only where the catalog's price is that very share is the share exact.
    let share = on_demand.map(|offered| Exact(u128::from(offered.price.0)));
    share.filter(|share| share.rounded() == offering.price).unwrap_or_else(|| whole(offering.price))
}

/// The price of the offering that a node came from, whether it is there to be bought now or not. 0
/// when it is not known. Where nobody looked at offerings, what was expected at launch.
pub(crate) fn of_node(state: &State<'_>, node: &StateNode<'_>) -> Exact {
    if !state.knows_offers() {
        let instance = node.claim.and_then(|claim| claim.instance.as_ref());
        return instance
            .map(|launched_instance| Exact(u128::from(launched_instance.price.0) * PARTS))
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
        Some(exact(instance_type, offering))
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
        .map(|offering| (exact(instance_type, offering), offering))
        .min_by_key(|(price, offering)| (*price, &offering.zone, offering.capacity_type))
}

/// The most that a launch of `instance_type` could cost: EC2 takes reserved capacity before spot,
/// spot before on-demand, and any zone. `None` when it cannot be launched.
pub(crate) fn worst(instance_type: &InstanceType, requirements: &Requirements) -> Option<Exact> {
    CapacityType::ALL.into_iter().find_map(|capacity_type| {
        let open = instance_type.offerings.iter().filter(|offering| {
            offering.is_launchable()
                && offering.capacity_type == capacity_type
                && offering.is_compatible(requirements)
        });
        open.map(|offering| exact(instance_type, offering)).max()
    })
}

#[cfg(test)]
mod tests;

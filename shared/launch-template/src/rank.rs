//! Which of two offerings is cheaper.
//!
//! A reserved offering costs a fraction of a nano-dollar for small types, so prices as they are
//! stored cannot rank them: they rank by what their type costs on demand.

use model::{CapacityType, InstanceType, Offering};

use crate::offer::{RESERVED_DISCOUNT, on_demand_price};

/// Ten-millionths of a nano-dollar for an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u128);

impl Rank {
    /// In dollars, exactly.
    pub fn dollars(self) -> String {
        const UNITS: u128 = 10_000_000_000_000_000;
        let fraction = format!("{:016}", self.0 % UNITS);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction}", self.0 / UNITS)
    }
}

/// What `offering`, one of `instance_type`'s, costs exactly.
pub fn rank(instance_type: &InstanceType, offering: &Offering) -> Rank {
    match offering.capacity_type {
        CapacityType::Reserved => {
            Rank(u128::from(on_demand_price(instance_type, &offering.zone).0))
        }
        CapacityType::Spot | CapacityType::OnDemand => {
            Rank(u128::from(offering.price.0) * u128::from(RESERVED_DISCOUNT))
        }
    }
}

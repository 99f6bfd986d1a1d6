//! What launches from one class are short of, and others are not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    CapacityType, InstanceType, PlacementGroupId, SubnetId, Zone,
    ledger::Shortage,
    node_class::{ResolvedNodeClass, Subnet},
};

use super::{end, end_offering};

/// Makes those offerings of `types`, which are sorted by name, unavailable that launches from `class` are short of.
pub(super) fn leave_short(
    types: &mut [Arc<InstanceType>],
    class: &ResolvedNodeClass,
    shortages: &BTreeMap<Shortage, Timestamp>,
    now: Timestamp,
) {
    let is_its =
        |id: &PlacementGroupId| class.placement_group.as_ref().is_some_and(|group| group.id == *id);
    let mut full: BTreeSet<&Zone> = BTreeSet::new();
    for (shortage, _) in shortages.iter().filter(|(_, until)| **until > now) {
        match shortage {
            Shortage::Unsupported { class: name, offering } if *name == class.class.name => {
                end_offering(types, offering);
            }
            Shortage::Group { group, offering } if is_its(group) => end_offering(types, offering),
            Shortage::Spread { group, zone } if is_its(group) => drop(full.insert(zone)),
            Shortage::Spot => types.iter_mut().for_each(end_spot),
            _ => {}
        }
    }
    let is_open = |subnet: &&Subnet| !is_without_addresses(&subnet.id, shortages, now);
    let open: BTreeSet<&Zone> =
        class.subnets.iter().filter(is_open).map(|subnet| &subnet.zone).collect();
    full.extend(
        class.subnets.iter().map(|subnet| &subnet.zone).filter(|zone| !open.contains(zone)),
    );
    if !full.is_empty() {
        for instance_type in types {
            end(instance_type, |offering| offering.is_available && full.contains(&offering.zone));
        }
    }
}

fn end_spot(instance_type: &mut Arc<InstanceType>) {
    end(instance_type, |offering| {
        offering.is_available && offering.capacity_type == CapacityType::Spot
    });
}

/// Whether EC2 said that no address is free in `subnet`.
fn is_without_addresses(
    subnet: &SubnetId,
    shortages: &BTreeMap<Shortage, Timestamp>,
    now: Timestamp,
) -> bool {
    let until = shortages.get(&Shortage::Addresses { subnet: subnet.clone() });
    until.is_some_and(|until| now < *until)
}

/// Chooses subnets of `class` last if EC2 said that they have no free address.
pub fn choose_last(
    class: &mut ResolvedNodeClass,
    shortages: &BTreeMap<Shortage, Timestamp>,
    now: Timestamp,
) {
    for subnet in &mut class.subnets {
        if is_without_addresses(&subnet.id, shortages, now) {
            subnet.available_ip_address_count = 0;
        }
    }
}

#[cfg(test)]
mod tests;

//! Instance types as the nodes of one EC2NodeClass would have them.
//!
//! It narrows and resizes what the catalog has; where the catalog comes from is not known here.
//!
//! Karpenter: `pkg/providers/instancetype/instancetype.go` of the AWS provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    CapacityType, Catalog, InstanceType, Offering, OfferingKey, Requirement, Requirements, Zone,
    ZoneId, labels, node_class::ResolvedNodeClass,
};

use crate::{capacity::resize, family::Family, image::image_for};

const INSTANCE_FAMILY: &str = "karpenter.k8s.aws/instance-family";
const RESERVATION_LABELS: [&str; 3] = [
    "karpenter.k8s.aws/capacity-reservation-id",
    "karpenter.k8s.aws/capacity-reservation-type",
    "karpenter.k8s.aws/capacity-reservation-interruptible",
];

/// The instance types of `catalog` as nodes of `class` would have them, sorted by name.
///
/// A type that no image of the class starts on is left out. An offering is available where the
/// class has a subnet, and when it does not cool down: `cooling` says until when each one does.
/// Reserved offerings are left out: classes cannot select capacity reservations yet. A family that
/// is not supported yet has no types.
pub fn offer(
    catalog: &Catalog,
    class: &ResolvedNodeClass,
    cooling: &BTreeMap<OfferingKey, Timestamp>,
    now: Timestamp,
) -> Vec<Arc<InstanceType>> {
    let Some(family) = Family::of(class.class.image_family) else {
        return Vec::new();
    };
    let zones: BTreeMap<&Zone, &ZoneId> =
        class.subnets.iter().map(|subnet| (&subnet.zone, &subnet.zone_id)).collect();
    let is_cool = |key: &OfferingKey| cooling.get(key).is_none_or(|until| *until <= now);
    let as_node = |base: &Arc<InstanceType>| {
        let (capacity, overhead) = resize(base, &class.class, family);
        let of_node = |offering: &Offering| Offering {
            zone_id: zones.get(&offering.zone).copied().cloned(),
            is_available: is_available(base, offering, family)
                && zones.contains_key(&offering.zone)
                && is_cool(&base.key_of(offering)),
            ..offering.clone()
        };
        let bought = base.offerings.iter().filter(|o| o.capacity_type != CapacityType::Reserved);
        Arc::new(InstanceType {
            name: base.name.clone(),
            requirements: narrowed(&base.requirements, &zones),
            capacity,
            overhead,
            offerings: bought.map(of_node).collect(),
        })
    };
    let starts = |base: &&Arc<InstanceType>| image_for(base, &class.images).is_some();
    let mut types: Vec<_> = catalog.instance_types.iter().filter(starts).map(as_node).collect();
    types.sort_by(|a, b| a.name.cmp(&b.name));
    types
}

/// Whether `offering` can be bought at all. The catalog's answer is AL2023's, which has every type
/// unavailable that it does not start on: for other families such a type is available where it is
/// sold and has a price.
fn is_available(base: &InstanceType, offering: &Offering, family: Family) -> bool {
    let instance_family = base.label(INSTANCE_FAMILY).map_or("", |value| &**value);
    if Family::Al2023.starts_on(instance_family) {
        return offering.is_available;
    }
    let is_sold =
        base.requirements.get(labels::ZONE).is_some_and(|r| r.has(offering.zone.as_str()));
    family.starts_on(instance_family) && is_sold && offering.price.0 > 0
}

/// `requirements` with only the zones that have a subnet, and without capacity reservations.
fn narrowed(requirements: &Requirements, zones: &BTreeMap<&Zone, &ZoneId>) -> Requirements {
    let mut narrowed = requirements.clone();
    let keep = |key: &str, keeps: &dyn Fn(&str) -> bool| {
        let requirement = requirements.get(key)?;
        let values = requirement.values().iter().filter(|value| keeps(value));
        Some(Requirement::listed(requirement.key().clone(), values.map(Arc::clone).collect()))
    };
    let has_zone = |name: &str| zones.keys().any(|zone| zone.as_str() == name);
    let has_id = |name: &str| zones.values().any(|id| id.as_str() == name);
    let is_bought = |name: &str| name != CapacityType::Reserved.as_str();
    let replacements = [
        keep(labels::ZONE, &has_zone),
        keep(labels::ZONE_ID, &has_id),
        keep(labels::CAPACITY_TYPE, &is_bought),
    ];
    for replacement in replacements.into_iter().flatten() {
        narrowed.replace(replacement);
    }
    // A type without any zone has no zone ids either: unknown, not forbidden.
    if narrowed.get(labels::ZONE_ID).is_some_and(|r| r.values().is_empty()) {
        narrowed.remove(labels::ZONE_ID);
    }
    for key in RESERVATION_LABELS {
        if let Some(requirement) = requirements.get(key) {
            let key = requirement.key().clone();
            narrowed.replace(Requirement::listed(key, BTreeSet::new()));
        }
    }
    narrowed
}

#[cfg(test)]
mod tests;

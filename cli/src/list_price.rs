//! What a node that runs costs by its labels and the prices of its region.

use std::collections::BTreeMap;

use model::{
    CapacityType, HourlyPrice, InstanceTypeName, OfferingKey, RegionCatalog, Zone, labels,
};

/// How managed node groups label what a node is paid as.
const EKS_CAPACITY_TYPE: &str = "eks.amazonaws.com/capacityType";

/// What a node is, by its labels. A node that does not say how it is paid for is on-demand.
pub(crate) fn offering(labels: &BTreeMap<String, String>) -> Option<OfferingKey> {
    let capacity_type = labels.get(labels::CAPACITY_TYPE).map(|text| CapacityType::parse(text));
    let by_eks = || match labels.get(EKS_CAPACITY_TYPE).map(String::as_str) {
        Some("SPOT") => CapacityType::Spot,
        _ => CapacityType::OnDemand,
    };
    Some(OfferingKey {
        capacity_type: capacity_type.unwrap_or_else(|| Some(by_eks()))?,
        instance_type: InstanceTypeName::new(labels.get(labels::INSTANCE_TYPE)?).ok()?,
        zone: Zone::new(labels.get(labels::ZONE)?).ok()?,
    })
}

/// The price of `key`; `None` where the catalog does not have it, as of reserved capacity.
pub(crate) fn sold(catalog: &RegionCatalog, key: &OfferingKey) -> Option<HourlyPrice> {
    let types = &catalog.instance_types;
    let place = types.binary_search_by(|sold| sold.name.cmp(&key.instance_type)).ok()?;
    types.get(place)?.offering(key).map(|offering| offering.price)
}

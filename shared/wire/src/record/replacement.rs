//! What a command launches in place of nodes, as it is stored.

use std::collections::BTreeSet;

use model::{
    CapacityType, HourlyPrice, InstanceTypeName, NodePoolName, OfferingKey, Zone,
    disruption::Replacement,
};
use serde::{Deserialize, Serialize};

use super::parts::{self, RequirementV1};

#[derive(Serialize, Deserialize)]
pub(super) struct ReplacementV1 {
    node_pool: String,
    instance_types: Vec<String>,
    requirements: Vec<RequirementV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cheapest: Option<OfferingV1>,
    pods: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    device_drivers: BTreeSet<String>,
}

/// An offering with its price in nano-dollars for one hour.
#[derive(Serialize, Deserialize)]
struct OfferingV1 {
    capacity_type: String,
    instance_type: String,
    zone: String,
    nanos_per_hour: u64,
}

impl ReplacementV1 {
    pub(super) fn of(replacement: &Replacement) -> Self {
        let cheapest = replacement.cheapest.as_ref().map(|(key, price)| OfferingV1 {
            capacity_type: key.capacity_type.as_str().to_owned(),
            instance_type: key.instance_type.to_string(),
            zone: key.zone.to_string(),
            nanos_per_hour: price.nanos(),
        });
        Self {
            node_pool: replacement.node_pool.to_string(),
            instance_types: parts::texts(&replacement.instance_types),
            requirements: parts::of_requirements(&replacement.requirements),
            cheapest,
            pods: parts::texts(&replacement.pods),
            device_drivers: replacement.device_drivers.clone(),
        }
    }

    pub(super) fn into_replacement(self) -> Result<Replacement, String> {
        Ok(Replacement {
            node_pool: parts::id(&self.node_pool, NodePoolName::new)?,
            instance_types: parts::ids(&self.instance_types, InstanceTypeName::new)?,
            requirements: parts::into_requirements(&self.requirements)?,
            cheapest: self.cheapest.map(OfferingV1::into_offering).transpose()?,
            pods: self.pods.iter().map(|text| parts::pod_key(text)).collect::<Result<_, _>>()?,
            device_drivers: self.device_drivers,
        })
    }
}

impl OfferingV1 {
    fn into_offering(self) -> Result<(OfferingKey, HourlyPrice), String> {
        let key = OfferingKey {
            capacity_type: parts::known(&self.capacity_type, "capacity type", CapacityType::parse)?,
            instance_type: parts::id(&self.instance_type, InstanceTypeName::new)?,
            zone: parts::id(&self.zone, Zone::new)?,
        };
        Ok((key, parts::price(self.nanos_per_hour)))
    }
}

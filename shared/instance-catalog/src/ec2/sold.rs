//! Zones, what is sold in them, and spot prices: each as the AWS command line prints EC2's answer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{HourlyPrice, InstanceTypeName, Zone, ZoneId};
use serde::Deserialize;

use super::{Error, json, name, zone};

/// The zones of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zones {
    /// The region that they are of.
    pub region: String,
    /// The id of each.
    pub ids: BTreeMap<Zone, ZoneId>,
}

/// Zones, from `{"AvailabilityZones": […]}` of one region.
pub fn zones(answer: &[u8]) -> Result<Zones, Error> {
    let raw: RawZones = json("zones", answer)?;
    let mut zones: Option<Zones> = None;
    for raw_zone in raw.availability_zones {
        let id = ZoneId::new(&raw_zone.zone_id).map_err(|error| Error(error.to_string()))?;
        let known = zones
            .get_or_insert_with(|| Zones { region: raw_zone.region_name, ids: BTreeMap::new() });
        known.ids.insert(zone(&raw_zone.zone_name)?, id);
    }
    zones.ok_or_else(|| Error("zones: there is none".to_owned()))
}

/// In which zones each type is sold, from `{"InstanceTypeOfferings": […]}` by zone.
pub fn offered(answer: &[u8]) -> Result<BTreeMap<InstanceTypeName, BTreeSet<Zone>>, Error> {
    let raw: RawOfferings = json("offerings", answer)?;
    let mut offered: BTreeMap<InstanceTypeName, BTreeSet<Zone>> = BTreeMap::new();
    for raw_offering in raw.instance_type_offerings {
        offered
            .entry(name(&raw_offering.instance_type)?)
            .or_default()
            .insert(zone(&raw_offering.location)?);
    }
    Ok(offered)
}

/// The newest spot price of each type and zone, from `{"SpotPriceHistory": […]}`.
pub fn spot(answer: &[u8]) -> Result<BTreeMap<(InstanceTypeName, Zone), HourlyPrice>, Error> {
    let raw: RawHistory = json("spot prices", answer)?;
    let mut newest: BTreeMap<(InstanceTypeName, Zone), (Timestamp, HourlyPrice)> = BTreeMap::new();
    for raw_spot in raw.spot_price_history {
        let wrong =
            |rule: String| Error(format!("spot price of {}: {rule}", raw_spot.instance_type));
        let since =
            raw_spot.timestamp.parse().map_err(|error: jiff::Error| wrong(error.to_string()))?;
        let price = HourlyPrice::parse_dollars(&raw_spot.spot_price)
            .map_err(|error| wrong(error.to_string()))?;
        let key = (name(&raw_spot.instance_type)?, zone(&raw_spot.availability_zone)?);
        if newest.get(&key).is_none_or(|(known, _)| *known < since) {
            newest.insert(key, (since, price));
        }
    }
    Ok(newest.into_iter().map(|(key, (_, price))| (key, price)).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawZones {
    availability_zones: Vec<RawZone>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawZone {
    zone_name: String,
    zone_id: String,
    region_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawOfferings {
    instance_type_offerings: Vec<RawOffering>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawOffering {
    instance_type: String,
    location: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawHistory {
    spot_price_history: Vec<RawSpot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawSpot {
    instance_type: String,
    availability_zone: String,
    spot_price: String,
    timestamp: String,
}

//! Instance types, and where and for how much they are sold: the catalog that is built in, catalogs as
//! JSON, EC2's own answers, AWS's price lists, and the form in which a catalog is stored.
//!
//! Pure: bytes in, values of `model` out; no files, no clock, no network. Prices come as decimal texts
//! and are read exactly.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeInfo, InstanceTypeName, Offering,
    Operator, RegionCatalog, Requirement, Requirements, Reservation, ReservationId, ResourceName,
    Resources, Zone, ZoneId, instance_type_info::RegionMarket, limits,
};
use serde::Deserialize;

pub mod ec2;
mod instance_types;
pub mod price_list;
pub mod stored;
pub mod table;

/// Why a text is not a catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("catalog: {0}")]
pub struct Error(pub String);

/// Reads what `journeyman catalog -o json` prints:
///
/// `{"region", "zones": {NAME: ID}, "instanceTypes": [{"name", "requirements": [{"key", "operator",
/// "values"}], "capacity": {RESOURCE: QUANTITY}, "overhead": {"kubeReserved": {…}, "systemReserved":
/// {…}, "evictionThreshold": {…}}, "offerings": [{"zone", "capacityType", "pricePerHour": DECIMAL,
/// "available", "reservation", "reservationType", "interruptible", "count"}]}]}`
///
/// The parts of the overhead are summed up. Types are sorted by name.
pub fn read(json: &str) -> Result<RegionCatalog, Error> {
    let raw: RawCatalog = serde_json::from_str(json).map_err(|error| Error(error.to_string()))?;
    let mut zones = BTreeMap::new();
    for (name, id) in &raw.zones {
        zones.insert(zone(name)?, ZoneId::new(id).map_err(|error| Error(error.to_string()))?);
    }
    let types = raw
        .instance_types
        .into_iter()
        .map(|raw_type| {
            let name = raw_type.name.clone();
            read_type(raw_type, &zones).map_err(|problem| Error(format!("{name}: {problem}")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    finish(raw.region, zones, types)
}

/// The catalog that comes with the program: us-west-2. See `data/README.md`.
///
/// It decodes in some milliseconds; keep it rather than call this again.
pub fn builtin() -> Result<RegionCatalog, Error> {
    let mut catalog = table::decode(include_bytes!("../data/instance-types.tsv.gz"))?;
    let descriptions = builtin_instance_types()?.into_iter();
    catalog.descriptions = descriptions.map(|info| (info.name.clone(), Arc::new(info))).collect();
    Ok(catalog)
}

/// What EC2 says about the types of the built-in catalog, and where and for how much they are sold.
pub fn builtin_market() -> Result<(RegionMarket, Vec<InstanceTypeInfo>), Error> {
    let catalog = table::decode(include_bytes!("../data/instance-types.tsv.gz"))?;
    Ok((RegionMarket::of(&catalog), builtin_instance_types()?))
}

fn builtin_instance_types() -> Result<Vec<InstanceTypeInfo>, Error> {
    instance_types::decode(include_bytes!("../data/instance-shapes.tsv.gz"))
}

/// Sorts, and refuses what appears twice or is too much.
fn finish(
    region: String,
    zones: BTreeMap<Zone, ZoneId>,
    mut types: Vec<InstanceType>,
) -> Result<RegionCatalog, Error> {
    if types.len() > limits::INSTANCE_TYPES_PER_PLAN_MAX {
        return Err(Error(format!(
            "{} instance types are more than {}",
            types.len(),
            limits::INSTANCE_TYPES_PER_PLAN_MAX
        )));
    }
    types.sort_by(|a, b| a.name.cmp(&b.name));
    for (a, b) in types.iter().zip(types.iter().skip(1)) {
        if a.name == b.name {
            return Err(Error(format!("{} stands there twice", a.name)));
        }
    }
    let instance_types = types.into_iter().map(Arc::new).collect();
    Ok(RegionCatalog { region, zones, instance_types, descriptions: BTreeMap::new() })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCatalog {
    region: String,
    #[serde(default)]
    zones: BTreeMap<String, String>,
    instance_types: Vec<RawType>,
}

#[derive(Deserialize)]
struct RawType {
    name: String,
    requirements: Vec<RawRequirement>,
    capacity: BTreeMap<String, String>,
    #[serde(default)]
    overhead: RawOverhead,
    offerings: Vec<RawOffering>,
}

#[derive(Deserialize)]
struct RawRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawOverhead {
    kube_reserved: BTreeMap<String, String>,
    system_reserved: BTreeMap<String, String>,
    eviction_threshold: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawOffering {
    zone: String,
    capacity_type: String,
    price_per_hour: String,
    available: bool,
    reservation: Option<String>,
    reservation_type: Option<String>,
    #[serde(default)]
    interruptible: bool,
    #[serde(default)]
    count: u32,
}

fn read_type(raw: RawType, zones: &BTreeMap<Zone, ZoneId>) -> Result<InstanceType, String> {
    let mut requirements = Requirements::new();
    for requirement in &raw.requirements {
        let operator = Operator::parse(&requirement.operator)
            .ok_or_else(|| format!("`{}` is not an operator", requirement.operator))?;
        let values = requirement.values.iter().map(String::as_str);
        let read = Requirement::new(&requirement.key, operator, values);
        requirements.add(read.map_err(|error| error.to_string())?);
    }
    let parts = [
        &raw.overhead.kube_reserved,
        &raw.overhead.system_reserved,
        &raw.overhead.eviction_threshold,
    ];
    let mut overhead = Resources::default();
    for part in parts {
        overhead = overhead.saturating_add(&resources(part)?);
    }
    let offerings = raw.offerings.into_iter().map(|offering| read_offering(offering, zones));
    Ok(InstanceType {
        name: InstanceTypeName::new(&raw.name).map_err(|error| error.to_string())?,
        requirements,
        capacity: resources(&raw.capacity)?,
        overhead,
        offerings: offerings.collect::<Result<_, _>>()?,
    })
}

fn read_offering(raw: RawOffering, zones: &BTreeMap<Zone, ZoneId>) -> Result<Offering, String> {
    let zone = zone(&raw.zone).map_err(|error| error.0)?;
    let capacity_type = CapacityType::parse(&raw.capacity_type)
        .ok_or_else(|| format!("`{}` is not a capacity type", raw.capacity_type))?;
    let id = raw.reservation.map(|id| ReservationId::new(&id)).transpose();
    let reservation = id.map_err(|error| error.to_string())?.map(|id| Reservation {
        id,
        kind: raw.reservation_type.unwrap_or_else(|| "default".to_owned()),
        interruptible: raw.interruptible,
        count: raw.count,
    });
    Ok(Offering {
        zone_id: zones.get(&zone).cloned(),
        zone,
        capacity_type,
        price: HourlyPrice::parse_dollars(&raw.price_per_hour).map_err(|e| e.to_string())?,
        is_available: raw.available,
        reservation,
    })
}

fn resources(amounts: &BTreeMap<String, String>) -> Result<Resources, String> {
    let mut resources = Resources::default();
    for (name, quantity) in amounts {
        let resource = ResourceName::new(name).map_err(|error| error.to_string())?;
        resources.set_quantity(&resource, quantity).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(resources)
}

fn zone(name: &str) -> Result<Zone, Error> {
    Zone::new(name).map_err(|error| Error(error.to_string()))
}

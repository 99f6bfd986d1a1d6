//! A region's catalog as it is stored: gzip of a compact binary form, some 95 KB for a region.
//!
//! It holds what was worked out, not what it was worked out from, since it is written once in an hour
//! and read by every function that starts. A thousand types with thirty labels each share a few
//! thousand requirements: each stands there once, and types name them by number.
//!
//! | part | content |
//! |---|---|
//! | head | `journeyman-catalog`, version, region, when it was found (RFC 3339) |
//! | zones | name and id of each |
//! | places | zone and id (or none) of offerings |
//! | labels | each with its requirements: each a list of values |
//! | resources | names that are not built in |
//! | types | name; numbers of requirements; capacity; overhead; offerings |
//! | shapes | what EC2 says about types |
//!
//! Numbers are LEB128, texts and lists come after their length.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    sync::Arc,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use model::{
    Bytes, CapacityType, HourlyPrice, InstanceType, LabelKey, Millicores, Offering, RegionCatalog,
    Requirement, Requirements, ResourceName, Resources, Zone, ZoneId,
    instance_type_info::StoredRegionCatalog, requirement::Value,
};

use super::Error;

mod instance_type_info;
mod wire;

use wire::{Reader, Writer};

/// The most that it may unpack to.
const BYTES_MAX: u64 = 16 << 20;
const KIND: &str = "journeyman-catalog";
const VERSION: u64 = 1;

/// `parts` as it is stored. Only lists of values can be stored, and no reservations, which are of
/// a class: a region's catalog has nothing else.
pub fn encode(parts: &StoredRegionCatalog) -> Result<Vec<u8>, Error> {
    let catalog = &parts.catalog;
    let pools = Pools::of(catalog)?;
    let mut out = Writer::default();
    out.text(KIND);
    out.number(VERSION);
    out.text(&catalog.region);
    out.text(&parts.found_at.to_string());
    out.list(&catalog.zones, |out, (zone, id)| {
        out.text(zone.as_str());
        out.text(id.as_str());
    });
    out.list(pools.places.keys(), |out, (zone, id)| {
        out.text(zone.as_str());
        out.option(*id, |out, id| out.text(id.as_str()));
    });
    out.list(&pools.requirements, |out, (key, requirements)| {
        out.text(key);
        out.list(requirements.keys(), |out, requirement| {
            out.list(requirement.values(), |out, value| out.text(value));
        });
    });
    out.list(pools.resources.keys(), |out, name| out.text(name.as_str()));
    out.list(&catalog.instance_types, |out, instance_type| write_type(out, instance_type, &pools));
    out.list(catalog.descriptions.values(), |out, info| instance_type_info::write(out, info));
    packed(&out.0)
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map_err(|error| Error(format!("the stored one does not pack: {error}")))
}

/// What types name by number.
#[derive(Default)]
struct Pools<'a> {
    places: BTreeMap<(&'a Zone, Option<&'a ZoneId>), u64>,
    requirements: BTreeMap<&'a str, BTreeMap<&'a Requirement, u64>>,
    resources: BTreeMap<&'a ResourceName, u64>,
}

impl<'a> Pools<'a> {
    fn of(catalog: &'a RegionCatalog) -> Result<Self, Error> {
        let mut pools = Self::default();
        for instance_type in &catalog.instance_types {
            for requirement in instance_type.requirements.iter() {
                let key = requirement.key();
                let listed = Requirement::listed(key.clone(), requirement.values().clone());
                if *requirement != listed {
                    return Err(Error(format!(
                        "{}: `{requirement}` is no list",
                        instance_type.name
                    )));
                }
                pools.requirements.entry(key.as_str()).or_default().insert(requirement, 0);
            }
            for offering in &instance_type.offerings {
                if offering.reservation.is_some() {
                    let problem = "a reserved offering is not of a region";
                    return Err(Error(format!("{}: {problem}", instance_type.name)));
                }
                pools.places.insert((&offering.zone, offering.zone_id.as_ref()), 0);
            }
            let amounts = [&instance_type.capacity, &instance_type.overhead].into_iter();
            pools
                .resources
                .extend(amounts.flat_map(|resources| resources.extended.keys()).map(|n| (n, 0)));
        }
        number(pools.places.values_mut());
        number(pools.requirements.values_mut().flat_map(BTreeMap::values_mut));
        number(pools.resources.values_mut());
        Ok(pools)
    }
}

fn number<'a>(numbers: impl Iterator<Item = &'a mut u64>) {
    for (number, one) in (0..).zip(numbers) {
        *one = number;
    }
}

fn write_type(out: &mut Writer, instance_type: &InstanceType, pools: &Pools<'_>) {
    out.text(instance_type.name.as_str());
    out.list(instance_type.requirements.iter(), |out, requirement| {
        let known = pools.requirements.get(requirement.key().as_str());
        out.number(
            known
                .and_then(|requirements| requirements.get(requirement))
                .copied()
                .unwrap_or_default(),
        );
    });
    for amounts in [&instance_type.capacity, &instance_type.overhead] {
        for amount in [amounts.cpu.0, amounts.memory.0, amounts.ephemeral_storage.0, amounts.pods] {
            out.number(amount);
        }
        out.list(&amounts.extended, |out, (name, amount)| {
            out.number(pools.resources.get(name).copied().unwrap_or_default());
            out.number(*amount);
        });
    }
    out.list(&instance_type.offerings, |out, offering| {
        let place = (&offering.zone, offering.zone_id.as_ref());
        out.number(pools.places.get(&place).copied().unwrap_or_default());
        out.text(offering.capacity_type.as_str());
        out.number(offering.price.nanos());
        out.truth(offering.is_available);
    });
}

/// What [`encode`] stored.
pub fn decode(stored: &[u8]) -> Result<StoredRegionCatalog, Error> {
    let mut bytes = Vec::new();
    GzDecoder::new(stored)
        .take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| Error(format!("the stored one does not unpack: {error}")))?;
    read(&bytes)
}

fn read(bytes: &[u8]) -> Result<StoredRegionCatalog, Error> {
    let mut read = Reader(bytes);
    if read.text() != Ok(KIND) || read.number() != Ok(VERSION) {
        return Err(Error(format!("the stored one is not a `{KIND}` of version {VERSION}")));
    }
    let region = read.text()?.to_owned();
    let found_at = read.parsed()?;
    let zones = read.list(|read| Ok((read.parsed()?, read.parsed()?)))?;
    let pooled = Pooled {
        places: read.list(|read| Ok((read.parsed()?, read.option(Reader::parsed)?)))?,
        requirements: read.list(requirements)?.into_iter().flatten().collect(),
        resources: read.list(Reader::parsed)?,
    };
    let instance_types = read.list(|read| read_type(read, &pooled).map(Arc::new))?;
    let descriptions = read.list(|read| Ok(Arc::new(instance_type_info::read(read)?)))?;
    read.end()?;
    let descriptions = descriptions.into_iter().map(|info| (info.name.clone(), info)).collect();
    let zones = zones.into_iter().collect();
    Ok(StoredRegionCatalog {
        catalog: RegionCatalog { region, zones, instance_types, descriptions },
        found_at,
    })
}

/// The other side of [`Pools`].
struct Pooled {
    places: Vec<(Zone, Option<ZoneId>)>,
    requirements: Vec<Requirement>,
    resources: Vec<ResourceName>,
}

/// One label's.
fn requirements(read: &mut Reader<'_>) -> Result<Vec<Requirement>, Error> {
    let key: LabelKey = read.parsed()?;
    read.list(|read| {
        let values: Vec<Value> = read.list(|read| read.text().map(Value::from))?;
        Ok(Requirement::listed(key.clone(), values.into_iter().collect()))
    })
}

fn read_type(read: &mut Reader<'_>, pooled: &Pooled) -> Result<InstanceType, Error> {
    let name = read.parsed()?;
    let requirements = read.list(|read| read.one_of(&pooled.requirements).cloned())?;
    Ok(InstanceType {
        name,
        requirements: Requirements::of_distinct(requirements),
        capacity: amounts(read, pooled)?,
        overhead: amounts(read, pooled)?,
        offerings: read.list(|read| offering(read, pooled))?,
    })
}

fn amounts(read: &mut Reader<'_>, pooled: &Pooled) -> Result<Resources, Error> {
    Ok(Resources {
        cpu: Millicores(read.number()?),
        memory: Bytes(read.number()?),
        ephemeral_storage: Bytes(read.number()?),
        pods: read.number()?,
        extended: read
            .list(|read| Ok((read.one_of(&pooled.resources)?.clone(), read.number()?)))?
            .into_iter()
            .collect(),
    })
}

fn offering(read: &mut Reader<'_>, pooled: &Pooled) -> Result<Offering, Error> {
    let (zone, zone_id) = read.one_of(&pooled.places)?.clone();
    let capacity_type = read.text()?;
    Ok(Offering {
        zone,
        zone_id,
        capacity_type: CapacityType::parse(capacity_type)
            .ok_or_else(|| wire::bad(capacity_type))?,
        price: HourlyPrice::from_nanos(read.number()?),
        is_available: read.truth()?,
        reservation: None,
    })
}

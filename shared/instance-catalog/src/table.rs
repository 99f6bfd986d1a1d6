//! The compressed table of `data/README.md`.
//!
//! Made for being read fast without optimization: a thousand types with thirty labels each share
//! their keys, values and whole requirements.

use std::{collections::BTreeMap, io::Read as _};

use flate2::read::GzDecoder;
use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeName, LabelKey, Offering, RegionCatalog,
    Requirement, Requirements, ResourceName, Resources, Zone, ZoneId, labels, requirement::Value,
};

use super::Error;

/// The columns of prices, in their order.
const CAPACITY_TYPES: [CapacityType; 2] = [CapacityType::OnDemand, CapacityType::Spot];

/// The most that a table may unpack to.
const BYTES_MAX: u64 = 16 << 20;

/// The catalog in a gzipped table, without descriptions. A table that is damaged, unpacks to more than
/// 16 MiB or does not name what its rows refer to is an error.
pub fn decode(compressed: &[u8]) -> Result<RegionCatalog, Error> {
    let mut text = String::new();
    GzDecoder::new(compressed)
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Error(format!("the table does not unpack: {error}")))?;
    let mut lines = text.lines();
    let first: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
    let ["journeyman-instance-types", "1", region] = first.as_slice() else {
        return Err(Error("not a table of instance types of version 1".to_owned()));
    };
    let zones = read_zones(lines.next().unwrap_or_default())?;
    let columns = lines.next().unwrap_or_default().split('\t').map(Column::new);
    let mut reader = Reader {
        columns: columns.collect::<Result<_, _>>()?,
        region: one_value(labels::REGION, region)?,
        resources: BTreeMap::new(),
        zones: &zones,
    };
    let mut types = Vec::new();
    for (index, line) in lines.enumerate() {
        let instance_type = reader.read(line);
        types.push(
            instance_type.map_err(|error| Error(format!("line {}: {}", index + 4, error.0)))?,
        );
    }
    super::finish((*region).to_owned(), zones.into_iter().collect(), types)
}

fn read_zones(line: &str) -> Result<Vec<(Zone, ZoneId)>, Error> {
    let zone = |cell: &str| {
        let (name, id) = cell.split_once('=').ok_or_else(|| bad(cell))?;
        Ok((Zone::new(name).map_err(|_| bad(cell))?, ZoneId::new(id).map_err(|_| bad(cell))?))
    };
    line.split('\t').map(zone).collect()
}

fn bad(cell: &str) -> Error {
    Error(format!("`{cell}` does not belong there"))
}

/// A label, and the requirements on it that were made already, by their text.
struct Column {
    key: LabelKey,
    known: BTreeMap<String, Requirement>,
}

impl Column {
    fn new(key: &str) -> Result<Self, Error> {
        let key = LabelKey::new(key).map_err(|_| bad(key))?;
        Ok(Self { key, known: BTreeMap::new() })
    }

    fn requirement(&mut self, cell: &str) -> Requirement {
        if let Some(known) = self.known.get(cell) {
            return known.clone();
        }
        // An empty value is one: the hypervisor of bare metal.
        let values = cell.split(',').filter(|_| cell != "-").map(Value::from).collect();
        let requirement = Requirement::listed(self.key.clone(), values);
        self.known.insert(cell.to_owned(), requirement.clone());
        requirement
    }
}

struct Reader<'a> {
    columns: Vec<Column>,
    region: Requirement,
    resources: BTreeMap<String, ResourceName>,
    zones: &'a [(Zone, ZoneId)],
}

impl Reader<'_> {
    fn read(&mut self, line: &str) -> Result<InstanceType, Error> {
        let mut cells = line.split('\t');
        let mut next = || cells.next().ok_or_else(|| Error("a column is missing".to_owned()));
        let name = next()?;
        let (capacity, overhead) = (next()?, next()?);
        let mut offerings = Vec::new();
        for capacity_type in CAPACITY_TYPES {
            let mut before = HourlyPrice::default();
            for (zone, zone_id) in self.zones {
                let cell = next()?;
                let (price, is_available) = match cell.strip_prefix('!') {
                    Some(price) => (price, false),
                    None => (cell, true),
                };
                let price = match price {
                    "-" => continue,
                    "=" => before,
                    nanos => HourlyPrice::from_nanos(nanos.parse().map_err(|_| bad(cell))?),
                };
                before = price;
                offerings.push(Offering {
                    zone: zone.clone(),
                    zone_id: Some(zone_id.clone()),
                    capacity_type,
                    price,
                    is_available,
                    reservation: None,
                });
            }
        }
        let mut requirements = Requirements::new();
        for column in &mut self.columns {
            requirements.replace(column.requirement(next()?));
        }
        for requirement in derived(name, &offerings)? {
            requirements.replace(requirement);
        }
        requirements.replace(self.region.clone());
        Ok(InstanceType {
            name: InstanceTypeName::new(name).map_err(|_| bad(name))?,
            requirements,
            capacity: self.amounts(capacity)?,
            overhead: self.amounts(overhead)?,
            offerings,
        })
    }

    fn amounts(&mut self, cell: &str) -> Result<Resources, Error> {
        let mut resources = Resources::default();
        for part in cell.split(' ').filter(|part| !part.is_empty()) {
            let (name, amount) = part.split_once('=').ok_or_else(|| bad(part))?;
            let amount = amount.parse().map_err(|_| bad(part))?;
            if !self.resources.contains_key(name) {
                let resource = ResourceName::new(name).map_err(|_| bad(part))?;
                self.resources.insert(name.to_owned(), resource);
            }
            if let Some(resource) = self.resources.get(name) {
                resources.set(resource, amount);
            }
        }
        Ok(resources)
    }
}

/// Labels that follow from the name and the offerings.
fn derived(name: &str, offerings: &[Offering]) -> Result<[Requirement; 4], Error> {
    let listed = |key: &str, value: fn(&Offering) -> &str| {
        let values = offerings.iter().map(|offering| Value::from(value(offering))).collect();
        LabelKey::new(key).map(|key| Requirement::listed(key, values)).map_err(|_| bad(key))
    };
    Ok([
        one_value(labels::INSTANCE_TYPE, name)?,
        listed(labels::ZONE, |offering| offering.zone.as_str())?,
        listed(labels::ZONE_ID, |offering| offering.zone_id.as_ref().map_or("", ZoneId::as_str))?,
        listed(labels::CAPACITY_TYPE, |offering| offering.capacity_type.as_str())?,
    ])
}

fn one_value(key: &str, value: &str) -> Result<Requirement, Error> {
    Requirement::of_label(key, value).map_err(|_| bad(value))
}

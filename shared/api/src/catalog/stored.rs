//! What is sold in a region, as it is stored: gzip of tab-separated lines, some 60 KB for a region.
//!
//! Line 1: `journeyman-sales`, version, region, time. Line 2: the zones as `name=id`, joined by tabs.
//! Then two lines for each type, sorted by name: where and for how much it is sold (name; zones
//! joined by `,`; on-demand price in nano-dollars per hour or `-`; spot prices as `zone=nanos` joined
//! by `,`), and its shape as in the built-in table of shapes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use model::{
    HourlyPrice, InstanceShape, InstanceTypeName, Zone, ZoneId,
    shape::{Market, Sales},
};

use super::{Error, shapes};

/// The most that it may unpack to.
const BYTES_MAX: u64 = 16 << 20;
const KIND: &str = "journeyman-sales";
const VERSION: &str = "1";

/// `sales` as they are stored. Types without a shape are left out: nothing could be worked out.
pub fn encode(sales: &Sales) -> Result<Vec<u8>, Error> {
    let market = &sales.market;
    let mut lines = vec![[KIND, VERSION, &market.region, &sales.found_at.to_string()].join("\t")];
    let zones = market.zones.iter().map(|(zone, id)| format!("{zone}={id}"));
    lines.push(zones.collect::<Vec<_>>().join("\t"));
    let mut shapes: Vec<&InstanceShape> = sales.shapes.iter().collect();
    shapes.sort_by(|one, other| one.name.cmp(&other.name));
    let spot = spot_by_type(market);
    for shape in shapes {
        lines.push(sold(shape, market, spot.get(&shape.name)));
        lines.push(shapes::write(shape));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(lines.join("\n").as_bytes()).and_then(|()| encoder.finish());
    packed.map_err(|error| Error(format!("the sales do not pack: {error}")))
}

fn spot_by_type(market: &Market) -> BTreeMap<&InstanceTypeName, Vec<String>> {
    let mut by_type: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((name, zone), price) in &market.spot {
        by_type.entry(name).or_default().push(format!("{zone}={}", price.0));
    }
    by_type
}

fn sold(shape: &InstanceShape, market: &Market, spot: Option<&Vec<String>>) -> String {
    let zones = market.offered.get(&shape.name).into_iter().flatten();
    let zones: Vec<&str> = zones.map(Zone::as_str).collect();
    let on_demand = market.on_demand.get(&shape.name);
    [
        shape.name.to_string(),
        zones.join(","),
        on_demand.map_or_else(|| "-".to_owned(), |price| price.0.to_string()),
        spot.map(|prices| prices.join(",")).unwrap_or_default(),
    ]
    .join("\t")
}

/// What [`encode`] stored.
pub fn decode(stored: &[u8]) -> Result<Sales, Error> {
    let mut text = String::new();
    GzDecoder::new(stored)
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Error(format!("the sales do not unpack: {error}")))?;
    let mut lines = text.lines();
    let first: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let [KIND, VERSION, region, found_at] = *first.as_slice() else {
        return Err(Error("not what is sold, in version 1".to_owned()));
    };
    let found_at = found_at.parse().map_err(|_| bad(found_at))?;
    let mut market = Market { region: region.to_owned(), ..Market::default() };
    for cell in cells(lines.next().unwrap_or_default(), '\t') {
        let (zone, id) = cell.split_once('=').ok_or_else(|| bad(cell))?;
        let id = ZoneId::new(id).map_err(|_| bad(cell))?;
        market.zones.insert(Zone::new(zone).map_err(|_| bad(cell))?, id);
    }
    let mut all = Vec::new();
    let mut number = 2;
    while let Some(line) = lines.next() {
        read(line, &mut market)?;
        number += 2;
        let shape = lines.next().ok_or_else(|| Error("the last shape is missing".to_owned()))?;
        all.push(shapes::read(number, shape)?);
    }
    Ok(Sales { market, shapes: all, found_at })
}

fn read(line: &str, market: &mut Market) -> Result<(), Error> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [name, zones, on_demand, spot] = *columns.as_slice() else { return Err(bad(line)) };
    let name = InstanceTypeName::new(name).map_err(|_| bad(name))?;
    let zone = |text: &str| Zone::new(text).map_err(|_| bad(text));
    let zones: BTreeSet<Zone> = cells(zones, ',').map(zone).collect::<Result<_, _>>()?;
    if !zones.is_empty() {
        market.offered.insert(name.clone(), zones);
    }
    if on_demand != "-" {
        market.on_demand.insert(name.clone(), price(on_demand)?);
    }
    for cell in cells(spot, ',') {
        let (place, nanos) = cell.split_once('=').ok_or_else(|| bad(cell))?;
        market.spot.insert((name.clone(), zone(place)?), price(nanos)?);
    }
    Ok(())
}

fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    line.split(separator).filter(|cell| !cell.is_empty())
}

fn price(nanos: &str) -> Result<HourlyPrice, Error> {
    nanos.parse().map(HourlyPrice).map_err(|_| bad(nanos))
}

fn bad(cell: &str) -> Error {
    Error(format!("`{cell}` does not belong there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin() -> Sales {
        let (market, shapes) = super::super::builtin_market().unwrap();
        Sales { market, shapes, found_at: "2026-08-01T12:00:00Z".parse().unwrap() }
    }

    #[test]
    fn what_is_stored_reads_back_and_is_small() {
        let sales = builtin();
        let stored = encode(&sales).unwrap();
        assert!(stored.len() < 200_000, "{} bytes", stored.len());
        let read = decode(&stored).unwrap();
        assert_eq!(read.market, sales.market);
        assert_eq!(read.shapes, sales.shapes);
        assert_eq!(read.found_at, sales.found_at);
    }

    #[test]
    fn what_is_not_known_stays_so() {
        let mut sales = builtin();
        sales.shapes.truncate(1);
        sales.market = Market { region: "eu-west-1".to_owned(), ..Market::default() };
        assert_eq!(decode(&encode(&sales).unwrap()).unwrap(), sales);
    }

    #[test]
    fn what_is_cut_off_or_of_another_kind_is_refused() {
        let stored = encode(&builtin()).unwrap();
        assert!(decode(&stored[..stored.len() / 2]).is_err());
        assert!(decode(b"journeyman-sales").is_err());
        assert!(decode(include_bytes!("../../data/instance-shapes.tsv.gz")).is_err());
    }
}

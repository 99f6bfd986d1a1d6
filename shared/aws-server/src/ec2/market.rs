//! What is for sale where, and what spot capacity costs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::InstanceTypeName;
use simulator::{AwsError, SpotPrice};

use super::{Answer, Call, refused};
use crate::{
    filter::Filter,
    page::Page,
    parameters::{invalid, refusal},
    xml::{list, text},
};

/// What spot prices are for. Linux costs the same in both.
const PRODUCTS: [&str; 2] = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"];

pub(super) async fn zones(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    call.tried("DescribeAvailabilityZones", is_dry).await?;
    let catalog = call.sim.for_sale("DescribeAvailabilityZones").await?;
    let items = catalog.zones.iter().map(|(zone, id)| {
        vec![
            text("zoneName", zone),
            text("zoneId", id),
            text("zoneState", "available"),
            text("regionName", &catalog.region),
            text("zoneType", "availability-zone"),
            text("optInStatus", "opt-in-not-required"),
        ]
    });
    Ok(vec![list("availabilityZoneInfo", items)])
}

pub(super) async fn offerings(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 5..=1_000, call.page_max).map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    match call.parameters.text("LocationType").as_deref() {
        Some("availability-zone") => {}
        other => {
            let text = format!("not supported yet: LocationType {}", other.unwrap_or("region"));
            return Err(refused(refusal("UnsupportedOperation", text)));
        }
    }
    call.tried("DescribeInstanceTypeOfferings", is_dry).await?;
    let catalog = call.sim.for_sale("DescribeInstanceTypeOfferings").await?;
    let mut entries: Vec<(String, String)> = Vec::new();
    for instance_type in &catalog.instance_types {
        for offering in &instance_type.offerings {
            entries.push((instance_type.name.to_string(), offering.zone.to_string()));
        }
    }
    entries.sort();
    entries.dedup();
    for filter in &filters {
        match filter.name.as_str() {
            "instance-type" => entries.retain(|(instance_type, _)| filter.has(instance_type)),
            "location" => entries.retain(|(_, zone)| filter.has(zone)),
            _ => return Err(refused(filter.unknown())),
        }
    }
    let (found, next) = page.of(entries);
    let items = found.iter().map(|(instance_type, zone)| {
        vec![
            text("instanceType", instance_type),
            text("locationType", "availability-zone"),
            text("location", zone),
        ]
    });
    let mut children = vec![list("instanceTypeOfferingSet", items)];
    children.extend(next);
    Ok(children)
}

pub(super) async fn spot_prices(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 1..=1_000, call.page_max).map_err(refused)?;
    let types: Vec<InstanceTypeName> = call.parameters.all("InstanceType").map_err(refused)?;
    let zone = call.parameters.text("AvailabilityZone");
    let mut products = call.parameters.texts("ProductDescription");
    let from: Option<Timestamp> = call.parameters.parsed("StartTime").map_err(refused)?;
    let until: Option<Timestamp> = call.parameters.parsed("EndTime").map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeSpotPriceHistory", is_dry).await?;
    for filter in filters {
        match filter.name.as_str() {
            "product-description" => products.extend(filter.values),
            _ => return Err(refused(filter.unknown())),
        }
    }
    let products = wanted(&products).map_err(refused)?;
    let from = from.unwrap_or(Timestamp::MIN);
    let prices = call.sim.spot_price_history(from).await?;
    let is_wanted = |price: &&SpotPrice| {
        (types.is_empty() || types.contains(&price.offering.instance_type))
            && zone.as_deref().is_none_or(|zone| price.offering.zone.as_str() == zone)
            && until.is_none_or(|until| price.since <= until)
    };
    let flat_map = prices.iter().filter(is_wanted).flat_map(|price| {
        let of_product = |product: &&'static str| (price, *product);
        products.iter().map(of_product).collect::<Vec<_>>()
    });
    let (entries, next) = page.of(flat_map.collect());
    let items = entries.iter().map(|(price, product)| {
        vec![
            text("instanceType", &price.offering.instance_type),
            text("productDescription", product),
            text("spotPrice", price.price),
            text("timestamp", price.since),
            text("availabilityZone", &price.offering.zone),
        ]
    });
    let mut children = vec![list("spotPriceHistorySet", items)];
    children.extend(next);
    Ok(children)
}

/// The products that are asked for; Windows is not for sale here.
fn wanted(products: &[String]) -> Result<Vec<&'static str>, AwsError> {
    if products.is_empty() {
        return Ok(PRODUCTS.to_vec());
    }
    let known: BTreeMap<&str, &'static str> = PRODUCTS.into_iter().map(|p| (p, p)).collect();
    products
        .iter()
        .map(|product| known.get(product.as_str()).copied())
        .map(|product| product.ok_or_else(|| invalid("productDescription", &products.join(", "))))
        .collect()
}

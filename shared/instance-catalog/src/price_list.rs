//! On-demand prices: what is asked of the price list of AWS, and what its products say.
//!
//! Karpenter: `pkg/providers/pricing/pricing.go` of the AWS provider;
//! <https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html>

use model::{HourlyPrice, InstanceTypeName};
use serde_json::{Map, Value};

/// The service whose products are asked for.
pub const SERVICE: &str = "AmazonEC2";

/// What is asked for in turn. Both are there wherever anything is sold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is sold by the hour to everybody.
    Shared,
    /// Bare metal, which is listed as dedicated.
    BareMetal,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Shared, Self::BareMetal];
}

/// The fields, and their values, of the products of `kind` in `region`.
pub fn filters(region: &str, kind: Kind) -> [(&'static str, &str); 8] {
    let (tenancy, family) = match kind {
        Kind::Shared => ("Shared", "Compute Instance"),
        Kind::BareMetal => ("Dedicated", "Compute Instance (bare metal)"),
    };
    [
        ("regionCode", region),
        ("serviceCode", SERVICE),
        ("preInstalledSw", "NA"),
        ("operatingSystem", "Linux"),
        ("capacitystatus", "Used"),
        ("marketoption", "OnDemand"),
        ("tenancy", tenancy),
        ("productFamily", family),
    ]
}

/// Whether there are prices of `region`: there are none of GovCloud.
pub fn has(region: &str) -> bool {
    !region.starts_with("us-gov-")
}

/// The region in which the prices of `region` are kept: they are at few places.
pub fn place(region: &str) -> &'static str {
    match region.split('-').next() {
        Some("ap") => "ap-south-1",
        Some("cn") => "cn-northwest-1",
        Some("eu") => "eu-central-1",
        _ => "us-east-1",
    }
}

/// What prices of `region` are in.
pub fn currency(region: &str) -> &'static str {
    if region.starts_with("cn-") { "CNY" } else { "USD" }
}

/// The type that `product`, a text that holds JSON, is about, and its price. What is free or cannot
/// be read has none.
pub fn price_of(product: &str, currency: &str) -> Option<(InstanceTypeName, HourlyPrice)> {
    let product: Value = serde_json::from_str(product).ok()?;
    let name = product.pointer("/product/attributes/instanceType")?.as_str()?;
    let terms = product.pointer("/terms/OnDemand")?.as_object()?;
    let dimensions = terms.values().filter_map(|term| term.get("priceDimensions")?.as_object());
    let mut rates = dimensions.flat_map(Map::values);
    let price = rates.find_map(|rate| {
        let text = rate.get("pricePerUnit")?.get(currency)?.as_str()?;
        // Ten places are written, of which nine count.
        HourlyPrice::parse_dollars(nano_dollars(text)).ok().filter(|price| price.nanos() > 0)
    })?;
    Some((InstanceTypeName::new(name).ok()?, price))
}

/// `text` with at most nine places.
fn nano_dollars(text: &str) -> &str {
    let end = text.find('.').map_or(text.len(), |point| text.len().min(point.saturating_add(10)));
    text.get(..end).unwrap_or(text)
}

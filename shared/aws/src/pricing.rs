//! On-demand prices: Pricing's one call that is needed, GetProducts.
//!
//! Karpenter: `pkg/providers/pricing/pricing.go` of the AWS provider;
//! <https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html>

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use model::{HourlyPrice, InstanceTypeName, limits};
use ports::{Fault, PortError};
use serde_json::{Map, Value, json};

use crate::{
    fault::BadAnswer,
    json_call::{JsonService, Operation},
};

const GET: Operation = Operation {
    name: "GetProducts",
    target: "AWSPriceListService.GetProducts",
    service: "pricing",
};
const PAGE_SIZE: u32 = 100;
/// What is sold by the hour to everybody, and bare metal, which is listed as dedicated.
const KINDS: [[(&str, &str); 2]; 2] = [
    [("tenancy", "Shared"), ("productFamily", "Compute Instance")],
    [("tenancy", "Dedicated"), ("productFamily", "Compute Instance (bare metal)")],
];

/// The price list of one region.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    service: JsonService,
    region: String,
}

impl Prices {
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        let (place, endpoint) = endpoint(region);
        let service = JsonService::new(config, endpoint, place, credentials);
        Self { service, region: region.to_owned() }
    }

    /// The price of each type that has one. Both kinds must be there, or there is no answer.
    pub(crate) async fn on_demand(
        &self,
    ) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        // The price list has none for GovCloud.
        if self.region.starts_with("us-gov-") {
            let why = format!("the price list has no prices of {}", self.region);
            return Err(PortError::because(GET.name, Fault::NotFound, why));
        }
        let mut all = BTreeMap::new();
        for kind in KINDS {
            let found = self.of_kind(kind).await?;
            if found.is_empty() {
                return Err(BadAnswer::of(GET.name, format!("no prices of {kind:?}")));
            }
            all.extend(found);
        }
        Ok(all)
    }

    async fn of_kind(
        &self,
        kind: [(&str, &str); 2],
    ) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        let mut all = BTreeMap::new();
        let mut token: Option<String> = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let answer = self.service.call(GET, &request(&self.region, kind, token)).await?;
            let products = answer.get("PriceList").and_then(Value::as_array);
            for product in products.into_iter().flatten().filter_map(Value::as_str) {
                all.extend(price_of(product, currency(&self.region)));
            }
            token = answer.get("NextToken").and_then(Value::as_str).map(str::to_owned);
            token = token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(all);
            }
        }
        Err(BadAnswer::of(GET.name, "too many pages"))
    }
}

/// Where the price list of `region` is asked for: it is kept at few places.
fn endpoint(region: &str) -> (&'static str, String) {
    let (place, domain) = match region.split('-').next() {
        Some("ap") => ("ap-south-1", "amazonaws.com"),
        Some("cn") => ("cn-northwest-1", "amazonaws.com.cn"),
        Some("eu") => ("eu-central-1", "amazonaws.com"),
        _ => ("us-east-1", "amazonaws.com"),
    };
    (place, format!("https://api.pricing.{place}.{domain}"))
}

fn currency(region: &str) -> &'static str {
    if region.starts_with("cn-") { "CNY" } else { "USD" }
}

fn request(region: &str, kind: [(&str, &str); 2], token: Option<String>) -> Value {
    let common = [
        ("regionCode", region),
        ("serviceCode", "AmazonEC2"),
        ("preInstalledSw", "NA"),
        ("operatingSystem", "Linux"),
        ("capacitystatus", "Used"),
        ("marketoption", "OnDemand"),
    ];
    let filter = |(field, value): (&str, &str)| json!({ "Field": field, "Type": "TERM_MATCH", "Value": value });
    let filters: Vec<Value> = common.into_iter().chain(kind).map(filter).collect();
    let mut body = json!({
        "ServiceCode": "AmazonEC2", "FormatVersion": "aws_v1", "Filters": filters,
        "MaxResults": PAGE_SIZE,
    });
    if let (Some(body), Some(token)) = (body.as_object_mut(), token) {
        body.insert("NextToken".to_owned(), token.into());
    }
    body
}

/// The type that `product`, a text that holds JSON, is about, and its price. What is free or cannot
/// be read has none.
fn price_of(product: &str, currency: &str) -> Option<(InstanceTypeName, HourlyPrice)> {
    let product: Value = serde_json::from_str(product).ok()?;
    let name = product.pointer("/product/attributes/instanceType")?.as_str()?;
    let terms = product.pointer("/terms/OnDemand")?.as_object()?;
    let dimensions = terms.values().filter_map(|term| term.get("priceDimensions")?.as_object());
    let mut rates = dimensions.flat_map(Map::values);
    let price = rates.find_map(|rate| {
        let text = rate.get("pricePerUnit")?.get(currency)?.as_str()?;
        // Ten places are written, of which nine count.
        HourlyPrice::parse_dollars(nano_dollars(text)).ok().filter(|price| price.0 > 0)
    })?;
    Some((InstanceTypeName::new(name).ok()?, price))
}

/// `text` with at most nine places.
fn nano_dollars(text: &str) -> &str {
    let end = text.find('.').map_or(text.len(), |point| text.len().min(point.saturating_add(10)));
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(currency: &str, price: &str) -> String {
        let rate = json!({ "pricePerUnit": { currency: price } });
        json!({
            "product": { "attributes": { "instanceType": "m7g.large" } },
            "terms": { "OnDemand": { "a": { "priceDimensions": { "b": rate } } } },
        })
        .to_string()
    }

    #[track_caller]
    fn check(product: &str, currency: &str, expected: Option<u64>) {
        let found = price_of(product, currency).map(|(name, price)| (name.to_string(), price.0));
        assert_eq!(found, expected.map(|nanos| ("m7g.large".to_owned(), nanos)), "{product}");
    }

    #[test]
    fn a_product_says_its_type_and_price_in_the_regions_currency() {
        check(&product("USD", "0.0816000000"), "USD", Some(81_600_000));
        check(&product("CNY", "0.5"), "CNY", Some(500_000_000));
        check(&product("CNY", "0.5"), "USD", None);
        check(&product("USD", "0.0000000000"), "USD", None);
        check("no product", "USD", None);
    }

    #[test]
    fn the_price_list_is_asked_for_near_the_region() {
        for (region, expected) in [
            ("us-west-2", "https://api.pricing.us-east-1.amazonaws.com"),
            ("sa-east-1", "https://api.pricing.us-east-1.amazonaws.com"),
            ("ap-southeast-2", "https://api.pricing.ap-south-1.amazonaws.com"),
            ("eu-west-1", "https://api.pricing.eu-central-1.amazonaws.com"),
            ("cn-north-1", "https://api.pricing.cn-northwest-1.amazonaws.com.cn"),
        ] {
            assert_eq!(endpoint(region).1, expected, "{region}");
        }
    }

    #[test]
    fn a_request_names_the_region_the_kind_and_the_page() {
        let body = request("us-west-2", KINDS[0], Some("next".to_owned()));
        assert_eq!(body["NextToken"], "next");
        let filters = body["Filters"].as_array().unwrap();
        let region = json!({ "Field": "regionCode", "Type": "TERM_MATCH", "Value": "us-west-2" });
        assert!(filters.contains(&region), "{filters:?}");
        assert_eq!(filters.len(), 8);
    }
}

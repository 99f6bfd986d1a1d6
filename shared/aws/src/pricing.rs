//! On-demand prices: Pricing's one call that is needed, GetProducts.
//!
//! Karpenter: `pkg/providers/pricing/pricing.go` of the AWS provider;
//! <https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html>

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use instance_catalog::price_list::{self, Kind};
use model::{
    HourlyPrice, InstanceTypeName,
    limits::{self, requests},
};
use ports::{Fault, PortError};
use serde_json::{Value, json};

use crate::{
    fault::BadAnswer,
    json_call::{self, JsonService, Operation},
};

const GET: Operation = Operation {
    name: "GetProducts",
    target: "AWSPriceListService.GetProducts",
    service: "pricing",
};

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

    /// The same at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(
        self,
        connector: aws_smithy_runtime_api::client::http::SharedHttpConnector,
    ) -> Self {
        Self { service: self.service.over(connector), ..self }
    }

    /// The price of each type that has one. Both kinds must be there, or there is no answer.
    pub(crate) async fn on_demand(
        &self,
    ) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        if !price_list::has(&self.region) {
            let why = format!("the price list has no prices of {}", self.region);
            return Err(PortError::because(GET.name, Fault::NotFound, why));
        }
        let mut hourly_prices = BTreeMap::new();
        for kind in Kind::ALL {
            let priced = self.of_kind(kind).await?;
            if priced.is_empty() {
                return Err(BadAnswer::of(GET.name, format!("no prices of {kind:?}")));
            }
            hourly_prices.extend(priced);
        }
        Ok(hourly_prices)
    }

    async fn of_kind(
        &self,
        kind: Kind,
    ) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        let mut hourly_prices = BTreeMap::new();
        let mut token: Option<String> = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let answer = self.service.call(GET, &request(&self.region, kind, token)).await?;
            let products = answer.get("PriceList").and_then(Value::as_array);
            for product in products.into_iter().flatten().filter_map(Value::as_str) {
                hourly_prices
                    .extend(price_list::price_of(product, price_list::currency(&self.region)));
            }
            token = answer.get("NextToken").and_then(Value::as_str).map(str::to_owned);
            token = token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(hourly_prices);
            }
        }
        Err(BadAnswer::of(GET.name, "too many pages"))
    }
}

/// Where the price list of `region` is asked for.
fn endpoint(region: &str) -> (&'static str, String) {
    let place = price_list::place(region);
    (place, json_call::endpoint("api.pricing", place))
}

fn request(region: &str, kind: Kind, token: Option<String>) -> Value {
    let filter = |(field, value): (&str, &str)| json!({ "Field": field, "Type": "TERM_MATCH", "Value": value });
    let filters: Vec<Value> = price_list::filters(region, kind).into_iter().map(filter).collect();
    let mut body = json!({
        "ServiceCode": price_list::SERVICE, "FormatVersion": "aws_v1", "Filters": filters,
        "MaxResults": requests::PRICES_PER_PAGE,
    });
    if let (Some(body), Some(token)) = (body.as_object_mut(), token) {
        body.insert("NextToken".to_owned(), token.into());
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let body = request("us-west-2", Kind::Shared, Some("next".to_owned()));
        assert_eq!(body["NextToken"], "next");
        let filters = body["Filters"].as_array().unwrap();
        let region = json!({ "Field": "regionCode", "Type": "TERM_MATCH", "Value": "us-west-2" });
        assert!(filters.contains(&region), "{filters:?}");
        assert_eq!(filters.len(), 8);
    }
}

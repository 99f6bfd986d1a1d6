//! What AWS sells in a region, asked with the `aws` command: whatever it takes to reach it (profiles,
//! single sign-on, proxies), `aws` knows already. Nothing is changed.

use std::{collections::BTreeMap, io, path::Path};

use instance_catalog::{
    ec2,
    price_list::{self, Kind},
};
use model::{
    HourlyPrice, InstanceTypeInfo, InstanceTypeName,
    instance_type_info::{RegionMarket, TableFacts},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    installation::now,
    manifests::BadInput,
    program::{self, Failed},
};

/// Types that nodes can be, as Karpenter asks for them.
const TYPES: &[&str] = &[
    "describe-instance-types",
    "--filters",
    "Name=supported-virtualization-type,Values=hvm",
    "Name=processor-info.supported-architecture,Values=x86_64,arm64",
];
const OFFERINGS: &[&str] =
    &["describe-instance-type-offerings", "--location-type", "availability-zone"];
const SPOT: &[&str] = &[
    "describe-spot-price-history",
    "--product-descriptions",
    "Linux/UNIX",
    "Linux/UNIX (Amazon VPC)",
    "--start-time",
];

/// Who is asked, and about what.
pub(super) struct Aws<'a> {
    /// Another program than `aws`.
    pub(super) program: Option<&'a Path>,
    /// Another region than that of the profile.
    pub(super) region: Option<&'a str>,
}

/// Asks for all of it. `builtin` knows what no call answers, and prices where there is no price list.
pub(super) fn read(
    aws: &Aws<'_>,
    builtin: (RegionMarket, Vec<InstanceTypeInfo>),
) -> Result<(RegionMarket, Vec<InstanceTypeInfo>), BadInput> {
    let (builtin, known) = builtin;
    let zones = ec2::zones(&ec2_call(aws, &["describe-availability-zones"])?)
        .map_err(|error| bad(&error))?;
    let facts: BTreeMap<&str, TableFacts> =
        known.iter().map(|info| (info.name.as_str(), info.table)).collect();
    let types = ec2_call(aws, TYPES)?;
    let descriptions = ec2::instance_types(&types, |name| facts.get(name).copied())
        .map_err(|error| bad(&error))?;
    let on_demand = if price_list::has(&zones.region) {
        on_demand(aws, &zones.region)?
    } else {
        builtin.on_demand
    };
    let present = now().to_string();
    let market = RegionMarket {
        offered: ec2::offered(&ec2_call(aws, OFFERINGS)?).map_err(|error| bad(&error))?,
        on_demand,
        spot: ec2::spot(&ec2_call(aws, &[SPOT, &[&present]].concat())?)
            .map_err(|error| bad(&error))?,
        region: zones.region,
        zones: zones.ids,
    };
    Ok((market, descriptions))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Products {
    price_list: Vec<String>,
}

fn on_demand(
    aws: &Aws<'_>,
    region: &str,
) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, BadInput> {
    let mut hourly_prices = BTreeMap::new();
    for kind in Kind::ALL {
        let filters = price_list::filters(region, kind)
            .map(|(field, value)| json!({ "Type": "TERM_MATCH", "Field": field, "Value": value }));
        let filters = serde_json::Value::from(filters.to_vec()).to_string();
        let words = ["get-products", "--service-code", price_list::SERVICE, "--filters", &filters];
        let answer = call(aws, "pricing", &words, Some(price_list::place(region)))?;
        let products: Products = serde_json::from_slice(&answer)
            .map_err(|error| BadInput::one(format!("aws pricing get-products: {error}")))?;
        let before = hourly_prices.len();
        let currency = price_list::currency(region);
        hourly_prices.extend(
            products.price_list.iter().filter_map(|text| price_list::price_of(text, currency)),
        );
        if hourly_prices.len() == before {
            let rule = format!("no prices of {kind:?} in {region}");
            return Err(BadInput::one(format!("aws pricing get-products: {rule}")));
        }
    }
    Ok(hourly_prices)
}

fn bad(error: &instance_catalog::Error) -> BadInput {
    BadInput::one(format!("aws ec2: {error}"))
}

fn ec2_call(aws: &Aws<'_>, words: &[&str]) -> Result<Vec<u8>, BadInput> {
    call(aws, "ec2", words, aws.region)
}

/// What `aws SERVICE WORDS` prints; it follows pages by itself.
fn call(
    aws: &Aws<'_>,
    service: &str,
    words: &[&str],
    region: Option<&str>,
) -> Result<Vec<u8>, BadInput> {
    let service_and_words = [service].into_iter().chain(words.iter().copied());
    program::output(&mut program::aws(aws.program, region, service_and_words)).map_err(|failed| {
        match failed {
        Failed::Said(said) => {
            let operation = words.first().copied().unwrap_or_default();
            BadInput::one(format!("aws {service} {operation}: {said}"))
        }
        Failed::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => BadInput::one(
            "AWS is asked with the command `aws`, which is not there: install it, or save what it \
             prints elsewhere (`catalog --from`, `plan --instance-types`)"
                .to_owned(),
        ),
        Failed::NotStarted(error) => BadInput::one(format!("aws: {error}")),
    }
    })
}

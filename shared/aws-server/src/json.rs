//! The services that speak JSON: SSM's parameters, Pricing's products, ARC's zonal shifts.

use model::{CapacityType, ClusterName, HourlyPrice, InstanceType, RegionCatalog};
use ports::PortError;
use serde_json::{Value, json};
use simulator::{AwsError, Sim};

use crate::{
    parameters::refusal,
    reply::{Reply, failure_of},
};

const JSON_1_1: &str = "application/x-amz-json-1.1";
/// Of one page of GetProducts.
/// <https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html>
const PRODUCTS_MAX: usize = 100;

/// Answers a request with the header `X-Amz-Target`.
pub(crate) async fn answer(target: &str, sim: &Sim, body: &[u8]) -> Reply {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return error(400, "SerializationException", "the body is no JSON object");
    };
    let answer = match target {
        "AmazonSSM.GetParameter" => parameter(sim, body).await,
        "AWSPriceListService.GetProducts" => products(sim, body).await,
        _ => {
            let words = format!("{target} is not known, or not supported yet");
            Err(refused(refusal("UnknownOperationException", words)))
        }
    };
    match answer {
        Ok(value) => Reply::json(200, JSON_1_1, &value),
        Err(problem) => match failure_of(&problem) {
            None => Reply::HangUp,
            Some((_, code, message)) if code == "RequestLimitExceeded" => {
                error(400, "ThrottlingException", &message)
            }
            Some((_, code, message)) => error(400, &code, &message),
        },
    }
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(status, JSON_1_1, &json!({ "__type": code, "message": message }))
}

pub(crate) fn refused(refusal: AwsError) -> PortError {
    PortError::because("JSON", ports::Fault::Permanent, ports::Refusal::from(refusal))
}

/// Lambda's limits of an account that runs nothing else: AWS's default.
pub(crate) fn lambda_limits() -> Reply {
    let limit = json!({ "ConcurrentExecutions": 1_000, "UnreservedConcurrentExecutions": 1_000 });
    Reply::json(200, JSON_1_1, &json!({ "AccountLimit": limit }))
}

/// Lambda's functions: there are none, whatever plays those of this project.
pub(crate) fn functions() -> Reply {
    Reply::json(200, JSON_1_1, &json!({ "Functions": [] }))
}

type Body = serde_json::Map<String, Value>;

/// Takes the text `name`.
fn text(body: &mut Body, name: &str) -> Result<Option<String>, PortError> {
    match body.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(refused(refusal("ValidationException", format!("{name} is no text")))),
    }
}

/// Refuses parameters that were not taken.
fn end(body: &Body) -> Result<(), PortError> {
    match body.keys().next() {
        None => Ok(()),
        Some(name) => {
            let words = format!("not supported yet: {name}");
            Err(refused(refusal("ValidationException", words)))
        }
    }
}

async fn parameter(sim: &Sim, mut body: Body) -> Result<Value, PortError> {
    let name = text(&mut body, "Name")?.unwrap_or_default();
    end(&body)?;
    let image = sim.parameter(&name).await?;
    Ok(json!({ "Parameter": {
        "Name": name, "Type": "String", "Value": image.as_str(), "Version": 1, "DataType": "text",
        "ARN": format!("arn:aws:ssm:us-west-2::parameter{name}"),
    }}))
}

async fn products(sim: &Sim, mut body: Body) -> Result<Value, PortError> {
    let invalid = |words: String| refused(refusal("InvalidParameterException", words));
    match text(&mut body, "ServiceCode")?.as_deref() {
        Some("AmazonEC2") => {}
        other => return Err(invalid(format!("not supported yet: ServiceCode {other:?}"))),
    }
    text(&mut body, "FormatVersion")?;
    let start: usize = match text(&mut body, "NextToken")? {
        None => 0,
        Some(token) => token.parse().map_err(|_| invalid(format!("NextToken {token}")))?,
    };
    let size = match body.remove("MaxResults") {
        None | Some(Value::Null) => PRODUCTS_MAX,
        Some(size) => size
            .as_u64()
            .and_then(|size| usize::try_from(size).ok())
            .filter(|size| (1..=PRODUCTS_MAX).contains(size))
            .ok_or_else(|| invalid(format!("MaxResults {size}")))?,
    };
    let mut filters = Vec::new();
    if let Some(list) = body.remove("Filters") {
        for filter in list.as_array().into_iter().flatten() {
            let field = |name: &str| filter.get(name).and_then(Value::as_str).unwrap_or_default();
            if field("Type") != "TERM_MATCH" {
                return Err(invalid(format!(
                    "not supported yet: filter of type {}",
                    field("Type")
                )));
            }
            filters.push((field("Field").to_owned(), field("Value").to_owned()));
        }
    }
    end(&body)?;
    let catalog = sim.for_sale("GetProducts").await?;
    let values: Vec<Value> = catalog
        .instance_types
        .iter()
        .filter_map(|instance_type| product(&catalog, instance_type))
        .filter(|product| {
            filters.iter().all(|(field, value)| {
                let argument = match field.as_str() {
                    "productFamily" => product.pointer("/product/productFamily"),
                    "serviceCode" => product.get("serviceCode"),
                    _ => product.pointer("/product/attributes").and_then(|value| value.get(field)),
                };
                argument.and_then(Value::as_str) == Some(value)
            })
        })
        .collect();
    let end = start.saturating_add(size);
    let next = (end < values.len()).then(|| end.to_string());
    // Each product is a text that holds JSON.
    let page: Vec<String> = values.iter().skip(start).take(size).map(ToString::to_string).collect();
    Ok(json!({ "FormatVersion": "aws_v1", "PriceList": page, "NextToken": next }))
}

/// An instance type in the price list; `None` when it is not sold on demand.
fn product(catalog: &RegionCatalog, instance_type: &InstanceType) -> Option<Value> {
    let mut sold = instance_type.offerings.iter();
    let price = sold.find(|sold| sold.capacity_type == CapacityType::OnDemand)?.price;
    let name = instance_type.name.as_str();
    let is_metal = name.contains("metal");
    let (family, tenancy) = if is_metal {
        ("Compute Instance (bare metal)", "Dedicated")
    } else {
        ("Compute Instance", "Shared")
    };
    let sku = format!("{:016X}", model::ledger::digest(name.as_bytes()));
    let term = format!("{sku}.JRTCKXETXF");
    let rate = format!("{term}.6YS6EN2CT7");
    Some(json!({
        "serviceCode": "AmazonEC2",
        "product": {
            "sku": sku,
            "productFamily": family,
            "attributes": {
                "servicecode": "AmazonEC2",
                "regionCode": catalog.region,
                "instanceType": name,
                "tenancy": tenancy,
                "operatingSystem": "Linux",
                "preInstalledSw": "NA",
                "capacitystatus": "Used",
                "marketoption": "OnDemand",
            },
        },
        "terms": { "OnDemand": { term.clone(): {
            "sku": sku,
            "offerTermCode": "JRTCKXETXF",
            "priceDimensions": { rate: {
                "unit": "Hrs",
                "beginRange": "0",
                "endRange": "Inf",
                "pricePerUnit": { "USD": dollars(price) },
            }},
        }}},
    }))
}

/// Ten places, as Pricing writes them.
fn dollars(price: HourlyPrice) -> String {
    format!("{}.{:09}0", price.nanos() / 1_000_000_000, price.nanos() % 1_000_000_000)
}

/// The zonal shifts of the cluster with this ARN, as ARC tells them. Shifts that AWS starts by itself are not
/// supported yet.
///
/// <https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_GetManagedResource.html>
pub(crate) async fn managed_resource(arn: &str, sim: &Sim) -> Reply {
    let name = arn.rsplit("%2F").next().unwrap_or_default();
    let shifts = match name.parse::<ClusterName>() {
        Ok(name) => sim.managed_resource(&name).await,
        Err(error) => Err(refused(refusal("ValidationException", error.to_string()))),
    };
    let shifts = match shifts {
        Ok(shifts) => shifts,
        Err(problem) => return refusal_of(&problem),
    };
    let shown: Vec<Value> = shifts
        .into_iter()
        .map(|shift| {
            json!({
                "appliedStatus": "APPLIED",
                "awayFrom": shift.away_from.as_str(),
                "expiryTime": shift.ends_at.map(jiff::Timestamp::as_second),
            })
        })
        .collect();
    Reply::json(200, "application/json", &json!({ "zonalShifts": shown, "autoshifts": [] }))
}

/// How services that are asked by paths refuse.
pub(crate) fn refusal_of(problem: &PortError) -> Reply {
    match failure_of(problem) {
        None => Reply::HangUp,
        Some((status, code, message)) => {
            let body = json!({ "__type": code, "message": message });
            Reply::json(status, "application/json", &body)
        }
    }
}

//! `catalog --live` and `--region`: what is sold is asked of EC2 and of the price list.

use crate::{Aws, Place, aws::Call, server::Reply};

fn ec2(operation: &str, content: &str) -> Reply {
    let space = "http://ec2.amazonaws.com/doc/2016-11-15/";
    Reply::ok(format!("<{operation}Response xmlns=\"{space}\">{content}</{operation}Response>"))
}

const TYPE: &str = "<instanceTypeSet><item><instanceType>m7g.large</instanceType>\
    <supportedUsageClasses><item>on-demand</item><item>spot</item></supportedUsageClasses>\
    <hypervisor>nitro</hypervisor><processorInfo><supportedArchitectures><item>arm64</item>\
    </supportedArchitectures></processorInfo><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo>\
    <memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo><networkInfo><networkCards><item>\
    <networkCardIndex>0</networkCardIndex><maximumNetworkInterfaces>3</maximumNetworkInterfaces></item>\
    </networkCards><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface></networkInfo></item>\
    </instanceTypeSet>";

/// A region with one zone and one type, sold on two pages.
fn sold(call: &Call<'_>) -> Option<Reply> {
    Some(match call.operation {
        "DescribeAvailabilityZones" => ec2(
            call.operation,
            "<availabilityZoneInfo><item><zoneName>eu-west-1a</zoneName><zoneId>euw1-az3</zoneId>\
             <regionName>eu-west-1</regionName></item></availabilityZoneInfo>",
        ),
        "DescribeInstanceTypes" if call.field("NextToken").is_empty() => {
            ec2(call.operation, "<instanceTypeSet/><nextToken>two</nextToken>")
        }
        "DescribeInstanceTypes" => ec2(call.operation, TYPE),
        "DescribeInstanceTypeOfferings" => ec2(
            call.operation,
            "<instanceTypeOfferingSet><item><instanceType>m7g.large</instanceType>\
             <location>eu-west-1a</location></item></instanceTypeOfferingSet>",
        ),
        "DescribeSpotPriceHistory" => ec2(
            call.operation,
            "<spotPriceHistorySet><item><instanceType>m7g.large</instanceType>\
             <availabilityZone>eu-west-1a</availabilityZone><spotPrice>0.0391</spotPrice>\
             <timestamp>2026-11-01T00:00:00.000Z</timestamp></item></spotPriceHistorySet>",
        ),
        "GetProducts" => {
            let name = if call.request.body.contains("metal") { "m7g.metal" } else { "m7g.large" };
            let price = serde_json::json!({
                "product": {"attributes": {"instanceType": name}},
                "terms": {"OnDemand": {"a": {"priceDimensions": {"b": {"pricePerUnit": {"USD": "0.091"}}}}}},
            });
            Reply::ok(serde_json::json!({"PriceList": [price.to_string()]}))
        }
        _ => return None,
    })
}

#[test]
fn what_is_sold_in_another_region_is_asked_of_aws() {
    let aws = Aws::start(sold);
    let place = Place::new("catalog", &[]).of_account(&aws);
    let answer = place.run("catalog --live --region eu-west-1");
    answer.is(0, &[]);
    assert_eq!(
        answer.out,
        "  TYPE       ARCH   CPU  MEMORY  PODS  FOR PODS     GPU  NETWORK   NVME  ON-DEMAND  SPOT     PER VCPU\n  \
         m7g.large  arm64  2    7.3Gi   29    1930m 6.6Gi  -    937 Mbit  -     $0.0910    $0.0391  $0.0196\n\
         1 of 1 types\n"
    );
    let log = aws.log();
    assert_eq!(log.iter().filter(|call| *call == "eu-west-1 DescribeInstanceTypes").count(), 2);
    // Near the region.
    assert!(log.contains(&"eu-central-1 GetProducts".to_owned()), "{log:?}");
    let read_only = log.iter().all(|call| call.contains(" Describe") || call.contains(" Get"));
    assert!(read_only, "{log:?}");
}

#[test]
fn what_aws_refuses_is_passed_on_and_nothing_is_listed_instead() {
    let aws = Aws::start(|call| match call.operation {
        "GetProducts" => Some(call.refused("AccessDeniedException", "no prices for you")),
        "DescribeInstanceTypes" if call.field("NextToken").is_empty() => sold(call),
        "DescribeInstanceTypes" => Some(call.refused("RequestLimitExceeded", "too many")),
        _ => sold(call),
    });
    let place = Place::new("catalog-denied", &[]).of_account(&aws);
    let throttled = place.run("catalog --live");
    throttled
        .is(2, &["ec2:DescribeInstanceTypes: RequestLimitExceeded: too many", "try again later"]);
    assert_eq!(throttled.out, "");
    // The page before, and every try of the SDK.
    let tries = aws.log().iter().filter(|call| call.ends_with(" DescribeInstanceTypes")).count();
    assert_eq!(tries, 1 + 5);
    let aws = Aws::start(|call| match call.operation {
        "GetProducts" => Some(call.refused("AccessDeniedException", "no prices for you")),
        _ => sold(call),
    });
    let place = Place::new("catalog-no-prices", &[]).of_account(&aws);
    let needed = "(needed: the right pricing:GetProducts)";
    place.run("catalog --live").is(2, &["pricing:GetProducts: AccessDeniedException", needed]);
    // `plan` and `shadow` ask in the same way.
    let denied = Aws::start(|_| None);
    let place = Place::new("plan-denied", &[("none.yaml", "")]).of_account(&denied);
    let needed = "(needed: the right ec2:DescribeAvailabilityZones)";
    place.run("plan none.yaml --region eu-west-1").is(2, &[needed]);
}

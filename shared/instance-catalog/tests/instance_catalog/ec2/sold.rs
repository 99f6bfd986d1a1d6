//! What EC2 answers about zones and spot prices, as it is read.

use instance_catalog::ec2::{spot, zones};

#[test]
fn the_newest_spot_price_counts_whatever_the_order() {
    let product = |price: &str, hour: u32| {
        format!(
            r#"{{"AvailabilityZone":"us-west-2a","InstanceType":"m7g.large","SpotPrice":"{price}","Timestamp":"2026-11-01T{hour:02}:00:00+00:00"}}"#
        )
    };
    let text = [product("0.030000", 3), product("0.050000", 5), product("0.040000", 4)].join(",");
    let hourly_prices = spot(format!(r#"{{"SpotPriceHistory":[{text}]}}"#).as_bytes()).unwrap();
    let prices: Vec<u64> = hourly_prices.values().map(|price| price.nanos()).collect();
    assert_eq!(prices, [50_000_000]);
}

#[test]
fn zones_say_their_region() {
    let answer = br#"{"AvailabilityZones":[
        {"ZoneName":"eu-west-1a","ZoneId":"euw1-az3","RegionName":"eu-west-1"}]}"#;
    let sold = zones(answer).unwrap();
    assert_eq!((sold.region.as_str(), sold.ids.len()), ("eu-west-1", 1));
}

#[test]
fn what_cannot_be_read_is_named() {
    let answer = br#"{"SpotPriceHistory":[{"AvailabilityZone":"a","InstanceType":"m7g.large",
        "SpotPrice":"much","Timestamp":"2026-11-01T00:00:00Z"}]}"#;
    assert!(spot(answer).unwrap_err().to_string().contains("spot price of m7g.large"));
    assert!(zones(br#"{"AvailabilityZones":[]}"#).is_err());
}

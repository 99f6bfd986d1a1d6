//! On-demand prices: what is asked of the price list of AWS, and what its products say.

use instance_catalog::price_list::price_of;
use serde_json::json;

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
    let entry = price_of(product, currency).map(|(name, price)| (name.to_string(), price.nanos()));
    assert_eq!(entry, expected.map(|nanos| ("m7g.large".to_owned(), nanos)), "{product}");
}

#[test]
fn a_product_says_its_type_and_price_in_the_regions_currency() {
    check(&product("USD", "0.0816000000"), "USD", Some(81_600_000));
    check(&product("CNY", "0.5"), "CNY", Some(500_000_000));
    check(&product("CNY", "0.5"), "USD", None);
    check(&product("USD", "0.0000000000"), "USD", None);
    check("no product", "USD", None);
}

//! Prices, offerings, parameters, clusters, and what is below `/_control/`.

use serde_json::{Value, json};

use super::*;

fn aws_json(sim: &Sim, server: &AwsServer, target: &str, body: &Value) -> (u16, Value) {
    let request = Request {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        target: Some(target.to_owned()),
        body: body.to_string().into_bytes(),
        ..Request::default()
    };
    let (status, body) = send(sim, server, &request);
    (status, serde_json::from_str(&body).unwrap_or_default())
}

pub(super) fn control(
    sim: &Sim,
    server: &AwsServer,
    method: &str,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let request = Request {
        method: method.to_owned(),
        path: format!("/_control/{path}"),
        query: query.to_owned(),
        body: body.to_string().into_bytes(),
        ..Request::default()
    };
    let (status, body) = send(sim, server, &request);
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[test]
fn a_spot_price_has_a_history() {
    let (sim, server) = open();
    let ask = |from: &str| {
        let request = format!(
            "Action=DescribeSpotPriceHistory
             InstanceType.1=m7g.large
             AvailabilityZone=us-west-2a
             ProductDescription.1=Linux%2FUNIX
             StartTime={from}"
        );
        texts(&ec2(&sim, &server, &request), "spotPrice")
    };
    let first = ask("2026-01-05T08:00:00Z");
    assert_eq!(first.len(), 1);
    sim.pass_until("2026-01-05T09:00:00Z".parse().unwrap());
    let body = json!({"offering": "spot m7g.large us-west-2a", "dollars": "0.05"});
    assert_eq!(control(&sim, &server, "POST", "price", &body).0, 200);
    assert_eq!(ask("2026-01-05T09:00:00Z"), ["0.0500"], "what holds now");
    assert_eq!(ask("2026-01-05T08:30:00Z"), ["0.0500".to_owned(), first[0].clone()]);
    let windows = "Action=DescribeSpotPriceHistory\nProductDescription.1=Windows";
    contains(&ec2(&sim, &server, windows), 400, &["InvalidParameterValue"]);
}

#[test]
fn offerings_and_zones_are_the_catalogs() {
    let (sim, server) = open();
    let request = "Action=DescribeInstanceTypeOfferings
        LocationType=availability-zone
        Filter.1.Name=instance-type
        Filter.1.Value.1=m7*";
    let answer = ec2(&sim, &server, request);
    let zones = texts(&ec2(&sim, &server, "Action=DescribeAvailabilityZones"), "zoneName");
    assert_eq!(texts(&answer, "instanceType").len(), 2 * zones.len());
    contains(
        &ec2(&sim, &server, "Action=DescribeInstanceTypeOfferings"),
        400,
        &["not supported yet"],
    );
}

#[test]
fn pricing_lists_products_as_texts() {
    let (sim, server) = open();
    let filter =
        |field: &str, value: &str| json!({"Type": "TERM_MATCH", "Field": field, "Value": value});
    let body = json!({
        "ServiceCode": "AmazonEC2",
        "Filters": [filter("regionCode", "us-west-2"), filter("tenancy", "Shared"), filter("productFamily", "Compute Instance")],
        "MaxResults": 2,
    });
    let (status, first) = aws_json(&sim, &server, "AWSPriceListService.GetProducts", &body);
    assert_eq!(status, 200, "{first}");
    let mut next = body.clone();
    next["NextToken"] = first["NextToken"].clone();
    let (_, second) = aws_json(&sim, &server, "AWSPriceListService.GetProducts", &next);
    let products: Vec<Value> = [&first, &second]
        .iter()
        .flat_map(|page| page["PriceList"].as_array().unwrap())
        .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(products.len(), 3);
    assert_eq!(second["NextToken"], Value::Null);
    let term = products[0]["terms"]["OnDemand"].as_object().unwrap().values().next().unwrap();
    let rate = term["priceDimensions"].as_object().unwrap().values().next().unwrap();
    let price = rate["pricePerUnit"]["USD"].as_str().unwrap();
    assert!(price.starts_with("0.1") && price.len() == 12, "{price}");
    let bad = json!({"ServiceCode": "AmazonEC2", "Filters": [{"Type": "ANY_OF"}]});
    assert_eq!(aws_json(&sim, &server, "AWSPriceListService.GetProducts", &bad).0, 400);
}

#[test]
fn parameters_hold_the_images_of_the_aliases() {
    use model::node_class::{ImageFamily, ImageTerm};
    use ports::Discovery as _;
    let (sim, server) = open();
    for (family, parameters) in [
        (
            ImageFamily::Al2023,
            vec![
                "eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended",
                "eks/optimized-ami/1.34/amazon-linux-2023/arm64/nvidia/recommended",
            ],
        ),
        (ImageFamily::Bottlerocket, vec!["bottlerocket/aws-k8s-1.34/arm64/latest"]),
        (ImageFamily::Al2, vec!["eks/optimized-ami/1.34/amazon-linux-2-arm64/recommended"]),
    ] {
        let term = [ImageTerm::Alias { family, version: "latest".to_owned() }];
        let images = sim.block_on(sim.images(&term, "1.34")).unwrap().unwrap();
        for parameter in parameters {
            let name = format!("/aws/service/{parameter}/image_id");
            let body = json!({ "Name": name });
            let (status, value) = aws_json(&sim, &server, "AmazonSSM.GetParameter", &body);
            let id = value["Parameter"]["Value"].as_str().unwrap_or_default();
            assert_eq!(status, 200, "{name}: {value}");
            assert!(images.iter().any(|image| image.id.as_str() == id), "{name}: {id}");
            let machine = if name.contains("arm64") { "arm64" } else { "x86_64" };
            let describe =
                format!("Action=DescribeImages\nFilter.1.Name=image-id\nFilter.1.Value.1={id}");
            let wanted = format!("<architecture>{machine}</architecture>");
            contains(&ec2(&sim, &server, &describe), 200, &[wanted.as_str()]);
        }
    }
    let unknown = json!({ "Name": "/aws/service/canonical/ubuntu" });
    let (status, problem) = aws_json(&sim, &server, "AmazonSSM.GetParameter", &unknown);
    assert_eq!((status, &problem["__type"]), (400, &json!("ParameterNotFound")));
}

#[test]
fn a_cluster_is_described_by_its_name() {
    let (sim, server) = open();
    let ask = |name: &str| {
        let path = format!("/clusters/{name}");
        send(&sim, &server, &Request { method: "GET".to_owned(), path, ..Request::default() })
    };
    contains(&ask("simulated"), 200, &["\"version\":\"1.34\"", "\"serviceIpv4Cidr\""]);
    contains(&ask("other"), 404, &["ResourceNotFoundException"]);
}

#[test]
fn what_happens_to_instances_can_be_sent_on() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let spot =
        fleet("a-1", 1).replace("=on-demand", "=spot").replace("OnDemandOptions", "SpotOptions");
    let answer = ec2(&sim, &server, &spot);
    let ids = texts(&answer, "instanceIds").pop().unwrap();
    let id = ids.trim_start_matches("<item>").trim_end_matches("</item>");
    let body = json!({ "instance": id });
    assert_eq!(control(&sim, &server, "POST", "interrupt", &body).0, 200);
    let unknown = json!({ "instance": "i-0" });
    let (status, said) = control(&sim, &server, "POST", "interrupt", &unknown);
    assert_eq!(
        (status, &said["message"]),
        (400, &json!("instance i-0: none that runs has this id"))
    );
    assert_eq!(control(&sim, &server, "POST", "pass", &json!({ "seconds": 300 })).0, 200);
    let (_, events) = control(&sim, &server, "GET", "events", &json!({}));
    let kinds: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .inspect(|event| assert_eq!(event["detail"]["instance-id"], json!(id)))
        .map(|event| event["detail-type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[0], "EC2 Spot Instance Interruption Warning");
    assert!(kinds[1..].iter().all(|kind| *kind == "EC2 Instance State-change Notification"));
    assert!(kinds.len() > 1);
    // What was read is not sent twice.
    let (_, rest) =
        control(&sim, &server, "GET", &format!("events?from={}", kinds.len()), &json!({}));
    assert_eq!(rest, json!([]));
}

#[test]
fn faults_and_counts_are_visible_from_outside() {
    let (sim, server) = open();
    let fault = json!({ "operation": "DescribeInstances", "times": 1, "fault": "throttle" });
    assert_eq!(control(&sim, &server, "POST", "fault", &fault).0, 200);
    contains(&ec2(&sim, &server, "Action=DescribeInstances"), 503, &["RequestLimitExceeded"]);
    contains(&ec2(&sim, &server, "Action=DescribeInstances"), 200, &["<reservationSet>"]);
    let (_, counts) = control(&sim, &server, "GET", "requests", &json!({}));
    assert_eq!(counts, json!({ "DescribeInstances": 2 }));
    let unknown = json!({ "operation": "DescribeMoods", "fault": "throttle" });
    assert_eq!(control(&sim, &server, "POST", "fault", &unknown).0, 400);
}

#[test]
fn a_zone_can_be_away_for_a_while() {
    let (sim, server) = open();
    let known = &sim.zones()[0];
    let outage =
        |action, name: &str| control(&sim, &server, "POST", action, &json!({ "zone": name })).0;
    assert_eq!(outage("outage", known.as_str()), 200);
    assert_eq!(outage("end-outage", known.as_str()), 200);
    assert_eq!(outage("outage", "us-west-2z"), 400);
}

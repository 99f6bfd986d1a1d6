//! `--html`.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{CLASS, POOL, deployment, folder, run};

/// The page in `folder`, and the data in it.
fn page(folder: &Path) -> (String, Value) {
    let text = fs::read_to_string(folder.join("report.html")).expect("a report");
    let (_, data) = text.split_once("id=\"data\">").expect("data");
    let (data, _) = data.split_once("</script>").expect("an end of the data");
    let data = serde_json::from_str(data).expect("JSON");
    (text, data)
}

/// The values of a chart's series.
fn series<'a>(data: &'a Value, title: &str, name: &str) -> Vec<&'a Value> {
    let charts = data["charts"].as_array().expect("charts");
    let chart = charts.iter().find(|chart| chart["title"] == title).expect("the chart");
    let series = chart["series"].as_array().expect("series");
    let series = series.iter().find(|series| series["name"] == name).expect("the series");
    let values: Vec<&Value> = series["values"].as_array().expect("values").iter().collect();
    assert_eq!(Some(values.len()), chart["at"].as_array().map(Vec::len), "{title}");
    values
}

#[test]
fn a_report_of_a_simulation_says_what_the_terminal_says() {
    let web = deployment("web", 30);
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("report", &files);
    let words = "simulate class.yaml pool.yaml web.yaml --duration 10m -o json";
    let played = run(&folder, &format!("{words} --html report.html")).json();
    let (text, data) = page(&folder);
    // The same as without, and the same to the byte when it is played again.
    assert_eq!(run(&folder, words).json(), played);
    run(&folder, &format!("{words} --html report.html"));
    assert_eq!(page(&folder).0, text);
    // At the end it costs what runs then.
    let nodes = &played["summary"]["nodesByType"];
    let (name, number) = nodes.as_object().and_then(|types| types.iter().next()).expect("a type");
    assert_eq!(series(&data, "Nodes by instance type", name).last(), Some(&number));
    let price: f64 = played["summary"]["pricePerHour"].as_f64().expect("a number");
    let last = series(&data, "Cost per hour", "price").last().and_then(|last| last.as_f64());
    assert!((last.expect("a price") / 1e6 - price).abs() < 1e-6, "{last:?} {price}");
    against_the_bound(&data);
    // Every pod is on a node, with why.
    let moments = data["packing"]["moments"].as_array().expect("moments");
    let nodes = moments.last().and_then(|moment| moment["nodes"].as_array()).expect("nodes");
    let pods: Vec<&Value> =
        nodes.iter().flat_map(|node| node["pods"].as_array().expect("pods")).collect();
    assert_eq!(pods.len(), 30);
    let text = |place: &Value| {
        let place = usize::try_from(place.as_u64().expect("a place")).expect("a place");
        data["packing"]["texts"][place].as_str().expect("a sentence")
    };
    for pod in pods {
        assert!(text(&pod[2]).contains("after it was created"), "{pod}");
    }
    for node in nodes {
        assert!(text(&node["why"][0]).contains("provision: general"), "{node}");
    }
}

/// That what runs never costs less than is proved to be the least, and that this is worth something.
fn against_the_bound(data: &Value) {
    let prices = series(data, "Cost per hour", "price");
    let bounds = series(data, "Cost per hour", "lower bound");
    let pairs: Vec<(u64, u64)> = prices
        .iter()
        .zip(&bounds)
        .filter_map(|(price, bound)| Some((price.as_u64().expect("a price"), bound.as_u64()?)))
        .collect();
    // The first looks are before the class is ready.
    assert!(prices.len() < pairs.len() + 10, "{pairs:?}");
    assert!(pairs.iter().all(|(price, bound)| bound <= price), "{pairs:?}");
    let (price, bound) = pairs.last().expect("a point");
    // Small nodes without memory of note would be enough for these pods.
    assert!(0 < *bound && bound < price, "{pairs:?}");
}

#[test]
fn a_report_of_a_plan_has_every_node_and_every_pod() {
    let giant = deployment("giant", 2).replace("800m", "9000");
    let web = deployment("web", 30);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web), ("g.yaml", &giant)];
    let folder = folder("report-plan", &files);
    let planned =
        run(&folder, "plan class.yaml pool.yaml web.yaml g.yaml --html report.html -o json");
    let planned = planned.json();
    let (_, data) = page(&folder);
    let nodes = data["packing"]["moments"][0]["nodes"].as_array().expect("nodes");
    assert_eq!(Some(nodes.len()), planned["newNodeClaims"].as_array().map(Vec::len));
    let pods: usize = nodes.iter().map(|node| node["pods"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(pods, 30);
    let mut figures = data["figures"].as_array().expect("figures").iter();
    let least = figures.find(|figure| figure["name"] == "Lower bound of an hour");
    let least = least.and_then(|least| least["value"].as_str()).expect("a bound");
    assert!(least.starts_with("$0.") && least != "$0.0000", "{least}");
    let unplaced = data["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .filter(|table| table["title"] == "No place for");
    let rows: Vec<&Value> =
        unplaced.flat_map(|table| table["rows"].as_array().expect("rows")).collect();
    assert_eq!(rows.len(), 2);
    assert!(rows[0][1].as_str().is_some_and(|why| why.contains("needs 9000 cpu")), "{rows:?}");
}

//! `--html`.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    CLASS, POOL,
    costing::nanos,
    deployment, folder,
    rollouts::{CANARY, broken, played, renewed},
    run,
};

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
    assert_eq!(nodes_of(&data, name), Some(number));
    let price: f64 = played["summary"]["pricePerHour"].as_f64().expect("a number");
    let last = series(&data, "Cost per hour", "price").last().and_then(|last| last.as_f64());
    assert!((last.expect("a price") / 1e6 - price).abs() < 1e-6, "{last:?} {price}");
    against_the_bound(&data);
    costs_are_what_was_spent(&data, &played["summary"]);
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

/// How many nodes of a type there are at the end, by the measure `nodes` of a chart.
fn nodes_of<'a>(data: &'a Value, name: &str) -> Option<&'a Value> {
    let charts = data["charts"].as_array()?;
    let chart = charts.iter().find(|chart| chart["title"] == "Capacity by instance type")?;
    let mut measures = chart["measures"].as_array()?.iter();
    let nodes = measures.find(|measure| measure["name"] == "nodes")?;
    let series = nodes["series"].as_array()?.iter().find(|series| series["name"] == name)?;
    series["values"].as_array()?.last()
}

/// That the costs of NodePools, of namespaces and of workloads each are all that was spent, on the page and for machines.
fn costs_are_what_was_spent(data: &Value, summary: &Value) {
    let spent = nanos(&summary["spent"]);
    assert!(0 < spent);
    let rows = |rows: &Value| rows.as_array().expect("rows").clone();
    let costs = &summary["costs"];
    for by in ["byNodePool", "byNamespace", "byWorkload"] {
        let rows = rows(&costs[by]);
        assert_eq!(
            rows.iter().map(|row| nanos(&row["cost"])).sum::<u128>(),
            spent,
            "{by}: {rows:?}"
        );
    }
    // Pods of one Deployment, and what none of them requests.
    let workloads = rows(&costs["byWorkload"]);
    let names: Vec<&Value> = workloads.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, [&Value::from("default/web"), &Value::Null]);
    let requested = nanos(&workloads.first().expect("a row")["cost"]);
    assert!(spent < 4 * requested, "{workloads:?}");
    let shown = &data["costs"];
    let groups = shown["groups"].as_array().expect("groups");
    for group in groups {
        let shares = group["rows"].as_array().expect("rows").iter();
        let shares: u64 = shares.map(|row| row["share"].as_u64().expect("a share")).sum();
        assert!((998..=1_002).contains(&shares), "{group}");
    }
    let figures = data["figures"].as_array().expect("figures");
    assert!(figures.iter().any(|figure| figure["name"] == "Possible savings"), "{figures:?}");
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
        .filter(|table| table["title"] == "Cannot be scheduled");
    let rows: Vec<&Value> =
        unplaced.flat_map(|table| table["rows"].as_array().expect("rows")).collect();
    assert_eq!(rows.len(), 2);
    assert!(rows[0][1].as_str().is_some_and(|why| why.contains("needs 9000 cpu")), "{rows:?}");
}

#[test]
fn a_report_of_a_comparison_has_the_prices_of_the_table() {
    let web = deployment("web", 30);
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("report-compare", &files);
    let words = "plan class.yaml pool.yaml web.yaml --compare -o json";
    let compared = run(&folder, &format!("{words} --html report.html")).json();
    assert_eq!(run(&folder, words).json(), compared);
    let (_, data) = page(&folder);
    let bars = data["prices"]["groups"][0]["rows"].as_array().expect("bars");
    let names: Vec<&Value> = bars.iter().map(|bar| &bar["name"]).collect();
    assert_eq!(names, ["karpenter", "cheapest", "at least"]);
    let shares: Vec<u64> = bars.iter().map(|bar| bar["share"].as_u64().expect("a share")).collect();
    assert!(shares[0] == 1_000 && shares.is_sorted_by(|a, b| a >= b), "{bars:?}");
    // Each plan has its own nodes, and all pods are on them.
    for (moment, plan) in ["karpenter", "cheapest"].into_iter().enumerate() {
        let moment = &data["packing"]["moments"][moment];
        assert_eq!(moment["name"], plan);
        let nodes = moment["nodes"].as_array().expect("nodes");
        assert_eq!(Some(nodes.len() as u64), compared[plan]["nodes"].as_u64());
        let pods = nodes.iter().map(|node| node["pods"].as_array().map_or(0, Vec::len));
        assert_eq!(pods.sum::<usize>(), 30);
    }
}

#[test]
fn a_report_of_disruption_marks_what_goes_and_has_what_is_after() {
    let folder = folder("report-disruption", &[]);
    run(&folder, "simulate --duration 22m --dumps dumps --every 1m");
    let words =
        "plan dumps/2026-01-05T08-21-00Z.json --now 2026-01-05T08:22:30Z --disruption -o json";
    let planned = run(&folder, &format!("{words} --html report.html")).json();
    let first = planned["first"].as_str().expect("a command");
    let going = planned["methods"][first]["candidates"].as_array().expect("nodes");
    assert!(!going.is_empty());
    let (_, data) = page(&folder);
    let moments = data["packing"]["moments"].as_array().expect("moments");
    let marked = |moment: &Value| -> Vec<Value> {
        let nodes = moment["nodes"].as_array().expect("nodes").iter();
        nodes.filter(|node| node["mark"] == "goes").map(|node| node["name"].clone()).collect()
    };
    assert_eq!(marked(&moments[0]), *going);
    // Every pod but those of DaemonSets is still there afterwards.
    let web = |moment: &Value| {
        let nodes = moment["nodes"].as_array().expect("nodes").iter();
        let pods = nodes.flat_map(|node| node["pods"].as_array().expect("pods"));
        pods.filter(|pod| pod[0].as_str().is_some_and(|name| name.starts_with("web-"))).count()
    };
    assert!(0 < web(&moments[0]));
    assert_eq!(web(&moments[0]), web(&moments[1]));
    assert!(marked(&moments[1]).is_empty());
}

#[test]
fn reports_of_a_decision_say_why_nodes_came_and_went() {
    let folder = folder("report-decision", &[]);
    run(&folder, "simulate --ledger ledger.json --record facts");
    run(&folder, "explain nodepool general --ledger ledger.json --html report.html");
    let (_, data) = page(&folder);
    let lanes = data["lanes"]["rows"].as_array().expect("lanes");
    let simulated = run(&folder, "get nodeclaims --ledger ledger.json -o json").json();
    let alive = simulated["items"].as_array().map(Vec::len);
    let running = lanes.iter().filter(|lane| lane["to"].is_null());
    assert_eq!(Some(running.count()), alive);
    for lane in lanes {
        assert!(
            lane["came"].as_str().is_some_and(|came| came.starts_with("provision: ")),
            "{lane}"
        );
        let went = lane["went"].as_array().expect("why it went");
        assert_eq!(went.len(), if lane["to"].is_null() { 0 } else { 2 }, "{lane}");
    }
    let decisions = run(&folder, "get decisions --ledger ledger.json -o json").json();
    let launch = decisions["items"].as_array().expect("decisions").iter();
    let launch = launch.rev().find(|decision| decision["kind"] == "Launch").expect("a launch");
    let id = launch["id"].as_str().expect("an id");
    let replayed = run(&folder, &format!("replay {id} --ledger ledger.json --html report.html"));
    assert_eq!(replayed.code, Some(0));
    let (_, data) = page(&folder);
    assert_eq!(data["figures"][0]["value"], "the same plan");
    let nodes = data["packing"]["moments"][0]["nodes"].as_array().expect("nodes");
    let coming = nodes.iter().filter(|node| node["mark"] == "comes").count();
    assert_eq!(Some(coming), launch["about"].as_array().map(Vec::len));
}

/// What the rollouts of the one NodePool went through, in the order of time.
fn parts(folder: &Path) -> Vec<String> {
    let (_, data) = page(folder);
    let member = |value: &'_ Value, path: &str| value.pointer(path).expect("a member").clone();
    let rollouts = member(&data, "/rollouts");
    let lanes = member(&rollouts, "/rows");
    let [lane] = lanes.as_array().expect("lanes").as_slice() else { panic!("{lanes}") };
    assert_eq!(
        (member(lane, "/pool"), member(lane, "/class")),
        ("general".into(), "default".into())
    );
    let second = |span: &Value, path: &str| member(span, path).as_i64().expect("a time");
    let mut until = second(&rollouts, "/from");
    let mut part = |span: &Value| {
        assert!(until <= second(span, "/from"), "{lane}");
        until = second(span, "/to");
        assert!(second(span, "/from") < until && until <= second(&rollouts, "/to"), "{lane}");
        let kind = member(&rollouts, &format!("/kinds/{}", member(span, "/kind")));
        let (kind, text) = (kind.as_str().expect("a name"), member(span, "/text"));
        format!("{kind}: {}", text.as_str().expect("a text"))
    };
    member(lane, "/spans").as_array().expect("spans").iter().map(&mut part).collect()
}

#[test]
fn a_report_draws_the_parts_of_rollouts_and_nothing_without_any() {
    let freeze = format!("{CANARY}, journeyman/rollout-freeze: '0 8 * * * 10m'");
    let renewed_parts = parts(&renewed("report-rollout", &freeze, "40m"));
    let [frozen, canaries, bake, others] = renewed_parts.as_slice() else {
        panic!("{renewed_parts:?}");
    };
    assert_eq!(frozen, "frozen: by `0 8 * * * 10m`");
    let canary = "canaries launched: general-";
    assert!(canaries.starts_with(canary) && canaries.contains(" on image ami-"), "{canaries}");
    let waits = "bake time: the rollout of EC2NodeClass default waits for its canaries, which must be healthy until 2026-";
    assert!(bake.starts_with(waits), "{bake}");
    assert_eq!(others, "other nodes replaced: within the disruption budgets");
    let broken_parts = parts(&played("report-halted", CANARY, &broken(), "16m"));
    let [canaries, halted] = broken_parts.as_slice() else { panic!("{broken_parts:?}") };
    assert!(canaries.starts_with(canary), "{canaries}");
    let why = "halted: NodePool general, EC2NodeClass default, image ami-";
    assert!(halted.starts_with(why) && halted.ends_with("was not initialized in time"), "{halted}");
    let (_, data) = page(&renewed("report-drift", "a: b", "16m"));
    assert!(data.get("rollouts").is_none() && data["lanes"]["rows"].is_array());
}

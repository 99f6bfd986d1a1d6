//! `plan --compare`: what running and pending pods cost on the nodes that are there, beside what Karpenter would buy
//! for them, the cheapest that is found, and the least that there can be.

mod html;

use std::io::Write;

use model::{
    HourlyPrice, InstanceType, Plan, Pod, Resources,
    facts::Facts,
    plan::NewClaim,
    words::{many, thousands},
};
use planner::Fleets;
use report::{
    json::Dollars,
    output::{HOURS_PER_MONTH, dollars, dollars_down},
    page,
    screen::Screen,
};
use serde::Serialize;

use self::html::Side;
use super::{
    CommandError, Remarks,
    cluster::{self, Cluster, Machine},
    included, print_document, scratch, table,
};
use crate::plan::args::PlanArgs;

/// What is compared, for people.
const ABOUT: &str = "All pods, running and pending, on new nodes.";

/// All of it, for machines. Prices are dollars.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Comparison<'a> {
    /// The nodes that are there; missing where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<Fleet>,
    karpenter: Fleet,
    cheapest: Fleet,
    /// No plan can cost less.
    lower_bound_per_hour: Dollars,
    /// What these prices are of.
    included: String,
    left_out: &'a [String],
    assumptions: &'a [String],
}

/// Nodes that are there, or that a plan buys.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fleet {
    price_per_hour: Dollars,
    #[serde(skip)]
    price: HourlyPrice,
    nodes: usize,
    #[serde(rename = "vCPUs")]
    vcpus: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_node: Option<String>,
    pods: usize,
    pods_unschedulable: usize,
    /// What no pod requests of what nodes have for pods, in per cent.
    wasted_cpu_percent: u64,
    wasted_memory_percent: u64,
}

/// Compares and prints. Returns the answer in short, for people.
pub(super) fn run(
    args: &PlanArgs,
    screen: Screen,
    (whole, remarks): (&Facts, &Remarks),
    (cluster, machines): (Option<&Cluster>, &[Machine<'_>]),
    out: &mut impl Write,
) -> Result<Vec<String>, CommandError> {
    let today = today(whole, machines);
    let (facts, remarks) =
        (&scratch::emptied(whole, machines), &remarks.with(scratch::notes(machines), None));
    let Fleets { karpenter: like_karpenter, cheapest: least, bound } =
        planner::fleets(facts, false);
    let included = included::of_new_claims(facts, &least.new_claims);
    let (karpenter, cheapest) = (fleet(facts, &like_karpenter), fleet(facts, &least));
    if let Some(path) = &args.html {
        let side = |name, fleet, plan| Side { name, fleet, plan };
        let mut sides: Vec<Side<'_>> =
            today.iter().map(|fleet| side("today", fleet, None)).collect();
        sides.push(side("karpenter", &karpenter, Some(&like_karpenter)));
        sides.push(side("cheapest", &cheapest, Some(&least)));
        let about = format!("{ABOUT} Prices are for {included}.");
        let replaced = cluster::nodes(machines.iter().filter(|machine| machine.is_replaceable()));
        let page_data =
            html::report(&sides, bound, (whole, facts, &replaced), (cluster, remarks, &about));
        page::write(&page_data, path)?;
    }
    if args.output.is_document() {
        let document = Comparison {
            today,
            karpenter,
            cheapest,
            lower_bound_per_hour: bound.into(),
            included,
            left_out: &remarks.left_out,
            assumptions: &remarks.assumptions,
        };
        print_document(args.output, (cluster, &document), out)?;
        return Ok(Vec::new());
    }
    // In 80 columns: prices and numbers of large clusters as well. The last column is folded where a name is long.
    let heads = ["PLAN", "MONTHLY", "NODES", "VCPUS", "PODS/NODE", "WASTED", "PENDING", "LARGEST"];
    let least_price = u128::from(bound.nanos()) * HOURS_PER_MONTH;
    let mut rows: Vec<Vec<String>> = today.iter().map(|fleet| row("today", fleet)).collect();
    rows.extend([row("karpenter", &karpenter), row("cheapest", &cheapest)]);
    let nothing = || "-".to_owned();
    rows.push(vec![html::LEAST.to_owned(), dollars_down(least_price)]);
    for row in &mut rows {
        row.resize_with(heads.len(), nothing);
    }
    screen.table(&heads, &rows, out)?;
    let columns =
        "Wasted: CPU and memory of the nodes that no pod requests. Pending: pods without a node.";
    screen.text(2, &format!("{ABOUT} {columns} Prices are for {included}."), out)?;
    table::remarks(remarks, screen, out)?;
    let in_short = |row: &Vec<String>| row.iter().take(2).cloned().collect::<Vec<_>>().join(": ");
    Ok(rows.iter().map(|row| format!("{} a month", in_short(row))).collect())
}

fn row(name: &str, fleet: &Fleet) -> Vec<String> {
    let tenths = (fleet.pods * 10).checked_div(fleet.nodes).unwrap_or_default();
    vec![
        name.to_owned(),
        dollars(u128::from(fleet.price.nanos()) * HOURS_PER_MONTH),
        many(fleet.nodes),
        thousands(fleet.vcpus.into()),
        format!("{}.{}", tenths / 10, tenths % 10),
        format!("{}%, {}%", fleet.wasted_cpu_percent, fleet.wasted_memory_percent),
        many(fleet.pods_unschedulable),
        fleet.largest_node.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}

fn fleet(facts: &Facts, plan: &Plan) -> Fleet {
    let types: Vec<(&NewClaim, &InstanceType)> =
        plan.new_claims.iter().filter_map(|new| Some((new, bought(facts, new)?))).collect();
    let sum = |of: &dyn Fn(&NewClaim, &InstanceType) -> Resources| {
        types
            .iter()
            .fold(Resources::default(), |sum, (new, bought)| sum.saturating_add(&of(new, bought)))
    };
    let has = sum(&|_, bought| bought.allocatable());
    let asked = sum(&|new, _| new.claim.requests.clone());
    let price = planner::fleet_price(facts, plan);
    let largest = types.iter().max_by_key(|(_, bought)| (bought.capacity.cpu.0, &bought.name));
    Fleet {
        price_per_hour: price.into(),
        price,
        nodes: plan.new_claims.len(),
        vcpus: types.iter().map(|(_, bought)| bought.capacity.cpu.0 / 1_000).sum(),
        largest_node: largest.map(|(_, bought)| bought.name.to_string()),
        pods: plan.new_claims.iter().map(|new| new.claim.pods.len()).sum(),
        pods_unschedulable: plan.unplaced.len(),
        wasted_cpu_percent: wasted(has.cpu.0, asked.cpu.0),
        wasted_memory_percent: wasted(has.memory.0, asked.memory.0),
    }
}

/// The machines for whose pods others could be bought; `None` where there are none.
fn today(facts: &Facts, machines: &[Machine<'_>]) -> Option<Fleet> {
    let machines: Vec<&Machine<'_>> =
        machines.iter().filter(|machine| machine.is_replaceable()).collect();
    let nodes = cluster::nodes(machines.iter().copied());
    let here = |pod: &&Pod| pod.node.as_ref().is_some_and(|node| nodes.contains(node));
    let pods = || facts.pods.iter().filter(|pod| !pod.is_terminal());
    let has = machines.iter().filter_map(|machine| machine.allocatable());
    let has = has.fold(Resources::default(), |sum, more| sum.saturating_add(more));
    let requests = pods().filter(here).map(|pod| &pod.spec.requests);
    let requested = requests.fold(Resources::default(), |sum, more| sum.saturating_add(more));
    let prices = machines.iter().filter_map(|machine| machine.price(facts));
    let price = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
    let largest = machines.iter().max_by_key(|machine| (machine.cpu(), machine.instance_type()))?;
    Some(Fleet {
        price_per_hour: price.into(),
        price,
        nodes: machines.len(),
        vcpus: machines.iter().map(|machine| machine.cpu() / 1_000).sum(),
        largest_node: largest.instance_type().map(ToOwned::to_owned),
        pods: pods().filter(here).filter(|pod| pod.is_reschedulable()).count(),
        pods_unschedulable: pods().filter(|pod| pod.is_provisionable()).count(),
        wasted_cpu_percent: wasted(has.cpu.0, requested.cpu.0),
        wasted_memory_percent: wasted(has.memory.0, requested.memory.0),
    })
}

/// What is not asked for of what is there, in per cent.
fn wasted(has: u64, asked: u64) -> u64 {
    let per_cent = u128::from(has.saturating_sub(asked)) * 100 / u128::from(has.max(1));
    u64::try_from(per_cent).unwrap_or(100)
}

/// The type of the cheapest offering that `new` may become.
fn bought<'f>(facts: &'f Facts, new: &NewClaim) -> Option<&'f InstanceType> {
    let types = facts.ready_types(&new.claim.node_class)?;
    let offered = types.iter().find(|sold| sold.name == new.cheapest.instance_type);
    offered.map(|sold| &**sold)
}

//! `plan --compare`: what Karpenter would buy beside the cheapest that is found and the least that there can
//! be.

use std::io::Write;

use model::{
    HourlyPrice, InstanceType, Plan, Resources,
    facts::Facts,
    plan::Promise,
    words::{many, thousands},
};
use planner::Fleets;
use report::{
    output::{HOURS_PER_MONTH, dollars, dollars_down},
    screen::Screen,
};
use serde::Serialize;

use super::{CommandError, Remarks, included, print_document, table};
use crate::plan::args::PlanArgs;

/// All of it, for machines. Prices are exact dollars.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Comparison<'a> {
    karpenter: Fleet,
    cheapest: Fleet,
    /// No plan can cost less.
    lower_bound_per_hour: String,
    /// What these prices are of.
    included: String,
    left_out: &'a [String],
    assumptions: &'a [String],
}

/// What one plan buys.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fleet {
    price_per_hour: String,
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

/// Compares and prints.
pub(super) fn run(
    args: &PlanArgs,
    screen: Screen,
    (facts, remarks): (&Facts, &Remarks),
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let Fleets { karpenter, cheapest, bound } = planner::fleets(facts, false);
    let included = included::in_words(facts, &cheapest);
    let (karpenter, cheapest) = (fleet(facts, &karpenter), fleet(facts, &cheapest));
    if let Some(format) = args.output {
        let document = Comparison {
            karpenter,
            cheapest,
            lower_bound_per_hour: bound.to_string(),
            included,
            left_out: &remarks.left_out,
            assumptions: &remarks.assumptions,
        };
        return Ok(print_document(format, &document, out)?);
    }
    let heads = ["PLAN", "MONTHLY", "NODES", "VCPUS", "LARGEST", "PODS/NODE", "WASTED CPU, MEMORY"];
    let least = u128::from(bound.nanos()) * HOURS_PER_MONTH;
    let mut rows = vec![row("karpenter", &karpenter), row("cheapest", &cheapest)];
    let nothing = || "-".to_owned();
    rows.push(vec!["no plan below".to_owned(), dollars_down(least)]);
    for row in &mut rows {
        row.resize_with(heads.len(), nothing);
    }
    screen.table(&heads, &rows, out)?;
    screen.text(2, &format!("Prices are for {included}."), out)?;
    table::remarks(remarks, screen, out)?;
    Ok(())
}

fn row(name: &str, fleet: &Fleet) -> Vec<String> {
    let tenths = (fleet.pods * 10).checked_div(fleet.nodes).unwrap_or_default();
    vec![
        name.to_owned(),
        dollars(u128::from(fleet.price.nanos()) * HOURS_PER_MONTH),
        many(fleet.nodes),
        thousands(fleet.vcpus.into()),
        fleet.largest_node.clone().unwrap_or_else(|| "-".to_owned()),
        format!("{}.{}", tenths / 10, tenths % 10),
        format!("{}%, {}%", fleet.wasted_cpu_percent, fleet.wasted_memory_percent),
    ]
}

fn fleet(facts: &Facts, plan: &Plan) -> Fleet {
    let types: Vec<(&Promise, &InstanceType)> = plan
        .promises
        .iter()
        .filter_map(|promise| Some((promise, bought(facts, promise)?)))
        .collect();
    let sum = |of: &dyn Fn(&Promise, &InstanceType) -> Resources| {
        types.iter().fold(Resources::default(), |sum, (promise, bought)| {
            sum.saturating_add(&of(promise, bought))
        })
    };
    let has = sum(&|_, bought| bought.allocatable());
    let asked = sum(&|promise, _| promise.claim.requests.clone());
    let price = planner::fleet_price(facts, plan);
    let largest = types.iter().max_by_key(|(_, bought)| (bought.capacity.cpu.0, &bought.name));
    Fleet {
        price_per_hour: price.to_string(),
        price,
        nodes: plan.promises.len(),
        vcpus: types.iter().map(|(_, bought)| bought.capacity.cpu.0 / 1_000).sum(),
        largest_node: largest.map(|(_, bought)| bought.name.to_string()),
        pods: plan.promises.iter().map(|promise| promise.claim.pods.len()).sum(),
        pods_unschedulable: plan.unplaced.len(),
        wasted_cpu_percent: wasted(has.cpu.0, asked.cpu.0),
        wasted_memory_percent: wasted(has.memory.0, asked.memory.0),
    }
}

/// What is not asked for of what is there, in per cent.
fn wasted(has: u64, asked: u64) -> u64 {
    let per_cent = u128::from(has.saturating_sub(asked)) * 100 / u128::from(has.max(1));
    u64::try_from(per_cent).unwrap_or(100)
}

/// The type of the cheapest offering that `promise` may become.
fn bought<'f>(facts: &'f Facts, promise: &Promise) -> Option<&'f InstanceType> {
    let types = facts.ready_types(&promise.claim.node_class)?;
    let offered = types.iter().find(|sold| sold.name == promise.cheapest.instance_type);
    offered.map(|sold| &**sold)
}

//! The comparison as a page.

use std::collections::BTreeSet;

use model::{HourlyPrice, NodeName, Plan, facts::Facts, node::Node, words::counted};
use report::{
    contents::{CostBar, CostGroup, CostView, Figure, PackedNode, PageData, PageTable},
    output::{HOURS_PER_MONTH, dollars, dollars_down},
    packing::Packer,
};

use super::{Fleet, row};
use crate::{
    cards::Cards,
    plan::{Remarks, cluster::Cluster},
};

/// What the lower bound is called.
pub(super) const LEAST: &str = "at least";

/// What is compared, of one side.
pub(super) struct Side<'a> {
    pub(super) name: &'static str,
    pub(super) fleet: &'a Fleet,
    /// What would be bought; `None` of the nodes that are there.
    pub(super) plan: Option<&'a Plan>,
}

/// The page's content. `facts` are those of today, `emptied` those that plans are for, and `replaced` the nodes whose pods
/// the plans are for.
pub(super) fn report(
    sides: &[Side<'_>],
    bound: HourlyPrice,
    (facts, emptied, replaced): (&Facts, &Facts, &BTreeSet<&NodeName>),
    (cluster, remarks, about): (Option<&Cluster>, &Remarks, &str),
) -> PageData {
    let (today, anew, mut packer) = (Cards::of(facts), Cards::of(emptied), Packer::default());
    for side in sides {
        let nodes: Vec<PackedNode> = if let Some(plan) = side.plan {
            plan.new_claims.iter().map(|new| anew.launched(new, &mut packer)).collect()
        } else {
            let nodes = facts.nodes.values().filter(|node| replaced.contains(&node.name));
            let card = |node: &Node| {
                let pods = Cards::packed(today.on(&node.name), "it runs here", &mut packer);
                today.standing(node, pods, (None, Vec::new()))
            };
            nodes.map(card).collect()
        };
        packer.moment(side.name.to_owned(), None, nodes);
    }
    let heads = vec![
        "Plan",
        "A month",
        "Nodes",
        "vCPUs",
        "Pods a node",
        "CPU and memory not requested",
        "Pending pods",
        "Largest node",
    ];
    let rows = sides.iter().map(|side| row(side.name, side.fleet)).collect();
    PageData {
        title: "journeyman plan --compare".to_owned(),
        about: format!("{about} As of {:.0}. Nothing is changed.", facts.now),
        figures: figures(sides, bound, cluster),
        prices: prices(sides, bound),
        costs: cluster.and_then(Cluster::costs),
        packing: packer.finish(
            "The nodes of each plan with the pods on them: choose the plan with the slider. Each workload has a color."
                .to_owned(),
        ),
        tables: vec![PageTable { title: "Plans".to_owned(), heads, rows }],
        notes: remarks.notes().collect(),
        ..PageData::default()
    }
}

fn month(price: HourlyPrice) -> u128 {
    u128::from(price.nanos()) * HOURS_PER_MONTH
}

fn figures(sides: &[Side<'_>], bound: HourlyPrice, cluster: Option<&Cluster>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = cluster.into_iter().flat_map(Cluster::figures).collect();
    let today = sides.iter().find(|side| side.plan.is_none());
    let base = today.map(|side| month(side.fleet.price));
    for side in sides.iter().filter(|side| side.plan.is_some()) {
        let price = month(side.fleet.price);
        let nodes = format!("a month for {}", counted(side.fleet.nodes, "node"));
        let saved = base.filter(|base| price < *base).map(|base| {
            format!(
                ", {} or {} % less than today",
                dollars(base - price),
                (base - price) * 100 / base
            )
        });
        let more = format!("{nodes}{}", saved.unwrap_or_default());
        figures.push(Figure::new(side.name, dollars(price), more));
    }
    let least = dollars_down(month(bound));
    figures.push(Figure::new("At least", least, "a month, proved for the same pods".to_owned()));
    figures
}

/// A bar for each price.
fn prices(sides: &[Side<'_>], bound: HourlyPrice) -> Option<CostView> {
    let prices = sides.iter().map(|side| (side.name, month(side.fleet.price)));
    let prices: Vec<_> = prices.chain([(LEAST, month(bound))]).collect();
    let most = prices.iter().map(|(_, price)| *price).max().filter(|most| 0 < *most)?;
    let bar = |(name, price): (&str, u128)| {
        let share = u64::try_from(price * 1_000 / most).unwrap_or(1_000);
        let cell = if name == LEAST { dollars_down(price) } else { dollars(price) };
        CostBar { name: name.to_owned(), share, requested: share, cells: vec![cell] }
    };
    let rows = prices.into_iter().map(bar).collect();
    let about =
        "What each plan costs in a month. No plan can cost less than the last bar: it is proved.";
    Some(CostView {
        about: about.to_owned(),
        heads: vec!["A month"],
        groups: vec![CostGroup { name: "Plan", rows }],
    })
}

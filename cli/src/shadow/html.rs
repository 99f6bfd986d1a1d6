//! The report of a comparison.

use std::collections::BTreeMap;

use model::{NodeClaim, NodeName, Pod, ProviderId, node::Node};
use report::{
    contents::{
        Chart, Figure, Interned, Notes, PackedNode, PackingView, PageData, PageTable, PageTimeline,
        Series, Style, micros,
    },
    output::elapsed,
    packing::Packer,
};
use simulator::RunningInstance;

use super::{Compared, Side, dumps::Dump, side::workload, table};
use crate::{least, list_price::offering};

/// What Journeyman has at the end.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) nodes: Vec<Node>,
    pub(super) pods: Vec<Pod>,
    pub(super) claims: Vec<NodeClaim>,
    pub(super) running: Vec<RunningInstance>,
}

/// The page's content.
pub(super) fn report(compared: &Compared) -> PageData {
    let rows = table::rows(compared);
    let figures = rows.iter().zip(NAMES).map(|([_, they, we, between], name)| {
        Figure::new(name, between.clone(), format!("current {they}, Journeyman {we}"))
    });
    PageData {
        title: "journeyman shadow".to_owned(),
        about: table::about(compared),
        figures: figures.take(FIGURES).collect(),
        charts: charts(compared),
        packing: packing(compared),
        tables: vec![PageTable {
            title: "Current and Journeyman".to_owned(),
            heads: vec!["What", "Current", "Journeyman", "Difference"],
            rows: rows.into_iter().map(Vec::from).collect(),
        }],
        timeline: Some(timeline(compared)),
        notes: [
            Notes::some("What the numbers mean", &table::remarks(compared)),
            Notes::some("Left out and assumed", &compared.notes),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..PageData::default()
    }
}

/// Numbers that come first: what Journeyman has more or less.
const FIGURES: usize = 9;
const NAMES: [&str; FIGURES] = [
    "Cost",
    "Cost per month",
    "Cost per hour, at the end",
    "Nodes, at the end",
    "Launched",
    "Removed",
    "Evictions",
    "Pending, median",
    "Pending, p99",
];

fn charts(compared: &Compared) -> Vec<Chart> {
    let at: Vec<i64> = compared.dumps.iter().map(|dump| dump.at.as_second()).collect();
    let both = |of: &dyn Fn(&Side) -> Vec<Option<u64>>| {
        vec![
            Series { name: "current".to_owned(), values: of(&compared.theirs) },
            Series { name: "Journeyman".to_owned(), values: of(&compared.ours) },
        ]
    };
    let some = |values: &[u64]| values.iter().copied().map(Some).collect();
    let each = "One point for each dump.";
    let chart = |title, about: &str, (unit, per, style), series| Chart {
        title,
        about: format!("{about}{each}"),
        unit,
        per,
        style,
        at: at.clone(),
        series,
        measures: Vec::new(),
    };
    let price = |side: &Side| {
        side.price.iter().map(|price| Some(micros(price.nanos().into()))).collect::<Vec<_>>()
    };
    let least = compared.least.iter().map(|price| Some(micros(price.as_ref()?.nanos().into())));
    let least = Series { name: "lower bound".to_owned(), values: least.collect() };
    let has_bound = least.values.iter().any(Option::is_some);
    let about = if has_bound { least::ABOUT } else { least::UNKNOWN };
    let mut prices = both(&price);
    prices.extend(has_bound.then_some(least));
    vec![
        chart(
            "Cost per hour",
            &format!(
                "What all nodes cost at list prices. {about} It is for the pods in the dumps. "
            ),
            ("$", 1_000_000, Style::Lines),
            prices,
        ),
        chart("Nodes", "", ("", 1, Style::Lines), both(&|side| some(&side.nodes))),
        chart("Pods without a node", "", ("", 1, Style::Lines), both(&|side| some(&side.waiting))),
        chart(
            "Evictions",
            "Pods evicted from a node since the previous dump. ",
            ("", 1, Style::Lines),
            both(&|side| some(&side.evictions)),
        ),
    ]
}

fn timeline(compared: &Compared) -> PageTimeline {
    let mut kinds: Interned<&'static str> = Interned::default();
    let start = compared.dumps.first().map(|dump| dump.at).unwrap_or_default();
    let mut lines: Vec<_> = compared.theirs.lines.iter().chain(&compared.ours.lines).collect();
    lines.sort_by_key(|(at, _, _)| *at);
    let lines = lines
        .into_iter()
        .map(|(at, kind, text)| (elapsed(start, *at), kinds.place(kind), text.clone()))
        .collect();
    let about =
        "What Journeyman would have done and when; what happened in the cluster, by the first dump that shows it.".to_owned();
    PageTimeline { about, start: start.as_second(), kinds: kinds.into_values(), lines }
}

fn packing(compared: &Compared) -> Option<PackingView> {
    let mut packer = Packer::default();
    let last = compared.dumps.last()?;
    let theirs = theirs(last, &mut packer);
    packer.moment("current, at the end".to_owned(), None, theirs);
    let ours = ours(&compared.ends, &mut packer);
    packer.moment("Journeyman, at the end".to_owned(), None, ours);
    packer.finish(
        "The nodes of both sides at the end, with their pods: one area for each pod, one color for each workload. Point \
         at an area or tap it to see the pod; the button shows all pods of a node as a table."
            .to_owned(),
    )
}

fn by_node(pods: &[Pod]) -> BTreeMap<&NodeName, Vec<&Pod>> {
    let mut by_node: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.is_terminal()) {
        pod.node.iter().for_each(|node| by_node.entry(node).or_default().push(pod));
    }
    by_node
}

fn theirs(dump: &Dump, packer: &mut Packer) -> Vec<PackedNode> {
    let pods = by_node(&dump.pods);
    let claims: BTreeMap<_, _> =
        dump.claims.iter().filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
    let mut nodes = Vec::new();
    for node in &dump.nodes {
        let pods = pods
            .get(&node.name)
            .into_iter()
            .flatten()
            .map(|pod| {
                packer.pod(
                    pod,
                    workload(pod).to_string(),
                    "it runs here in the last dump".to_owned(),
                )
            })
            .collect();
        let claim = claims.get(&node.name);
        let pool = claim.map(|claim| claim.node_pool.to_string()).unwrap_or_default();
        let kind = offering(&node.labels).map(|key| key.to_string()).unwrap_or_default();
        nodes.push(packed(node, (kind, pool, None), Vec::new(), pods));
    }
    nodes
}

fn ours(ends: &Ends, packer: &mut Packer) -> Vec<PackedNode> {
    let pods = by_node(&ends.pods);
    let claims: BTreeMap<_, _> =
        ends.claims.iter().filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
    let running: BTreeMap<_, _> =
        ends.running.iter().map(|instance| (&instance.id, instance)).collect();
    let mut nodes = Vec::new();
    for node in &ends.nodes {
        let pods = pods
            .get(&node.name)
            .into_iter()
            .flatten()
            .map(|pod| packer.pod(pod, workload(pod).to_string(), "it would run here".to_owned()))
            .collect();
        let id = node.provider_id.as_ref().and_then(ProviderId::instance);
        let instance = id.and_then(|id| running.get(&id).copied());
        let kind = instance.map(|instance| instance.offering.to_string()).unwrap_or_default();
        let price = instance.map(|instance| micros(instance.price.nanos().into()));
        let claim = claims.get(&node.name);
        let pool = claim.map(|claim| claim.node_pool.to_string()).unwrap_or_default();
        nodes.push(packed(node, (kind, pool, price), Vec::new(), pods));
    }
    nodes
}

fn packed(
    node: &Node,
    (kind, pool, price): (String, String, Option<u64>),
    why: Vec<usize>,
    pods: Vec<report::contents::PackedPod>,
) -> PackedNode {
    PackedNode {
        name: node.name.to_string(),
        kind,
        pool,
        price,
        cpu: node.allocatable.cpu.0,
        memory: node.allocatable.memory.0,
        mark: None,
        why,
        pods,
    }
}

//! The answer as a page.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeClaimName, NodeName, PodKey, disruption::Replacement, ledger::Decision, plan::Target,
};
use planner::disruption::{Destination, Proposal};
use report::{
    contents::{Figure, Mark, Notes, PackedNode, PackedPod, PackingView, PageData, PageTable},
    output::{dollars, many, named},
    packing::Packer,
};

use super::{Found, staying, table};
use crate::{
    cards::Cards,
    plan::{Remarks, cluster::Cluster},
};

/// The page's content.
pub(super) fn report(found: &Found<'_>, remarks: &Remarks, cluster: Option<&Cluster>) -> PageData {
    let lines = |lines: Vec<String>, title| Notes::some(title, &lines);
    let ahead = found.ahead_lines();
    PageData {
        title: "journeyman plan --disruption".to_owned(),
        about: format!(
            "{}, as of {:.0}. {} Nothing is changed.",
            table::headline(found),
            found.facts.now,
            table::whose(found.view)
        ),
        figures: figures(found, cluster),
        costs: cluster.and_then(Cluster::costs),
        packing: packing(found),
        tables: [going(found), coming(found), not_disrupted(found)].into_iter().flatten().collect(),
        notes: [
            lines(ahead, "First, whatever runs there"),
            lines(table::next_lines(found), "What `disrupt` does next, in this order"),
            lines(table::budget_lines(found), "What the budgets allow now"),
            Notes::some("Unknown", &found.unknown),
        ]
        .into_iter()
        .flatten()
        .chain(remarks.notes())
        .collect(),
        ..PageData::default()
    }
}

fn figures(found: &Found<'_>, cluster: Option<&Cluster>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = cluster.into_iter().flat_map(Cluster::figures).collect();
    let ahead = ahead(found).count();
    let first = match ahead {
        0 => String::new(),
        ahead => format!("{} whatever runs there", many(ahead)),
    };
    let Some(proposal) = found.proposal() else {
        figures.push(Figure::new("Nodes to disrupt", many(ahead), first));
        return figures;
    };
    let (command, going) = (&proposal.command, proposal.nodes().count());
    let by = format!("{} by {}", many(going), command.method);
    let by = if first.is_empty() { by } else { format!("{first}, {by}") };
    let month = table::per_month(proposal.saving().nanos());
    figures.extend([
        Figure::new("Nodes to disrupt", many(ahead + going), by),
        Figure::new("Nodes in their place", many(command.replacements.len()), String::new()),
        Figure::new("Saved a month", month, table::worth(proposal)),
        Figure::new("Pods that move", many(proposal.moves.len()), String::new()),
    ]);
    figures
}

/// The claims that go before a method is asked, each with why.
fn ahead<'f>(found: &'f Found<'_>) -> impl Iterator<Item = (&'f NodeClaimName, &'f str)> {
    let claims =
        |decision: &'f Decision| decision.claims().map(|claim| (claim, decision.summary.as_str()));
    found.ahead.iter().flat_map(claims)
}

/// What every method would disrupt, the one that acts first.
fn proposals<'f>(found: &'f Found<'_>) -> Vec<&'f Proposal> {
    let acting = found.proposal();
    let others = found.outlook.answers.values().filter_map(|answer| answer.proposal.as_ref());
    let is_acting = |other: &&Proposal| {
        acting.is_some_and(|acting| acting.command.method == other.command.method)
    };
    acting.into_iter().chain(others.filter(|other| !is_acting(other))).collect()
}

fn going(found: &Found<'_>) -> Option<PageTable> {
    let mut rows = Vec::new();
    for (place, proposal) in proposals(found).into_iter().enumerate() {
        let method = proposal.command.method;
        let when = if place == 0 && found.proposal().is_some() { "now" } else { "another time" };
        rows.extend(proposal.disrupted.iter().map(|node| {
            vec![
                node.node.to_string(),
                node.node_pool.to_string(),
                dollars(node.price.nanos().into()),
                format!("{method}, {when}"),
                node.reason.clone(),
            ]
        }));
    }
    let heads = vec!["Node", "NodePool", "Hourly", "Method", "Why"];
    (!rows.is_empty()).then(|| PageTable { title: "Nodes to disrupt".to_owned(), heads, rows })
}

fn coming(found: &Found<'_>) -> Option<PageTable> {
    let replacements =
        found.proposal().into_iter().flat_map(|proposal| &proposal.command.replacements);
    let row = |replacement: &Replacement| {
        vec![
            replacement.node_pool.to_string(),
            table::in_words(replacement),
            many(replacement.pods.len()),
        ]
    };
    let rows: Vec<_> = replacements.map(row).collect();
    let heads = vec!["NodePool", "Node", "Pods"];
    (!rows.is_empty()).then(|| PageTable { title: "Nodes in their place".to_owned(), heads, rows })
}

/// Nodes that are not disrupted, those with the same reason in a row.
fn not_disrupted(found: &Found<'_>) -> Option<PageTable> {
    let stays = staying::of(found);
    let row = |group: staying::Group<'_>| {
        vec![many(group.nodes.len()), named(&group.nodes, 3), group.in_words()]
    };
    let rows: Vec<Vec<String>> = staying::grouped(&stays).into_iter().map(row).collect();
    let heads = vec!["Nodes", "Which", "Why"];
    let title = "Nodes that are not disrupted".to_owned();
    (!rows.is_empty()).then_some(PageTable { title, heads, rows })
}

/// All nodes as they are, and as they would be.
fn packing(found: &Found<'_>) -> Option<PackingView> {
    let cards = Cards::of(found.facts);
    let mut packer = Packer::default();
    let now = standing(found, &cards, &mut packer);
    let after = found.proposal().map(|proposal| after(found, proposal, &cards, &mut packer));
    packer.moment("as it is".to_owned(), None, now);
    if let Some(after) = after {
        packer.moment("afterwards".to_owned(), None, after);
    }
    packer.finish(
        "Nodes and pods before and after the first command: choose with the slider. Nodes to disrupt have a dashed \
         border. The button of a node lists its pods and why the node is disrupted or not."
            .to_owned(),
    )
}

fn standing(found: &Found<'_>, cards: &Cards<'_>, packer: &mut Packer) -> Vec<PackedNode> {
    let going: BTreeMap<&NodeName, &str> = proposals(found)
        .into_iter()
        .flat_map(|proposal| &proposal.disrupted)
        .map(|node| (&node.node, node.reason.as_str()))
        .collect();
    let acting: BTreeSet<&NodeName> =
        found.proposal().into_iter().flat_map(Proposal::nodes).collect();
    let ahead: BTreeMap<&NodeClaimName, &str> = ahead(found).collect();
    let stays = staying::of(found);
    let stays: BTreeMap<&NodeName, &str> =
        stays.iter().map(|stays| (stays.node, stays.reason.as_str())).collect();
    let mut nodes = Vec::new();
    for node in found.facts.nodes.values() {
        let pods = Cards::packed(cards.on(&node.name), "it runs here", packer);
        let first = cards.claim(&node.name).and_then(|claim| ahead.get(&claim.name));
        let goes = first.or_else(|| going.get(&node.name));
        let goes = goes.map(|why| format!("It would be disrupted: {why}"));
        let stays = stays.get(&node.name).map(|why| format!("It is not disrupted: {why}"));
        let why = goes.into_iter().chain(stays.filter(|_| first.is_none()));
        let why = why.map(|text| packer.text(text)).collect();
        let is_going = first.is_some() || acting.contains(&node.name);
        let mark = is_going.then_some(Mark::Goes);
        nodes.push(cards.standing(node, pods, (mark, why)));
    }
    nodes
}

/// The nodes once `proposal` is carried out.
fn after(
    found: &Found<'_>,
    proposal: &Proposal,
    cards: &Cards<'_>,
    packer: &mut Packer,
) -> Vec<PackedNode> {
    let going: BTreeSet<&NodeName> = proposal.nodes().collect();
    let mut moved: BTreeMap<&NodeName, Vec<PodKey>> = BTreeMap::new();
    let mut replaced: Vec<Vec<PodKey>> = vec![Vec::new(); proposal.command.replacements.len()];
    for step in &proposal.moves {
        match &step.to {
            Destination::Existing(Target::Node(node)) => {
                moved.entry(node).or_default().push(step.pod.clone());
            }
            Destination::Existing(Target::Claim(_)) => {}
            Destination::Replacement(place) => {
                replaced.get_mut(*place).into_iter().for_each(|pods| pods.push(step.pod.clone()));
            }
        }
    }
    let why = "it would move here";
    let mut nodes: Vec<PackedNode> = Vec::new();
    for (replacement, pods) in proposal.command.replacements.iter().zip(&replaced) {
        let pods = cards.packed_keys(pods, why, packer);
        nodes.extend(new_node(found, cards, replacement, (pods, nodes.len())));
    }
    for node in found.facts.nodes.values().filter(|node| !going.contains(&node.name)) {
        let mut pods = Cards::packed(cards.on(&node.name), "it runs here", packer);
        let moved = moved.get(&node.name).map(Vec::as_slice).unwrap_or_default();
        pods.extend(cards.packed_keys(moved, why, packer));
        nodes.push(cards.standing(node, pods, (None, Vec::new())));
    }
    nodes
}

/// A replacement as its cheapest offering, with `pods`; `None` where that is not known. There are `place` others before it.
fn new_node(
    found: &Found<'_>,
    cards: &Cards<'_>,
    replacement: &Replacement,
    (pods, place): (Vec<PackedPod>, usize),
) -> Option<PackedNode> {
    let (offering, price) = replacement.cheapest.as_ref()?;
    let pool = found.facts.node_pools.iter().find(|pool| pool.name == replacement.node_pool)?;
    let sold = cards.sold(&pool.template.node_class, offering)?;
    let node = Cards::fresh(&replacement.node_pool, (offering, *price), &sold.allocatable());
    Some(PackedNode { name: format!("new: {}", many(place + 1)), pods, ..node })
}

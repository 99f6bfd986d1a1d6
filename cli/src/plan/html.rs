//! The report of a plan.

use std::collections::BTreeMap;

use model::{
    NodeClaim, NodeName, Pod, PodKey,
    facts::{ClassOffer, Facts},
    plan::{Promise, Target},
};
use report::{
    contents::{Figure, Notes, PackedNode, PackingView, PageData, PageTable, micros},
    output::{HOURS_PER_MONTH, dollars, dollars_down, many},
    packing::Packer,
};

use super::{Planned, cluster::Cluster, owners};

/// The page's content.
pub(super) fn report(planned: &Planned, facts: &Facts) -> PageData {
    let promises = || planned.plan.promises.iter().chain(&planned.fixed.promises);
    let price: u128 = promises().map(|promise| u128::from(promise.price.nanos())).sum();
    let plan = &planned.plan;
    let onto_new: usize = promises().map(|promise| promise.claim.pods.len()).sum();
    let onto_old: usize = plan.placements.iter().map(|placement| placement.pods.len()).sum();
    let mut figures: Vec<Figure> = planned.cluster.iter().flat_map(Cluster::figures).collect();
    let launched = figures.len();
    figures.extend([
        Figure::new("Nodes to launch", many(promises().count()), String::new()),
        Figure::new(
            "From an hour",
            dollars(price),
            format!(
                "{} a month, of each node's cheapest offering without its volumes",
                dollars(price * HOURS_PER_MONTH)
            ),
        ),
        Figure::new(
            "Pods placed",
            many(onto_new + onto_old),
            format!("{} on new nodes, {} on what is there", many(onto_new), many(onto_old)),
        ),
        Figure::new("Pods without a place", many(planned.unplaced()), String::new()),
    ]);
    if let Some(prices) = &planned.prices {
        let karpenter = dollars(prices.karpenter.nanos().into());
        let least = dollars_down(prices.bound.nanos().into());
        let more = format!("proved for the same pods; Karpenter's plan would cost {karpenter}");
        figures.insert(launched + 2, Figure::new("Lower bound of an hour", least, more));
    }
    let waiting = "A NodeClaim has no instance yet: nothing is planned for pods until it has.";
    let waiting = planned.is_waiting.then(|| waiting.to_owned());
    let notes: Vec<String> = planned.fixed.notes.iter().map(ToString::to_string).collect();
    PageData {
        title: "journeyman plan".to_owned(),
        about: format!("What would be launched, as of {}. Nothing is created.", facts.now),
        figures,
        packing: packing(planned, facts),
        tables: [launches(promises()), unplaced(planned)].into_iter().flatten().collect(),
        notes: [
            Notes::some("Waiting", waiting.as_slice()),
            Notes::some("Static NodePools", &notes),
            Notes::some("Left out", &planned.remarks.left_out),
            Notes::some("Assumed", &planned.remarks.assumptions),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..PageData::default()
    }
}

fn launches<'a>(promises: impl Iterator<Item = &'a Promise>) -> Option<PageTable> {
    let row = |promise: &Promise| {
        vec![
            promise.claim.name.to_string(),
            promise.claim.node_pool.to_string(),
            promise.cheapest.to_string(),
            dollars(promise.price.nanos().into()),
            many(promise.possible.len()),
            many(promise.claim.pods.len()),
        ]
    };
    let rows: Vec<_> = promises.map(row).collect();
    let heads = vec!["NodeClaim", "NodePool", "Cheapest", "Hourly", "Types", "Pods"];
    (!rows.is_empty()).then(|| PageTable { title: "Launches".to_owned(), heads, rows })
}

fn unplaced(planned: &Planned) -> Option<PageTable> {
    let later = planned.later.first();
    let rows: Vec<_> = planned
        .plan
        .unplaced
        .iter()
        .map(|unplaced| {
            let mut reasons: Vec<String> =
                unplaced.reasons.iter().map(ToString::to_string).collect();
            if later.is_some_and(|round| round.places(&unplaced.pod)) {
                reasons
                    .push("would be tried again after these launch, and find a place".to_owned());
            }
            vec![unplaced.pod.to_string(), reasons.join("; ")]
        })
        .collect();
    let heads = vec!["Pod", "Why"];
    (!rows.is_empty()).then(|| PageTable { title: "No place for".to_owned(), heads, rows })
}

fn packing(planned: &Planned, facts: &Facts) -> Option<PackingView> {
    let known: BTreeMap<&PodKey, &Pod> = facts.pods.iter().map(|pod| (&pod.key, pod)).collect();
    let mut packer = Packer::default();
    let mut nodes = Vec::new();
    for promise in planned.plan.promises.iter().chain(&planned.fixed.promises) {
        nodes.push(new_node(promise, facts, &known, &mut packer));
    }
    nodes.extend(standing(planned, facts, &known, &mut packer));
    packer.moment("as planned".to_owned(), nodes);
    packer.finish(
        "Nodes as they would be: those to launch with the pods that they are for, as their cheapest offering, and \
         those that are there with what runs on them and what would come. Each workload has a color. Point at an \
         area or tap it for its pods; the button lists all pods of a node, with why they are there."
            .to_owned(),
    )
}

fn new_node(
    promise: &Promise,
    facts: &Facts,
    known: &BTreeMap<&PodKey, &Pod>,
    packer: &mut Packer,
) -> PackedNode {
    let claim = &promise.claim;
    let offer = facts.classes.as_ref().and_then(|classes| classes.get(&claim.node_class));
    let sold = match offer {
        Some(ClassOffer::Ready(types)) => {
            types.iter().find(|sold| sold.name == promise.cheapest.instance_type)
        }
        _ => None,
    };
    let allocatable = sold.map_or_else(|| claim.allocatable.clone(), |sold| sold.allocatable());
    let why = format!(
        "It would be launched for {} pods of NodePool {}; {} instance types fit, and {} is the cheapest",
        many(claim.pods.len()),
        claim.node_pool,
        many(promise.possible.len()),
        promise.cheapest,
    );
    let pods = claim
        .pods
        .iter()
        .filter_map(|key| known.get(key))
        .map(|pod| {
            packer.pod(pod, owners::owner(pod), "no node that is there has room for it".to_owned())
        })
        .collect();
    PackedNode {
        name: format!("new: {}", claim.name),
        kind: promise.cheapest.to_string(),
        pool: claim.node_pool.to_string(),
        price: Some(micros(promise.price.nanos().into())),
        cpu: allocatable.cpu.0,
        memory: allocatable.memory.0,
        why: vec![packer.text(why)],
        pods,
    }
}

/// Nodes that are there, with what runs and what would come.
fn standing(
    planned: &Planned,
    facts: &Facts,
    known: &BTreeMap<&PodKey, &Pod>,
    packer: &mut Packer,
) -> Vec<PackedNode> {
    let mut running: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| !pod.is_terminal()) {
        pod.node.iter().for_each(|node| running.entry(node.as_str()).or_default().push(pod));
    }
    let mut coming: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for placement in &planned.plan.placements {
        let Target::Node(node) = &placement.target else { continue };
        let pods = placement.pods.iter().filter_map(|key| known.get(key).copied());
        coming.entry(node.as_str()).or_default().extend(pods);
    }
    let claims = facts.ledger.claims.values();
    let claims: BTreeMap<&NodeName, &NodeClaim> =
        claims.filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
    let mut nodes = Vec::new();
    for node in facts.nodes.values() {
        let claim = claims.get(&node.name);
        let instance = claim.and_then(|claim| claim.instance.as_ref());
        let name = node.name.as_str();
        let there = running.get(name).into_iter().flatten().map(|pod| (pod, "it runs here"));
        let come = coming.get(name).into_iter().flatten();
        let come = come.map(|pod| (pod, "it would come here: the node has room for it"));
        let pods = there
            .chain(come)
            .map(|(pod, why)| packer.pod(pod, owners::owner(pod), why.to_owned()))
            .collect();
        nodes.push(PackedNode {
            name: name.to_owned(),
            kind: instance.map(|instance| instance.offering().to_string()).unwrap_or_default(),
            pool: claim.map(|claim| claim.node_pool.to_string()).unwrap_or_default(),
            // A price that is not known is none.
            price: instance
                .map(|instance| micros(instance.price.nanos().into()))
                .filter(|micros| 0 < *micros),
            cpu: node.allocatable.cpu.0,
            memory: node.allocatable.memory.0,
            why: Vec::new(),
            pods,
        });
    }
    nodes
}

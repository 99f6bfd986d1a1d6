//! The report of a plan.

use model::{facts::Facts, plan::NewClaim};
use report::{
    contents::{Figure, Notes, PackingView, PageData, PageTable},
    output::{HOURS_PER_MONTH, dollars, dollars_down, many},
    packing::Packer,
};

use super::{Planned, cluster::Cluster};
use crate::cards::Cards;

/// The page's content.
pub(super) fn report(planned: &Planned, facts: &Facts) -> PageData {
    let new_claims = || planned.plan.new_claims.iter().chain(&planned.fixed.new_claims);
    let price: u128 = new_claims().map(|new| u128::from(new.price.nanos())).sum();
    let onto_new: usize = new_claims().map(|new| new.claim.pods.len()).sum();
    let onto_old: usize = planned.on_existing().map(|placement| placement.pods.len()).sum();
    let mut figures: Vec<Figure> = planned.cluster.iter().flat_map(Cluster::figures).collect();
    let launched = figures.len();
    figures.extend([
        Figure::new("Nodes to launch", many(new_claims().count()), String::new()),
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
        Figure::new("Pods that cannot be scheduled", many(planned.unplaced()), String::new()),
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
        about: format!("What would be launched, as of {:.0}. Nothing is created.", facts.now),
        figures,
        costs: planned.cluster.as_ref().and_then(Cluster::costs),
        packing: packing(planned, facts),
        tables: [launches(new_claims()), unplaced(planned)].into_iter().flatten().collect(),
        notes: [
            Notes::some("Waiting", waiting.as_slice()),
            Notes::some("Static NodePools", &notes),
        ]
        .into_iter()
        .flatten()
        .chain(planned.remarks.notes())
        .collect(),
        ..PageData::default()
    }
}

fn launches<'a>(new_claims: impl Iterator<Item = &'a NewClaim>) -> Option<PageTable> {
    let row = |new: &NewClaim| {
        vec![
            new.claim.name.to_string(),
            new.claim.node_pool.to_string(),
            new.cheapest.to_string(),
            dollars(new.price.nanos().into()),
            many(new.possible.len()),
            many(new.claim.pods.len()),
        ]
    };
    let rows: Vec<_> = new_claims.map(row).collect();
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
            reasons.extend(later.and_then(|round| round.would_place(&[&unplaced.pod])));
            vec![unplaced.pod.to_string(), reasons.join("; ")]
        })
        .collect();
    let heads = vec!["Pod", "Why"];
    (!rows.is_empty()).then(|| PageTable { title: "Cannot be scheduled".to_owned(), heads, rows })
}

fn packing(planned: &Planned, facts: &Facts) -> Option<PackingView> {
    let mut packer = Packer::default();
    let new_claims = planned.plan.new_claims.iter().chain(&planned.fixed.new_claims);
    let nodes = Cards::of(facts).planned(new_claims, &planned.plan, &mut packer);
    packer.moment("as planned".to_owned(), None, nodes);
    packer.finish(
        "Nodes as they would be: those to launch with the pods that they are for, as their cheapest offering, and \
         those that are there with what runs on them and what would come. Each workload has a color. Point at an \
         area or tap it for its pods; the button lists all pods of a node, with why they are there."
            .to_owned(),
    )
}

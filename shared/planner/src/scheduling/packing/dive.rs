//! The program rounded to whole nodes: what is nearly whole is taken, and the rest is solved again.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use super::{
    columns::{Effort, Program, Relaxed},
    greedy,
    knapsack::Counts,
    market::Market,
};

/// A node that is advised: an offer, and how many pods of each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the offer in the market.
    pub offer: usize,
    /// How many pods of each kind the node takes.
    pub counts: Counts,
}

/// What `nodes` cost, in pico-dollars.
pub fn price(market: &Market, nodes: &[Node]) -> i128 {
    nodes.iter().map(|node| i128::from(market.offers[node.offer].price)).sum()
}

/// How to round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// From this part on, a node is taken as whole.
    pub(crate) nearly: f64,
    /// How much it counts that a node is dear.
    pub(crate) dear: f64,
}

/// Ways that are tried, as far as there is work left.
pub(crate) const WAYS: [Way; 4] = [
    Way { nearly: 0.85, dear: 0.3 },
    Way { nearly: 0.95, dear: 1.0 },
    Way { nearly: 0.75, dear: 0.0 },
    Way { nearly: 0.9, dear: 0.6 },
];

/// How well the rest is solved after nodes were taken.
const EFFORT: Effort = Effort { rounds: 6, ratio: 1.002 };
/// With more nodes left than these, several are taken at once.
const FEW: f64 = 40.0;

/// With less work left than this, the rest is filled by its values at once.
const LITTLE: u64 = 10_000_000;

/// Whole nodes for all of `demand`: what is whole in the solution `first`, and the rest at once by its values.
pub(crate) fn round(program: &mut Program<'_>, demand: &[u32], first: &Relaxed) -> Vec<Node> {
    let mut left = demand.to_vec();
    let mut nodes = Vec::new();
    take_whole(&mut nodes, &mut left, first, 1.0);
    nodes.extend(greedy::fill(program, &left, &first.values));
    nodes
}

/// Whole nodes for all of `demand`, beginning from the solution `first`.
pub(crate) fn dive(
    program: &mut Program<'_>,
    demand: &[u32],
    first: &Relaxed,
    way: Way,
) -> Vec<Node> {
    let mut left = demand.to_vec();
    let mut nodes = Vec::new();
    let mut relaxed = first.clone();
    while left.iter().any(|count| 0 < *count) && !relaxed.nodes.is_empty() {
        let before = nodes.len();
        take_whole(&mut nodes, &mut left, &relaxed, way.nearly);
        if program.work < LITTLE {
            nodes.extend(greedy::fill(program, &left, &first.values));
            return nodes;
        }
        if nodes.len() == before {
            // What is most of a node, and of those what costs most: small ones fill gaps later.
            let key = |at: &usize| {
                let (offer, _, amount) = &relaxed.nodes[*at];
                amount * program.scaled.prices[*offer].powf(way.dear)
            };
            let mut order: Vec<usize> = (0..relaxed.nodes.len()).collect();
            order.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.cmp(b)));
            let rest: f64 = relaxed.nodes.iter().map(|(_, _, amount)| amount).sum();
            let several = if FEW < rest { order.len() / 10 } else { 0 };
            for at in order.iter().take(1 + several) {
                let (offer, counts, _) = &relaxed.nodes[*at];
                take(&mut nodes, &mut left, *offer, counts);
            }
        }
        if left.iter().any(|count| 0 < *count) {
            relaxed = program.solve(&left, EFFORT);
        }
    }
    nodes
}

/// Takes what is whole in `relaxed`, or from the part `nearly` on.
fn take_whole(nodes: &mut Vec<Node>, left: &mut [u32], relaxed: &Relaxed, nearly: f64) {
    for (offer, counts, amount) in &relaxed.nodes {
        let whole = (amount + 1e-6).floor();
        let count = if nearly < amount - whole { whole + 1.0 } else { whole };
        for _ in 0..count as u64 {
            take(nodes, left, *offer, counts);
        }
    }
}

/// Takes one node, as far as its pods are left.
fn take(nodes: &mut Vec<Node>, left: &mut [u32], offer: usize, counts: &Counts) {
    let kept: Counts = counts
        .iter()
        .map(|(item, count)| (*item, (*count).min(left[*item])))
        .filter(|(_, count)| 0 < *count)
        .collect();
    if kept.is_empty() {
        return;
    }
    for (item, count) in &kept {
        left[*item] -= count;
    }
    nodes.push(Node { offer, counts: kept });
}

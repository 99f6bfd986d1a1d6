//! Whole nodes, one kind after the other: each time the one that is worth most for its price.
//!
//! From nodes with one kind of pods each the program takes long to come near to what is good, and its values say
//! little. Nodes that are filled one after the other by such values use up what others leave, so that each
//! time many are found that go together: the program begins from these, and they are a fleet themselves.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    columns::{Effort, Program},
    dive::{Node, price},
    knapsack::Counts,
};

/// How often nodes are filled anew by better values, at most.
const TIMES_MAX: usize = 12;
/// How near values are taken to those of the program, from those that prove much: these know no scarcity, and the
/// others swing.
const NEARNESS: f64 = 0.9;
/// As long as this number of tenths of the work are left.
const KEPT: u64 = 6;
/// How well the program is solved for values.
const EFFORT: Effort = Effort { rounds: 1, ratio: 1.001 };

/// An offer as it was filled last, ordered by what it is worth; of equals the cheaper one is first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    /// The bits of how many times its price it is worth, not more than that: bits of floats that are not negative
    /// are ordered as these are.
    ratio: u64,
    offer: Reverse<usize>,
    /// None if it was not filled yet.
    counts: Counts,
}

/// Whole nodes for all of `demand`, by better values each time; the program knows all of them afterwards.
pub fn begin(program: &mut Program<'_>, demand: &[u32]) -> Vec<Node> {
    let proving = program.proving_values().to_vec();
    let kept = program.work / 10 * KEPT;
    let mut best = fill(program, demand, &proving);
    let mut least = price(program.market, &best);
    for _ in 0..TIMES_MAX {
        if program.work < kept {
            break;
        }
        let values = program.solve(demand, EFFORT).values;
        let near = values
            .iter()
            .zip(&proving)
            .map(|(value, other)| NEARNESS * value + (1.0 - NEARNESS) * other);
        let nodes = fill(program, demand, &near.collect::<Vec<f64>>());
        let price = price(program.market, &nodes);
        if price < least {
            (best, least) = (nodes, price);
        }
    }
    best
}

/// Whole nodes for all of `demand`, by what pods are worth by `values`.
pub fn fill(program: &mut Program<'_>, demand: &[u32], values: &[f64]) -> Vec<Node> {
    let mut left = demand.to_vec();
    // What is worth nothing has to have a place too.
    let values: Vec<f64> = values.iter().map(|value| value.max(1e-9)).collect();
    let mut nodes = Vec::new();
    let unknown = |offer: usize| Known {
        ratio: f64::INFINITY.to_bits(),
        offer: Reverse(offer),
        counts: Counts::new(),
    };
    let mut known: BinaryHeap<Known> = (0..program.market.offers.len()).map(unknown).collect();
    // Pods only become fewer, and so does what an offer is worth: as long as there are as many as it was filled with, it
    // stays what it is; and of what is not, the best is filled anew, until it stays the best.
    while let Some(best) = known.pop().filter(|best| 0 < best.ratio) {
        let offer = best.offer.0;
        let times = best.counts.iter().map(|(item, count)| left[*item] / count).min();
        if let Some(times) = times.filter(|times| 0 < *times) {
            let counts = best.counts.clone();
            for _ in 0..times {
                nodes.push(Node { offer, counts: counts.clone() });
            }
            for (item, count) in &counts {
                left[*item] -= count * times;
            }
            program.know(offer, counts);
            known.push(best);
        } else {
            let filled = program.scaled.fill(program.market, offer, (&values, &left));
            let ratio = filled.value / program.scaled.prices[offer].max(1e-12);
            program.spend(filled.steps);
            // Bits order numbers that are not negative. The sum of no values is `-0.0`, which `max(0.0)` may keep.
            let ratio = if 0.0 < ratio { ratio.to_bits() } else { 0 };
            known.push(Known { ratio, counts: filled.counts, ..best });
        }
    }
    nodes
}

//! Values of pods that come from the program → a bound that is proved, and nodes that the program does not
//! know yet.

#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "values may be anything: what they prove is reckoned in whole numbers"
)]

use super::{
    certify::{self, Guess, SHIFT},
    columns::{Effort, Program},
    cuts::Priced,
    knapsack::{Counts, Scaled},
};

/// What was proved.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// Less than this no fleet costs, in pico-dollars.
    pub(crate) bound: i128,
    /// Nodes that are worth more than they cost: the values were not right yet.
    pub(crate) bargains: Vec<(usize, Counts)>,
}

/// How much is done to prove more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proofs {
    /// How often values are set right by what a proof finds.
    pub count: usize,
    /// How often fillings of nodes are divided for each of them, divided by the number of items: each
    /// division looks at all of them.
    pub looks: u64,
}

/// How well the program is solved before each proof.
const EFFORT: Effort = Effort { rounds: 3, ratio: 1.000_5 };
/// A proof is idle that makes the bound better by less than this part of it.
const IDLE: i128 = 2_000;
/// Maximum number of them in a row.
const IDLE_MAX: usize = 7;

/// Proves more than what is `priced` on, by values of the program; in pico-dollars.
///
/// Values swing from one solution to the next: they are taken half way to those that proved most so far (Wentges,
/// "Weighted Dantzig–Wolfe decomposition for linear mixed-integer programming", 1997), and as they are once
/// that finds no node which the program does not know.
pub fn improve(
    program: &mut Program<'_>,
    (demand, free): (&[u32], &[i64]),
    priced: Priced,
    proofs: Proofs,
) -> i128 {
    let mut best = priced.bound;
    let mut center = scaled_to(priced.values, demand, best);
    let (mut is_known, mut idle) = (false, 0);
    let divisions = proofs.looks / (demand.len() as u64).max(1);
    for _ in 0..proofs.count {
        let values = program.solve(demand, EFFORT).values;
        let halves = values.iter().zip(&center).map(|(own, center)| 0.5 * (own + center));
        let tried = if is_known { values.clone() } else { halves.collect() };
        let Proof { bound, bargains } = prove(program, &tried, free, divisions);
        is_known = !is_known && !program.is_new(&bargains, &values);
        idle = if bound < best + best / IDLE { idle + 1 } else { 0 };
        if best < bound {
            best = bound;
            center = scaled_to(tried, demand, best);
        }
        if program.work == 0 || IDLE_MAX < idle {
            break;
        }
        for (offer, counts) in bargains {
            program.know(offer, counts);
        }
    }
    best
}

/// `values` by which all pods are worth what is proved.
fn scaled_to(mut values: Vec<f64>, demand: &[u32], bound: i128) -> Vec<f64> {
    let sum: f64 = values.iter().zip(demand).map(|(value, count)| value * f64::from(*count)).sum();
    let factor = bound as f64 / 1e12 / sum.max(1e-12);
    for value in &mut values {
        *value *= factor;
    }
    values
}

/// Proves what `values` are good for; `free` is room that is there already and costs nothing. Divides the
/// fillings of nodes `divisions` times at most.
pub(crate) fn prove(program: &Program<'_>, values: &[f64], free: &[i64], divisions: u64) -> Proof {
    let (market, scaled) = (program.market, &program.scaled);
    let whole = Scaled::whole_values(values);
    let guess = |room: &[i64], asked: &[(usize, u32)]| {
        let filling = scaled.fill_room(market, room, (asked, values));
        Guess {
            prices: scaled.whole_prices(&filling.prices, SHIFT),
            parts: filling.parts,
            counts: filling.counts,
        }
    };
    let worth = certify::search(market, &whole, divisions, &guess);
    let items: Vec<(usize, u32)> =
        market.items.iter().map(|item| item.count.min(item.most)).enumerate().collect();
    let for_nothing = certify::free_of_charge(market, free, &whole, &guess(free, &items).prices);
    let bound = certify::bound(market, &whole, worth.ratio, for_nothing);
    Proof { bound, bargains: worth.excess }
}

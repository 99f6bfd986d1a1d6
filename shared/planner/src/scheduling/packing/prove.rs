//! Values of pods that come from the program → a bound that is proved, and nodes that the program does not
//! know yet.

use std::rc::Rc;

use super::{
    certify::{self, Question, SHIFT, Worth},
    columns::Program,
    knapsack::{Counts, Scaled},
    market::Pico,
};

/// What was proved.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// Less than this no fleet costs, in pico-dollars.
    pub(crate) bound: i128,
    /// Nodes that are worth more than they cost: the values were not right yet.
    pub(crate) bargains: Vec<(usize, Counts)>,
}

/// Parts of the CPU and the memory of a node for which prices of resources are looked for: what pods that
/// come first may leave.
const PARTS: [(f64, f64); 7] =
    [(1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.5, 0.5), (1.0, 0.2), (0.2, 1.0), (0.2, 0.2)];
/// By how many thousandths more than its price a node may be worth, where that is proved with so little work.
const TOLERANCES: [i128; 6] = [0, 2, 5, 10, 20, 40];
/// The part of all fillings that are left which one offer may take.
const SHARE: u64 = 40;
/// Prices of resources are looked for anew so often while pods are gone through.
const PRICES_MAX: usize = 24;

/// Proves what `values` are good for; `free` is room that is there already and costs nothing. Goes through
/// as many `fillings` at most.
pub(crate) fn prove(
    program: &Program<'_>,
    values: &[f64],
    demand: &[u32],
    free: &[i64],
    fillings: &mut u64,
) -> Proof {
    let market = program.market;
    let whole = Scaled::whole_values(values);
    let mut proof = Proof::default();
    let mut worths = Vec::with_capacity(market.offers.len());
    for at in 0..market.offers.len() {
        let worth = worth(program, at, (values, &whole, demand), fillings);
        if let Some(counts) = &worth.excess {
            proof.bargains.push((at, counts.clone()));
        }
        worths.push(worth);
    }
    let numbers: Vec<usize> = (0..market.items.len()).collect();
    let room = Scaled::scaled(market, free);
    let prices = program.scaled.good_prices(market, (&room, &numbers), (values, demand), SHIFT);
    let for_nothing = certify::free_of_charge(market, free, &whole, &prices);
    proof.bound = certify::bound(market, &whole, &worths, for_nothing);
    proof
}

/// What a node of the offer `at` can be worth.
fn worth(
    program: &Program<'_>,
    at: usize,
    (values, whole, demand): (&[f64], &[Pico], &[u32]),
    fillings: &mut u64,
) -> Worth {
    let market = program.market;
    let Some(offer) = market.offers.get(at) else { return Worth::default() };
    let price = i128::from(offer.price);
    let filled = program.scaled.fill(market, at, (values, demand));
    let root: Rc<[i64]> = Scaled::whole_prices(market, &filled.prices, SHIFT).into();
    let question = Question::of(market, offer, whole);
    let most = question.most(&root);
    if most <= price {
        return Worth { most, excess: None };
    }
    let prices = prices(program, at, &question, (values, demand), &root);
    for tolerance in TOLERANCES {
        let enough = price.saturating_add(price * tolerance / 1_000);
        if most <= enough {
            break;
        }
        let mut steps = *fillings / SHARE;
        let before = steps;
        let worth = question.search(enough, &prices, &mut steps);
        *fillings = fillings.saturating_sub(before - steps);
        if let Some(worth) = worth {
            return worth;
        }
    }
    Worth { most, excess: None }
}

/// Prices of resources that are good from each choice of the `question` on.
fn prices(
    program: &Program<'_>,
    at: usize,
    question: &Question<'_>,
    with: (&[f64], &[u32]),
    root: &Rc<[i64]>,
) -> Vec<Vec<Rc<[i64]>>> {
    let (market, scaled) = (program.market, &program.scaled);
    let items: Vec<usize> = question.items().collect();
    let every = items.len().div_ceil(PRICES_MAX).max(1);
    let mut prices: Vec<Vec<Rc<[i64]>>> = vec![vec![Rc::clone(root)]];
    for from in 1..=items.len() {
        let known = prices.last().filter(|_| from != 1 && !from.is_multiple_of(every)).cloned();
        prices.push(known.unwrap_or_else(|| {
            let rest = items.get(from..).unwrap_or_default();
            let of_part = |(cpu, memory): (f64, f64)| {
                let mut parts = vec![1.0; root.len()];
                // Resources are in the order of their names: CPU, disk, memory come before others.
                parts.iter_mut().zip([cpu, 1.0, memory]).for_each(|(part, of)| *part = of);
                let room = scaled.part_of(at, &parts);
                scaled.good_prices(market, (&room, rest), with, SHIFT)
            };
            let mut good: Vec<Rc<[i64]>> = PARTS.into_iter().map(of_part).collect();
            good.sort();
            good.dedup();
            good
        }));
    }
    prices
}

//! What nodes can be worth at most, against all fillings.

use planner::scheduling::packing::{
    certify::*,
    market::{Market, Pico, fitting},
};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{DOLLAR, market, market_of};

/// Knows nothing: one price for a unit of each resource as long as there is a choice, and all but half a pod of
/// everything.
fn guess(prices: &[i64], asked: &[(usize, u32)]) -> Guess {
    let is_open = asked.iter().any(|(_, most)| 0 < *most);
    let part = |most: u32| if most == 0 { 0.0 } else { f64::from(most) - 0.5 };
    Guess {
        prices: prices.iter().map(|price| if is_open { price << SHIFT } else { 0 }).collect(),
        parts: asked.iter().map(|(_, most)| part(*most)).collect(),
        counts: vec![0; asked.len()],
    }
}

fn searched(market: &Market, values: &[Pico], prices: &[i64], divisions: u64) -> Worth {
    search(market, values, divisions, &|_, asked| guess(prices, asked))
}

/// The most that a filling of `room` with pods from `items` on is worth.
fn most(market: &Market, values: &[Pico], room: &[i64], from: usize) -> i128 {
    let Some(item) = market.items.get(from) else { return 0 };
    let fits = i64::from(fitting(room, &item.need).min(item.count));
    let worth = |count: i64| {
        let rest: Vec<i64> =
            room.iter().zip(&item.need).map(|(room, need)| room - need * count).collect();
        i128::from(values[from]) * i128::from(count) + most(market, values, &rest, from + 1)
    };
    (0..=fits).map(worth).max().unwrap_or_default()
}

#[test]
fn a_node_is_worth_what_its_best_filling_is() {
    // By the resource alone 39 are worth 1.95 pods with 20, but only one goes.
    let market = market(&[(&[20], 4)], &[(1, &[39])]);
    let values = [DOLLAR * 3 / 2];
    let prices = [DOLLAR * 3 / 40];
    assert_eq!(searched(&market, &values, &prices, 100).ratio, ONE * 3 / 2 + 1);
}

#[test]
fn what_is_worth_less_than_it_costs_is_not_looked_at() {
    let market = market(&[(&[5], 9)], &[(2, &[10])]);
    let worth = searched(&market, &[DOLLAR / 2], &[DOLLAR / 10], 0);
    assert_eq!((worth.ratio, worth.excess), (ONE, Vec::new()));
}

#[test]
fn a_filling_that_is_worth_more_than_its_node_is_found() {
    let market = market(&[(&[5], 9)], &[(1, &[10])]);
    let worth = search(&market, &[DOLLAR], 0, &|_, asked| Guess {
        counts: vec![2],
        ..guess(&[DOLLAR], asked)
    });
    assert_eq!(worth.excess, [(0, vec![(0, 2)])]);
}

#[test]
fn values_are_scaled_by_how_much_more_a_node_is_worth() {
    let market = market(&[(&[5], 4)], &[(1, &[10])]);
    assert_eq!(bound(&market, &[DOLLAR], ONE * 2, 0), 2 * i128::from(DOLLAR));
    assert_eq!(bound(&market, &[DOLLAR], ONE / 2, 0), 4 * i128::from(DOLLAR));
    assert_eq!(bound(&market, &[DOLLAR], ONE, 5 * i128::from(DOLLAR)), 0);
}

proptest! {
    #[test]
    fn no_filling_is_worth_more(
        pods in prop::collection::vec((1_i64..8, 0_i64..8, 1_u32..4, 1_i64..40), 1..5),
        offers in prop::collection::vec((1_i64..4, 4_i64..16, 4_i64..16), 1..4),
        prices in (0_i64..8, 0_i64..8),
        divisions in 0_u64..200,
    ) {
        let counted: Vec<(i64, i64, u32)> =
            pods.iter().map(|(cpu, memory, count, _)| (*cpu, *memory, *count)).collect();
        let market = market_of(&counted, &offers);
        let values: Vec<Pico> = pods.iter().map(|(.., value)| value * DOLLAR / 10).collect();
        let prices = [prices.0 * DOLLAR / 10, prices.1 * DOLLAR / 10];
        let ratio = searched(&market, &values, &prices, divisions).ratio;
        for offer in &market.offers {
            let most = most(&market, &values, &offer.room, 0);
            prop_assert!(most * ONE <= ratio * i128::from(offer.price), "{most} {ratio}");
        }
        // With time enough it is just that.
        let worths = market.offers.iter().map(|offer| {
            most(&market, &values, &offer.room, 0) * ONE / i128::from(offer.price) + 1
        });
        let exact = worths.max().unwrap_or_default().max(ONE);
        prop_assert!(searched(&market, &values, &prices, 100_000).ratio <= exact + 1);
    }
}

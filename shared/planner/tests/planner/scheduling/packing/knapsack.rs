//! One node filled, against what fits.

use planner::scheduling::packing::{knapsack::*, market::Market};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{market, market_of};

fn filled(market: &Market, values: &[f64]) -> Filled {
    let left: Vec<u32> = market.items.iter().map(|item| item.count).collect();
    Scaled::of(market).fill(market, 0, (values, &left))
}

#[test]
fn what_is_left_is_filled_with_what_fits_there() {
    // With parts of pods 1.25 of the first is best; whole, one of it leaves room for two of the second.
    let market = market(&[(&[8], 3), (&[1], 5)], &[(1, &[10])]);
    assert_eq!(filled(&market, &[10.0, 1.0]).counts, [(0, 1), (1, 2)]);
}

#[test]
fn a_pod_is_swapped_for_those_that_are_worth_more() {
    // The densest comes first and leaves 4; without it two of the other are worth more.
    let market = market(&[(&[6], 1), (&[5], 2)], &[(1, &[10])]);
    let filled = filled(&market, &[6.6, 5.0]);
    assert_eq!(filled.counts, [(1, 2)]);
    assert!((filled.value - 10.0).abs() < 1e-9);
}

#[test]
fn room_is_filled_with_parts_and_quickly_with_whole_pods() {
    // Two of the first are all that fits: what is left goes to the second, and decides the price.
    let market = market(&[(&[4], 9), (&[1], 5)], &[(1, &[10])]);
    let asked = [(0, 9), (1, 5)];
    let filling = Scaled::of(&market).fill_room(&market, &[10], (&asked, &[4.0, 0.5]));
    assert_eq!(filling.counts, [2, 2]);
    assert!((filling.parts[1] - 2.0).abs() < 1e-6, "{filling:?}");
    assert!((filling.prices[0] - 5.0).abs() < 1e-6, "all ten, at a half each");
}

#[test]
fn nothing_goes_into_no_room() {
    let market = market(&[(&[4], 9)], &[(1, &[10])]);
    let filling = Scaled::of(&market).fill_room(&market, &[3], (&[(0, 9)], &[4.0]));
    assert_eq!((filling.counts, filling.prices), (vec![0], vec![0.0]));
}

proptest! {
    #[test]
    fn a_node_is_never_overfull(
        pods in prop::collection::vec((1_i64..8, 0_i64..8, 1_u32..5, 1_u32..40), 1..8),
        room in (8_i64..30, 8_i64..30),
    ) {
        let counted: Vec<(i64, i64, u32)> =
            pods.iter().map(|(cpu, memory, count, _)| (*cpu, *memory, *count)).collect();
        let market = market_of(&counted, &[(1, room.0, room.1)]);
        let values: Vec<f64> = pods.iter().map(|(.., value)| f64::from(*value)).collect();
        let filled = filled(&market, &values);
        let mut rest = market.offers[0].room.to_vec();
        for (item, count) in &filled.counts {
            prop_assert!(*count <= market.items[*item].count);
            let need = &market.items[*item].need;
            rest.iter_mut().zip(need).for_each(|(room, need)| *room -= need * i64::from(*count));
        }
        prop_assert!(rest.iter().all(|room| 0 <= *room), "{:?}", filled.counts);
    }
}

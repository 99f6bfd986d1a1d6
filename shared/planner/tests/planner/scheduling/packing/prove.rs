//! What is proved, against the cheapest of all fleets.

use planner::scheduling::packing::{columns::Program, cuts, market::Market, prove::*};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{DOLLAR, best_of_all, market, market_of};

fn improved(market: &Market, free: &[i64], proofs: Proofs) -> i128 {
    let demand: Vec<u32> = market.items.iter().map(|item| item.count).collect();
    let mut program = Program::new(market, 10_000_000);
    improve(&mut program, (&demand, free), cuts::priced(market, free), proofs)
}

const MANY: Proofs = Proofs { count: 20, looks: 10_000 };

#[test]
fn nodes_that_are_full_prove_what_they_cost() {
    // Each pair fills a node, and no resource alone says so.
    let market = market(&[(&[8, 2], 6), (&[2, 8], 6), (&[7, 7], 2)], &[(1, &[10, 10])]);
    let bound = improved(&market, &[0, 0], MANY);
    assert!(7_990 * i128::from(DOLLAR) <= bound * 1_000, "{bound}");
    assert!(bound <= 8 * i128::from(DOLLAR));
}

#[test]
fn without_proofs_it_is_what_shares_prove() {
    let market = market(&[(&[3, 5], 7), (&[4, 1], 5)], &[(1, &[10, 10]), (3, &[25, 40])]);
    let none = Proofs { count: 0, looks: 0 };
    assert_eq!(improved(&market, &[0, 0], none), cuts::priced(&market, &[0, 0]).bound);
    assert!(cuts::priced(&market, &[0, 0]).bound <= improved(&market, &[0, 0], MANY));
}

#[test]
fn room_that_is_there_proves_less() {
    let market = market(&[(&[5, 5], 8)], &[(1, &[10, 10])]);
    assert!(improved(&market, &[20, 20], MANY) <= 2 * i128::from(DOLLAR));
    assert_eq!(improved(&market, &[40, 40], MANY), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_fleet_costs_less(
        pods in prop::collection::vec((1_i64..8, 1_i64..8, 1_u32..4), 1..4),
        offers in prop::collection::vec((1_i64..6, 8_i64..20, 8_i64..20), 1..4),
        looks in 0_u64..200,
    ) {
        let market = market_of(&pods, &offers);
        if let Some(least) = best_of_all(&market) {
            let bound = improved(&market, &[0, 0], Proofs { count: 6, looks });
            prop_assert!(bound <= least, "{bound} {least}");
        }
    }
}

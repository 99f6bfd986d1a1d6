//! What shares of resources prove, against sums by hand and the cheapest of all fleets.

use planner::scheduling::packing::{cuts::*, market::Market};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{DOLLAR, best_of_all, market, market_of};

/// The bound in thousandths of a dollar, to the nearest: prices of shares are rounded.
fn bound(market: &Market, free: &[i64]) -> i128 {
    let thousandth = i128::from(DOLLAR) / 1_000;
    (priced(market, free).bound + thousandth / 2) / thousandth
}

#[test]
fn what_two_large_pods_leave_of_a_node_is_worth_nothing() {
    // By the resource alone four pods with 20 of 39 cost 2.05.
    let market = market(&[(&[20], 4)], &[(1, &[39])]);
    assert_eq!(bound(&market, &[0]), 4_000);
    assert_eq!(best_of_all(&market), Some(4 * i128::from(DOLLAR)));
    let priced = priced(&market, &[0]);
    assert!((priced.values[0] - 1.0).abs() < 1e-3, "{priced:?}");
}

#[test]
fn small_pods_cost_what_they_take() {
    let market = market(&[(&[1], 100)], &[(1, &[10])]);
    assert_eq!(bound(&market, &[0]), 10_000);
}

#[test]
fn the_scarcer_of_two_resources_has_the_price() {
    let market = market(&[(&[1, 4], 20)], &[(1, &[10, 8])]);
    assert_eq!(bound(&market, &[0, 0]), 10_000, "two on each node, by memory");
}

#[test]
fn large_pods_pay_for_nodes_that_take_them() {
    // By the resource alone, at the price of small nodes, 100 cost 10. Only the node for 20 takes the large pod.
    let market = market(&[(&[60], 1), (&[10], 4)], &[(1, &[10]), (20, &[100])]);
    assert_eq!(bound(&market, &[0]), 20_000);
    assert_eq!(best_of_all(&market), Some(20 * i128::from(DOLLAR)));
    let large = Share::of_large(&market, &[7], 0, &[true, false]);
    assert_eq!((large.needs, large.rooms, large.free), (vec![60, 0], vec![0, 100], 7));
}

#[test]
fn room_that_is_there_is_free() {
    let market = market(&[(&[1], 100)], &[(1, &[10])]);
    assert_eq!(bound(&market, &[50]), 5_000);
    assert_eq!(bound(&market, &[100]), 0);
    assert_eq!(bound(&market, &[1_000]), 0, "never less than nothing");
}

#[test]
fn a_share_is_counted_in_whole_parts() {
    let market = market(&[(&[20, 5], 3), (&[9, 0], 2)], &[(1, &[39, 10])]);
    let share = Share::of_part(&market, &[45, 0], (0, 10));
    assert_eq!((&share.needs, &share.rooms, share.free), (&vec![2, 0], &vec![3], 4));
    assert_eq!(share.asked(&market), 6);
    assert_eq!(Share::of_part(&market, &[-3, 0], (0, 10)).free, 0, "what is overcommitted");
}

#[test]
fn parts_are_what_pods_request_the_half_of_it_and_one() {
    let market = market(&[(&[20], 3), (&[8], 2), (&[3], 1), (&[1], 1)], &[(1, &[40])]);
    assert_eq!(parts(&market, 0), [20, 10, 8, 4, 3, 1]);
    let needs: Vec<[i64; 1]> = (1..=500).map(|need| [2 * need]).collect();
    let items: Vec<(&[i64], u32)> = needs.iter().map(|need| (need.as_slice(), 1)).collect();
    let many =
        parts(&crate::planner::scheduling::packing::testing::market(&items, &[(1, &[1_000])]), 0);
    assert!(many.len() <= PARTS_MAX + 1, "{}", many.len());
    assert_eq!((many.first(), many.last()), (Some(&1_000), Some(&1)));
}

#[test]
fn the_size_of_a_pod_is_its_largest_part_of_the_largest_node() {
    let market = market(&[(&[10, 90], 1)], &[(1, &[20, 100]), (9, &[100, 100])]);
    assert!((size(&market, &market.items[0]) - 0.9).abs() < 1e-9);
}

#[test]
fn whatever_prices_are_given_they_prove_no_more_than_is_so() {
    let market = market(&[(&[20], 4), (&[7], 3)], &[(1, &[39]), (3, &[100])]);
    let best = best_of_all(&market).unwrap();
    let shares = shares(&market, &[0]);
    for price in [0, 1, 1_000, i64::MAX / 1_000_000, i64::MAX] {
        let proved = certified(&market, &shares, &vec![price; shares.len()]).bound;
        assert!((0..=best).contains(&proved), "{price}: {proved} and not {best}");
    }
    assert_eq!(certified(&market, &shares, &vec![0; shares.len()]).bound, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_fleet_costs_less(
        needs in proptest::collection::vec((1_i64..40, 1_i64..40, 1_u32..3), 1..4),
        offers in proptest::collection::vec((1_i64..20, 10_i64..60, 10_i64..60), 1..4),
    ) {
        let market = market_of(&needs, &offers);
        if let Some(best) = best_of_all(&market) {
            let proved = priced(&market, &[0, 0]).bound;
            prop_assert!(proved <= best, "{proved} and not {best}");
        }
    }
}

//! Nodes that need not be, or could be cheaper.

use planner::scheduling::packing::{
    columns::Program,
    dive::{Node, price},
    greedy,
    market::Market,
    settle::*,
};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{DOLLAR, best_of_all, market, market_of};

const WORK: u64 = 1_000_000;

fn node(offer: usize, counts: &[(usize, u32)]) -> Node {
    Node { offer, counts: counts.to_vec() }
}

/// How many pods of each item are on `nodes`, none of which is overfull.
fn placed(market: &Market, nodes: &[Node]) -> Vec<u32> {
    let mut placed = vec![0; market.items.len()];
    for node in nodes {
        let mut room = market.offers[node.offer].room.to_vec();
        for (item, count) in &node.counts {
            placed[*item] += count;
            take(&mut room, &market.items[*item], *count);
            assert!(*count <= market.items[*item].most, "{node:?}");
        }
        assert!(room.iter().all(|left| 0 <= *left), "{node:?}");
    }
    placed
}

#[test]
fn a_node_goes_whose_pods_fit_onto_others() {
    let market = market(&[(&[4], 2), (&[2], 2)], &[(1, &[6])]);
    let nodes = [node(0, &[(0, 1)]), node(0, &[(1, 2)]), node(0, &[(0, 1)])];
    let (settled, taken) = settle(&market, &nodes, WORK);
    assert_eq!(settled, [node(0, &[(0, 1), (1, 1)]), node(0, &[(0, 1), (1, 1)])]);
    assert!(0 < taken);
}

#[test]
fn what_others_do_not_take_gets_a_cheaper_node() {
    let market = market(&[(&[4], 1), (&[2], 3)], &[(1, &[4]), (3, &[6])]);
    let nodes = [node(1, &[(0, 1)]), node(1, &[(1, 3)])];
    let (settled, _) = settle(&market, &nodes, WORK);
    assert_eq!(placed(&market, &settled), [1, 3]);
    assert_eq!(price(&market, &settled), 4 * i128::from(DOLLAR), "{settled:?}");
}

#[test]
fn two_nodes_become_one_that_costs_less_than_both() {
    let market = market(&[(&[5], 2)], &[(3, &[6]), (5, &[10])]);
    let (settled, _) = settle(&market, &[node(0, &[(0, 1)]), node(0, &[(0, 1)])], WORK);
    assert_eq!(settled, [node(1, &[(0, 2)])]);
}

#[test]
fn rules_of_pods_and_offers_hold() {
    let mut market = market(&[(&[1], 2), (&[1], 1)], &[(1, &[4]), (2, &[4])]);
    market.items[0].most = 1;
    market.items[1].demands = 2;
    market.offers[1].takes = 2;
    let nodes = [node(0, &[(0, 1)]), node(0, &[(0, 1)]), node(1, &[(1, 1)])];
    assert_eq!(settle(&market, &nodes, WORK).0, nodes);
}

#[test]
fn without_work_everything_stays() {
    let market = market(&[(&[2], 2)], &[(1, &[6])]);
    let nodes = [node(0, &[(0, 1)]), node(0, &[(0, 1)])];
    assert_eq!(settle(&market, &nodes, 0), (nodes.to_vec(), 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_pod_keeps_a_place_for_no_more_money_and_nothing_is_left_to_be_done(
        needs in proptest::collection::vec((1_i64..30, 1_i64..30, 1_u32..3), 1..4),
        offers in proptest::collection::vec((1_i64..20, 30_i64..60, 30_i64..60), 1..4),
    ) {
        let mut market = market_of(&needs, &offers);
        market.offers.sort_by_key(|offer| offer.price);
        let asked: Vec<u32> = market.items.iter().map(|item| item.count).collect();
        let mut program = Program::new(&market, 100_000);
        let values = program.proving_values().to_vec();
        let before = greedy::fill(&mut program, &asked, &values);
        let (settled, _) = settle(&market, &before, WORK);
        prop_assert_eq!(placed(&market, &settled), asked);
        prop_assert!(price(&market, &settled) <= price(&market, &before));
        prop_assert!(best_of_all(&market).unwrap() <= price(&market, &settled));
        prop_assert_eq!(&settle(&market, &settled, WORK).0, &settled);
    }
}

//! Whole nodes for all pods, one kind of nodes after the other.

use planner::scheduling::packing::{
    columns::Program,
    dive::{Node, price},
    greedy::*,
    market::Market,
};
use proptest::prelude::*;

use crate::planner::scheduling::packing::testing::{DOLLAR, best_of_all, market, market_of};

const WORK: u64 = 10_000_000;

fn demand(market: &Market) -> Vec<u32> {
    market.items.iter().map(|item| item.count).collect()
}

/// How many pods of each item are on `nodes`, none of which is overfull.
fn placed(market: &Market, nodes: &[Node]) -> Vec<u32> {
    let mut placed = vec![0; market.items.len()];
    for node in nodes {
        let mut room = market.offers[node.offer].room.to_vec();
        for (item, count) in &node.counts {
            placed[*item] += count;
            for (room, need) in room.iter_mut().zip(&market.items[*item].need) {
                *room -= need * i64::from(*count);
            }
        }
        assert!(room.iter().all(|left| 0 <= *left), "{node:?}");
    }
    placed
}

#[test]
fn what_is_worth_most_for_its_price_is_taken_as_often_as_it_goes() {
    let market = market(&[(&[5], 9)], &[(2, &[10]), (5, &[20])]);
    let nodes = fill(&mut Program::new(&market, WORK), &demand(&market), &[1.0]);
    let full = Node { offer: 0, counts: vec![(0, 2)] };
    let last = Node { offer: 0, counts: vec![(0, 1)] };
    assert_eq!(nodes, [full.clone(), full.clone(), full.clone(), full, last]);
    assert_eq!(price(&market, &nodes), 10 * i128::from(DOLLAR));
}

#[test]
fn pods_that_go_together_share_nodes() {
    let market = market(&[(&[8, 2], 6), (&[2, 8], 6)], &[(1, &[10, 10])]);
    let nodes = begin(&mut Program::new(&market, WORK), &demand(&market));
    assert_eq!(placed(&market, &nodes), [6, 6]);
    assert_eq!(price(&market, &nodes), 6 * i128::from(DOLLAR), "{nodes:?}");
}

#[test]
fn what_is_worth_nothing_has_a_place_too() {
    let market = market(&[(&[5], 3), (&[2], 4)], &[(1, &[10])]);
    let nodes = fill(&mut Program::new(&market, WORK), &demand(&market), &[1.0, 0.0]);
    assert_eq!(placed(&market, &nodes), [3, 4]);
}

#[test]
fn where_nothing_is_asked_for_or_nothing_fits_nothing_is_bought() {
    let market = market(&[(&[5], 3), (&[50], 1)], &[(1, &[10])]);
    let mut program = Program::new(&market, WORK);
    assert_eq!(fill(&mut program, &[0, 0], &[1.0, 1.0]), []);
    let nodes = fill(&mut program, &[3, 1], &[1.0, 1.0]);
    assert_eq!(placed(&market, &nodes), [3, 0]);
}

#[test]
fn no_node_has_more_pods_of_an_item_than_it_may() {
    let mut market = market(&[(&[1], 6)], &[(1, &[10])]);
    market.items[0].most = 2;
    let nodes = fill(&mut Program::new(&market, WORK), &demand(&market), &[1.0]);
    assert_eq!(placed(&market, &nodes), [6]);
    assert!(nodes.iter().all(|node| node.counts == [(0, 2)]), "{nodes:?}");
}

#[test]
fn without_work_there_is_a_fleet_all_the_same() {
    let market = market(&[(&[5, 1], 7), (&[1, 6], 5)], &[(2, &[10, 9]), (3, &[16, 16])]);
    let nodes = begin(&mut Program::new(&market, 0), &demand(&market));
    assert_eq!(placed(&market, &nodes), [7, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_pod_has_a_place_and_better_values_never_make_it_dearer(
        needs in proptest::collection::vec((1_i64..30, 1_i64..30, 1_u32..3), 1..4),
        offers in proptest::collection::vec((1_i64..20, 30_i64..60, 30_i64..60), 1..4),
    ) {
        let market = market_of(&needs, &offers);
        let asked = demand(&market);
        let mut program = Program::new(&market, WORK);
        let proving = program.proving_values().to_vec();
        let once = fill(&mut program, &asked, &proving);
        let nodes = begin(&mut Program::new(&market, WORK), &asked);
        prop_assert_eq!(placed(&market, &nodes), asked.clone());
        prop_assert_eq!(&nodes, &begin(&mut Program::new(&market, WORK), &asked));
        prop_assert!(price(&market, &nodes) <= price(&market, &once));
        prop_assert!(best_of_all(&market).unwrap() <= price(&market, &nodes));
    }
}

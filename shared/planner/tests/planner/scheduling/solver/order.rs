//! The order in which claims of the plan are tried: fewest pods first.

use planner::{
    index::{bits::BitSet, id::ClaimId},
    scheduling::solver::order::{go_sort::Counted, *},
};
use proptest::prelude::*;

fn all(order: &Order, len: usize) -> Vec<ClaimId> {
    let mut left = BitSet::full(len);
    let mut claims = Vec::new();
    while let Some(claim) = order.first(&left) {
        left.remove(claim);
        claims.push(claim);
    }
    claims
}

/// Gives a pod to the claim at each of `steps` in the order then, or opens one where there is
/// none, and compares the order with that of sorting all claims by `sort` each time.
#[track_caller]
fn check(steps: &[usize], sort: impl Fn(&mut [Counted])) {
    let mut order = Order::default();
    let mut sorted: Vec<Counted> = Vec::new();
    for step in steps {
        sort(&mut sorted);
        let claims: Vec<ClaimId> = sorted.iter().map(|counted| counted.claim).collect();
        assert_eq!(all(&order, sorted.len()), claims);
        if let Some(counted) = sorted.get_mut(*step) {
            counted.pods += 1;
            order.grow(counted.claim);
        } else {
            let claim = ClaimId::nth(sorted.len());
            order.open(claim);
            sorted.push(Counted { pods: 1, claim });
        }
    }
}

#[test]
fn of_thirteen_claims_the_one_in_the_middle_becomes_the_first() {
    let mut order = Order::default();
    (0..13).for_each(|claim| order.open(ClaimId::nth(claim)));
    order.grow(ClaimId::nth(0));
    let places: Vec<usize> = all(&order, 13).into_iter().map(ClaimId::place).collect();
    assert_eq!(places, [6, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn up_to_twelve_claims_it_is_a_stable_sort(
        steps in proptest::collection::vec(0_usize..12, 0..80),
    ) {
        check(&steps, |counteds| counteds.sort_by_key(|counted| counted.pods));
    }

    #[test]
    fn it_is_what_go_makes_of_all_claims_each_time(
        (len, mut steps) in (1_usize..120).prop_flat_map(|len| {
            (Just(len), proptest::collection::vec((0_usize..len, 0_usize..4), 0..400))
        }),
    ) {
        // The first claims are asked for most.
        let steps: Vec<usize> = steps.drain(..).map(|(at, kind)| match kind {
            0 => at,
            1 => at % 3,
            _ => len,
        }).collect();
        check(&steps, go_sort::sort);
    }

    #[test]
    fn sorting_sorts(pods in proptest::collection::vec(0_usize..9, 0..300)) {
        let counted = |(claim, pods)| Counted { pods, claim: ClaimId::nth(claim) };
        let mut counteds: Vec<Counted> = pods.into_iter().enumerate().map(counted).collect();
        let mut expected = counteds.clone();
        go_sort::sort(&mut counteds);
        prop_assert!(counteds.is_sorted_by_key(|counted| counted.pods));
        expected.sort_unstable();
        counteds.sort_unstable();
        prop_assert_eq!(counteds, expected);
    }
}

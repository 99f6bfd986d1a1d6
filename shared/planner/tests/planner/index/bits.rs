//! Sets of numbers, a bit each: instance types, claims, domains.

use std::collections::BTreeSet;

use planner::index::{
    bits::*,
    id::{Id, kind},
};
use proptest::prelude::*;

type Bits = BitSet<kind::Pod>;

fn set(numbers: &BTreeSet<usize>) -> Bits {
    Bits::of(200, |id| numbers.contains(&id.place()))
}

fn numbers(bits: &Bits) -> BTreeSet<usize> {
    bits.iter().map(Id::place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bits_are_a_set(
        a in proptest::collection::btree_set(0_usize..200, 0..40),
        b in proptest::collection::btree_set(0_usize..200, 0..40),
    ) {
        let (bits_a, bits_b) = (set(&a), set(&b));
        prop_assert_eq!(numbers(&bits_a), a.clone());
        prop_assert_eq!(bits_a.is_empty(), a.is_empty());
        prop_assert_eq!(bits_a.meets(&bits_b), !a.is_disjoint(&b));
        let mut kept = bits_a.clone();
        kept.keep(&bits_b);
        prop_assert_eq!(numbers(&kept), &a & &b);
        let mut both = bits_a.clone();
        both.add(&bits_b);
        prop_assert_eq!(numbers(&both), &a | &b);
        let mut rest = bits_a.clone();
        rest.subtract(&bits_b);
        prop_assert_eq!(numbers(&rest), &a - &b);
        prop_assert_eq!(bits_a.common(&bits_b).map(Id::place).collect::<BTreeSet<_>>(), &a & &b);
        prop_assert_eq!(bits_a.count_common(&bits_b), (&a & &b).len());
        prop_assert_eq!(bits_a.count(), a.len());
        prop_assert_eq!(bits_a.first_from(Id::at(70)).map(Id::place), a.range(70..).next().copied());
        prop_assert_eq!(bits_a.is_within(&bits_b), a.is_subset(&b));
        prop_assert_eq!(Bits::full(a.len()).count(), a.len());
        let mut rows = BitRows::with_capacity(200, 2);
        for bits in [&bits_b, &bits_a] {
            rows.push_with(bits.iter());
        }
        let mut kept = bits_a.clone();
        rows.keep(0, &mut kept);
        prop_assert_eq!(numbers(&kept), &a & &b);
        prop_assert_eq!(rows.has_all(0, &bits_a), a.is_subset(&b));
        let mut kept = Bits::full(200);
        rows.keep(1, &mut kept);
        prop_assert_eq!(numbers(&kept), &a | &b);
    }
}

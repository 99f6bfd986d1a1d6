//! Sets of requirements by number: each distinct requirement and each distinct set once, and each

use model::{Requirement, Requirements, labels, requirements::Undefined};
use planner::scheduling::numbers::sets::*;
use proptest::prelude::*;

use crate::planner::support::requirements;

#[test]
fn equal_sets_have_one_number_and_joining_narrows() {
    let mut sets = Sets::default();
    let zones = |zones: &[&str]| {
        let zones = zones.iter().copied();
        let zone = Requirement::new(labels::ZONE, model::Operator::In, zones);
        Requirements::from_iter([zone.unwrap()])
    };
    let (ab, bc, c) =
        (sets.id(&zones(&["a", "b"])), sets.id(&zones(&["b", "c"])), sets.id(&zones(&["c"])));
    assert_eq!(sets.id(&zones(&["b", "a"])), ab);
    let b = sets.id(&zones(&["b"]));
    assert_eq!(sets.join(ab, bc), Some(b));
    assert_eq!(sets.join(ab, c), None);
    assert_eq!(sets.join(b, ab), Some(b));
}

const TEXTS: [&str; 15] = [
    "team=;",
    "team=a,;",
    "te;am",
    "team=a",
    "team=a,b",
    "team!=a",
    "team",
    "!team",
    "team>1",
    "kubernetes.io/arch=x",
    "kubernetes.io/arch=x,y",
    "kubernetes.io/arch!=x",
    "!kubernetes.io/arch",
    "shard<5",
    "shard=3,7",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn joining_numbers_is_joining_sets(
        a in proptest::sample::subsequence(TEXTS.to_vec(), 0..4),
        b in proptest::sample::subsequence(TEXTS.to_vec(), 0..4),
    ) {
        let (a, b) = (requirements(&a.join(" ")), requirements(&b.join(" ")));
        let mut sets = Sets::default();
        let (id_a, id_b) = (sets.id(&a), sets.id(&b));
        prop_assert_eq!(&sets.get(id_a), &a);
        let joined = sets.join(id_a, id_b).map(|id| sets.get(id));
        let mut both = a.clone();
        both.add_all(&b);
        let expected = a.compatible(&b, Undefined::WellKnown).is_ok().then_some(both);
        prop_assert_eq!(joined, expected);
    }
}

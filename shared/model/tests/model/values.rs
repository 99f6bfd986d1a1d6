//! The values of a requirement: few, sorted, and shared by their copies.

use std::collections::BTreeSet;

use model::{requirement::Value, values::*};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn values_are_a_sorted_set(texts in proptest::collection::vec("[a-d]{0,2}", 0..12)) {
        let given = || texts.iter().map(|text| Value::from(text.as_str()));
        let (values, set) = (given().collect::<Values>(), given().collect::<BTreeSet<Value>>());
        prop_assert!(values.iter().eq(set.iter()));
        prop_assert_eq!(&values, &Values::from(set.clone()));
        for text in ["", "a", "b", "cc", "e"] {
            prop_assert_eq!(values.contains(text), set.contains(text), "{}", text);
        }
        let other: Values = given().skip(1).collect();
        let other_set: BTreeSet<Value> = given().skip(1).collect();
        prop_assert_eq!(values.cmp(&other), set.cmp(&other_set));
    }
}

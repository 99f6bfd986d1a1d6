//! Label selectors: which objects a constraint is about.

use std::collections::BTreeMap;

use model::selector::*;

#[track_caller]
fn check(operator: SelectorOperator, values: &[&str], labels: &[(&str, &str)], selects: bool) {
    let values = values.iter().map(|&value| value.to_owned()).collect();
    let expression = SelectorExpression { key: "app".to_owned(), operator, values };
    let selector = LabelSelector { expressions: [expression].into(), is_invalid: false };
    let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(selector.selects(&labels), selects, "{selector:?} on {labels:?}");
}

#[test]
fn operators_mean_what_kubernetes_says() {
    check(SelectorOperator::In, &["a", "b"], &[("app", "b")], true);
    check(SelectorOperator::In, &["a", "b"], &[("app", "c")], false);
    check(SelectorOperator::In, &["a"], &[], false);
    check(SelectorOperator::NotIn, &["a"], &[("app", "b")], true);
    check(SelectorOperator::NotIn, &["a"], &[], true);
    check(SelectorOperator::NotIn, &["a"], &[("app", "a")], false);
    check(SelectorOperator::Exists, &[], &[("app", "")], true);
    check(SelectorOperator::Exists, &[], &[("tier", "x")], false);
    check(SelectorOperator::DoesNotExist, &[], &[("tier", "x")], true);
    check(SelectorOperator::DoesNotExist, &[], &[("app", "x")], false);
}

#[test]
fn an_empty_selector_selects_everything_and_an_invalid_one_nothing() {
    assert!(LabelSelector::default().selects(&BTreeMap::new()));
    let invalid = LabelSelector { is_invalid: true, ..LabelSelector::default() };
    assert!(!invalid.selects(&BTreeMap::new()));
}

#[test]
fn a_repeated_expression_is_the_same_selector() {
    let once = LabelSelector::of_labels([("app", "a")]);
    assert_eq!(once.clone().and("app", "a"), once);
}

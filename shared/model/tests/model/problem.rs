//! What is wrong with an object of a user.

use model::problem::*;

#[test]
fn a_problem_names_its_field_and_its_rule() {
    let weight = Problem::unusable("spec.weight", "must be 1 to 100, not 0");
    assert_eq!(weight.to_string(), "spec.weight: must be 1 to 100, not 0");
    let whole = Problem::unusable("", "it is empty");
    assert_eq!(whole.to_string(), "it is empty");
    let expression = Problem {
        weight: Weight::Unsupported,
        field: "spec.kubelet.maxPods".to_owned(),
        rule: "as an expression".into(),
    };
    let text = "not supported yet: spec.kubelet.maxPods as an expression";
    assert_eq!(expression.to_string(), text);
    assert_eq!(
        Problem::in_words([&weight, &whole]),
        "spec.weight: must be 1 to 100, not 0; it is empty"
    );
}

#[test]
fn a_part_of_a_field_is_within_it() {
    let at = |field: &str| Problem::unusable(field, "is wrong");
    assert!(at("spec.kubelet").is_within("spec.kubelet"));
    assert!(at("spec.kubelet.maxPods").is_within("spec.kubelet"));
    assert!(at("spec.terms[0].id").is_within("spec.terms"));
    assert!(!at("spec.kubeletConfig").is_within("spec.kubelet"));
    assert!(!at("spec").is_within("spec.kubelet"));
}

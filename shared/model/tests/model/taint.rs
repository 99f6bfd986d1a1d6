//! Taints and tolerations.

use model::taint::{
    TolerationOperator::{Gt, Lt},
    *,
};

#[test]
fn values_are_compared_as_whole_numbers() {
    let tolerates = |operator: TolerationOperator, tolerated: &str, of_taint: &str| {
        let taint = Taint {
            key: "sla".to_owned(),
            value: of_taint.to_owned(),
            effect: TaintEffect::NoSchedule,
        };
        let toleration = Toleration {
            key: "sla".to_owned(),
            operator,
            value: tolerated.to_owned(),
            effect: None,
        };
        toleration.tolerates(&taint)
    };
    assert!(tolerates(Gt, "900", "950") && !tolerates(Lt, "900", "950"));
    assert!(tolerates(Lt, "-1", "-20") && !tolerates(Gt, "-1", "-20"));
    assert!(!tolerates(Gt, "950", "950") && !tolerates(Lt, "950", "950"));
    // By size, not by letters; and what is no number of Kubernetes' is never tolerated.
    assert!(tolerates(Gt, "9", "10"));
    for of_taint in ["", "ten", "+10", "010", "-0", "10.5", "9223372036854775808"] {
        assert!(!tolerates(Gt, "9", of_taint) && !tolerates(Lt, "99", of_taint), "{of_taint}");
    }
}

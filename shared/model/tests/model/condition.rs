//! Status conditions: what controllers say about an object, with Karpenter's words.

use model::condition::*;

#[test]
fn every_kind_is_known_by_its_text() {
    for kind in ConditionKind::ALL {
        assert_eq!(ConditionKind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(ConditionKind::parse("MemoryPressure"), None);
}

#[test]
fn what_is_not_ready_says_why_short_and_in_detail() {
    let untrue = |kind: &str, message: &str| Untrue {
        kind: kind.to_owned(),
        is_false: true,
        reason: "SubnetsNotFound".to_owned(),
        message: message.to_owned(),
    };
    let subnets = untrue("SubnetsReady", "");
    let ready = Some(untrue("Ready", "SubnetsReady=False"));
    let both = NotReady::Conditions { ready, others: vec![subnets.clone()] };
    assert_eq!(both.to_string(), "Ready is False: SubnetsReady=False");
    assert_eq!(both.in_detail(), "condition SubnetsReady is not true: SubnetsNotFound");
    let missing = NotReady::Conditions { ready: None, others: vec![subnets] };
    assert_eq!(missing.to_string(), "it has no condition Ready");
    assert_eq!(NotReady::ready(false, "why").to_string(), "Ready is Unknown: why");
    assert_eq!(NotReady::ready(true, "why").in_detail(), "condition Ready is not true: why");
    assert_eq!(NotReady::Stale.in_detail(), NotReady::Stale.to_string());
}

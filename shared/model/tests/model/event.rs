//! Events of Kubernetes: what people and tools read beside an object, by Karpenter's names.

use jiff::SignedDuration;
use model::{NodeName, event::*};

#[test]
fn a_message_is_as_long_as_an_event_may_be() {
    let node: NodeName = "one".parse().unwrap();
    let long = "ä".repeat(2_000);
    let event = ObjectEvent::new(EventObject::Node(node), EventReason::FailedDraining, &long);
    assert_eq!(event.message.chars().count(), MESSAGE_CHARS_MAX);
}

#[test]
fn every_reason_is_named_once_and_said_again_no_sooner_than_karpenter_says_it() {
    let names: std::collections::BTreeSet<&str> =
        EventReason::ALL.into_iter().map(EventReason::as_str).collect();
    assert_eq!(names.len(), EventReason::ALL.len());
    let least = SignedDuration::from_mins(2);
    assert!(EventReason::ALL.into_iter().all(|reason| least <= reason.said_for()));
    let hour = SignedDuration::from_hours(1);
    assert_eq!(EventReason::InvalidDoNotDisruptAnnotation.said_for(), hour);
}

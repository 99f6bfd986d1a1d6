//! Events of Kubernetes: what people and tools read beside an object, by Karpenter's names.

use jiff::SignedDuration;
use model::{NodeName, event::*};

#[test]
fn a_message_is_as_long_as_an_event_may_be() {
    let node: NodeName = "one".parse().unwrap();
    let long = "ä".repeat(2_000);
    let event = ObjectEvent::new(EventObject::Node(node), EventReason::FailedDraining, &long);
    assert_eq!(event.message.len(), MESSAGE_BYTES_MAX);
}

#[test]
fn an_ending_shortens_the_message_before_it() {
    let node: NodeName = "one".parse().unwrap();
    let about = || EventObject::Node(node.clone());
    let mut event = ObjectEvent::new(about(), EventReason::FailedScheduling, "short");
    event.append("; end");
    assert_eq!(event.message, "short; end");
    let mut event = ObjectEvent::new(about(), EventReason::FailedScheduling, "ä".repeat(500));
    event.append(&"e".repeat(25));
    assert_eq!(event.message, format!("{}…{}", "ä".repeat(498), "e".repeat(25)));
    assert!(event.message.len() <= MESSAGE_BYTES_MAX);
    event.append(&"ö".repeat(2_000));
    assert!(event.message.starts_with('…') && event.message.ends_with('ö'), "{}", event.message);
    assert!(event.message.len() <= MESSAGE_BYTES_MAX);
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

//! How lines are folded.

use model::{HourlyPrice, InstanceId, InstanceTypeName, NodeName, OfferingKey, PodKey, Zone};
use simulator::Happening;

use super::*;

fn at(second: i64, happening: Happening) -> TimelineEvent {
    TimelineEvent { at: Timestamp::from_second(second).unwrap(), happening }
}

fn pod(name: &str) -> PodKey {
    PodKey {
        namespace: model::Namespace::new("default").unwrap(),
        name: model::ObjectName::new(name).unwrap(),
    }
}

fn node(number: i64) -> NodeName {
    NodeName::new(&format!("ip-{number}")).unwrap()
}

fn launched(second: i64, number: i64, kind: &str) -> TimelineEvent {
    let offering = OfferingKey {
        capacity_type: model::CapacityType::Spot,
        instance_type: InstanceTypeName::new(kind).unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
    };
    let instance = InstanceId::new(&format!("i-{number:017x}")).unwrap();
    let price = HourlyPrice::parse_dollars("0.03").unwrap();
    at(second, Happening::InstanceLaunched { instance, offering, price })
}

#[track_caller]
fn check(events: Vec<TimelineEvent>, minutes: i64, lines: &[&str]) {
    let start = Timestamp::UNIX_EPOCH;
    let mut timeline = Timeline::new(start, false);
    timeline.add(events, &[]);
    let end = Timestamp::from_second(minutes * 60).unwrap();
    assert_eq!(timeline.lines(end), lines);
}

#[test]
fn w4_fifteen_launches_are_one_line_that_says_what_they_have_in_common() {
    check(
        (1..=15).map(|number| launched(number, number, "m7g.large")).collect(),
        5,
        &["+00:00:01 15 instances launched (i-00000000000000001, …): spot m7g.large us-west-2a, \
           $0.0300 an hour (until 00:00:15)"],
    );
    // What they do not share is counted, the most frequent first.
    let kinds = ["m7g.large", "c7g.large", "c7g.large", "r7g.large", "c6g.large", "m6g.large"];
    let events = (1..).zip(kinds).map(|(number, kind)| launched(1, number, kind));
    check(
        events.collect(),
        5,
        &["+00:00:01 6 instances launched (i-00000000000000001, …): 2 spot c7g.large us-west-2a, \
           $0.0300 an hour; 1 spot c6g.large us-west-2a, $0.0300 an hour; 1 spot m6g.large us-west-2a, \
           $0.0300 an hour; 2 of 2 other kinds"],
    );
}

#[test]
fn w4_one_of_a_kind_is_said_as_it_is_and_what_comes_later_is_said_again() {
    let ready = |second, number| at(second, Happening::NodeReady { node: node(number) });
    check(
        vec![ready(1, 1), ready(30, 2), ready(90, 3), ready(600, 4)],
        5,
        &[
            "+00:00:01 2 nodes ready (ip-1, ip-2) (until 00:00:30)",
            "+00:01:30 node ip-3 ready",
            "+00:10:00 node ip-4 ready",
        ],
    );
    // In a day more is together.
    check(
        vec![ready(1, 1), ready(30, 2), ready(90, 3), ready(600, 4)],
        24 * 60,
        &["+00:00:01 4 nodes ready (ip-1, …) (until 00:10:00)"],
    );
}

#[test]
fn w4_pods_are_counted_by_workload_and_by_node() {
    let bound = |second, name: &str, number| {
        at(second, Happening::PodBound { pod: pod(name), node: node(number) })
    };
    check(
        vec![bound(1, "a", 1), bound(1, "b", 1), bound(2, "b", 2)],
        5,
        &["+00:00:01 3 pods bound to 2 nodes: 2 default/b; 1 default/a (until 00:00:02)"],
    );
    check(vec![bound(1, "a", 1)], 5, &["+00:00:01 1 pod bound to ip-1: default/a"]);
}

#[test]
fn everything_is_there_when_it_is_asked_for() {
    let start = Timestamp::UNIX_EPOCH;
    let mut timeline = Timeline::new(start, true);
    timeline.add((1..=15).map(|number| launched(number, number, "m7g.large")).collect(), &[]);
    assert_eq!(timeline.lines(start).len(), 15);
    assert_eq!(timeline.json().len(), 15);
}

#[test]
fn nodes_that_stay_for_one_reason_are_one_line() {
    let of = |what: Option<&str>, why: &str| Rejected {
        what: what.map(str::to_owned),
        why: why.to_owned(),
        ..Rejected::default()
    };
    let rejecteds = [
        of(Some("a"), "pod x: it stays"),
        of(Some("b"), "it is not initialized"),
        of(None, "a NodeClaim has no instance yet: nothing is decided until it has"),
        of(Some("c"), "it is not initialized"),
    ];
    let lines = staying(Timestamp::UNIX_EPOCH, rejecteds.iter());
    assert_eq!(
        lines.iter().map(Line::show).collect::<Vec<_>>(),
        [
            // Not a node called `a NodeClaim has no instance yet`.
            "a NodeClaim has no instance yet: nothing is decided until it has",
            "2 nodes stay (b, …): it is not initialized",
            "a stays: pod x: it stays",
        ]
    );
}

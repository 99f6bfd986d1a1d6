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
        of(Some("b"), "not initialized"),
        of(None, "nothing is disrupted while a NodeClaim has no instance"),
        of(Some("c"), "not initialized"),
    ];
    let lines = staying(Timestamp::UNIX_EPOCH, rejecteds.iter());
    assert_eq!(
        lines.iter().map(Line::show).collect::<Vec<_>>(),
        [
            // Not a node called `a NodeClaim has no instance yet`.
            "2 nodes not disrupted (b, …): not initialized",
            "nothing is disrupted while a NodeClaim has no instance",
            "a not disrupted: pod x: it stays",
        ]
    );
}

#[test]
fn numbers_of_sentences_that_are_folded_are_summed_up() {
    let start = Timestamp::UNIX_EPOCH;
    let mut timeline = Timeline::new(start, false);
    let sentence = |second, text: &str| {
        Line::of_sentence(Timestamp::from_second(second).unwrap(), "Decided", text.to_owned())
    };
    timeline.done = vec![
        sentence(1, "provision: general: 1 node for 1 pod, from $0.0850 an hour"),
        sentence(2, "provision: general: 12 nodes for 1,100 pods, from $1.5 an hour"),
        sentence(3, "disrupt: drift: 1 node for 1 new node, $1.2240 to $1.2240 an hour"),
        sentence(4, "disrupt: drift: ip-1, ip-2 can go, 1 pod fits elsewhere"),
        sentence(5, "disrupt: drift: ip-3 can go, 0 pods fit elsewhere"),
        sentence(6, "disrupt: drift: nothing to disrupt"),
        sentence(7, "disrupt: drift: nothing to disrupt"),
        sentence(8, "disrupt: emptiness: 1 node is disrupted, $0.1 an hour"),
        sentence(9, "disrupt: emptiness: 1 node is disrupted, $0.1 an hour"),
        sentence(10, "disrupt: emptiness: 2 nodes are disrupted, $0.2 an hour"),
    ];
    let end = Timestamp::from_second(300).unwrap();
    assert_eq!(
        timeline.lines(end),
        [
            "+00:00:01 provision: general: 13 nodes for 1,101 pods, from $1.5850 an hour in 2 steps (until \
             00:00:02)",
            "+00:00:03 disrupt: drift: 1 node for 1 new node, $1.2240 to $1.2240 an hour",
            "+00:00:04 disrupt: drift: … can go, 1 pod fits elsewhere in 2 steps (until 00:00:05)",
            "+00:00:06 disrupt: drift: nothing to disrupt (×2) (until 00:00:07)",
            "+00:00:08 disrupt: emptiness: 4 nodes are disrupted, $0.4 an hour in 3 steps (until 00:00:10)",
        ]
    );
}

#[test]
fn workloads_that_are_scaled_keep_their_numbers() {
    let scaled = |second, name: &str, replicas| {
        at(second, Happening::WorkloadScaled { workload: pod(name), replicas })
    };
    check(
        vec![scaled(1, "web-1", 5), scaled(2, "web-2", 5), scaled(3, "web-1", 7)],
        5,
        &[
            "+00:00:01 2 workloads scaled (default/web-1, default/web-2): to 5 pods (until 00:00:02)",
            "+00:00:03 default/web-1 wants 7 pods",
        ],
    );
}

#[test]
fn a_call_that_fails_is_a_line() {
    let failed = |second| {
        let error = "list pods: the API server is away".to_owned();
        at(second, Happening::CallFailed { function: Function::Provision, error })
    };
    check(
        vec![failed(1)],
        5,
        &["+00:00:01 a call of provision failed: list pods: the API server is away"],
    );
    check(
        vec![failed(1), failed(4)],
        5,
        &[
            "+00:00:01 2 calls failed: provision: list pods: the API server is away (until 00:00:04)",
        ],
    );
}

//! When a node is ill for so long that it is replaced: the policies of Karpenter's provider for AWS.

use jiff::{SignedDuration, Timestamp};
use model::{
    node::{IllCondition, IllStatus},
    repair::*,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn condition(kind: &str, status: IllStatus, reason: &str, since: &str) -> IllCondition {
    let (kind, reason) = (kind.to_owned(), reason.to_owned());
    IllCondition { kind, status, reason, since: Some(at(since)) }
}

#[track_caller]
fn check(conditions: &[IllCondition], now: &str, expected: Option<(&str, &str, i64)>) {
    let due = due(conditions, at("2026-08-01T09:00:00Z"), at(now));
    let told = due.as_ref().map(|due| (due.condition.as_str(), due.since, due.drain));
    let expected = expected.map(|(condition, since, minutes)| {
        (condition, at(since), SignedDuration::from_mins(minutes))
    });
    assert_eq!(told, expected);
}

#[test]
fn a_condition_is_due_once_it_lasted_as_long_as_is_tolerated() {
    let not_ready =
        [condition("Ready", IllStatus::Unknown, "NodeStatusUnknown", "2026-08-01T11:00:00Z")];
    check(&not_ready, "2026-08-01T11:29:59Z", None);
    let expected = Some(("Ready", "2026-08-01T11:30:00Z", 10));
    check(&not_ready, "2026-08-01T11:30:00Z", expected);
    // What it says of the time before the node was there is nothing about the node.
    let older = [condition("Ready", IllStatus::False, "", "2026-08-01T01:00:00Z")];
    check(&older, "2026-08-01T09:29:59Z", None);
}

#[test]
fn errors_of_accelerators_are_due_sooner_and_all_others_as_ever() {
    let hardware = |reason: &str| {
        let kind = "AcceleratedHardwareReady";
        [condition(kind, IllStatus::False, reason, "2026-08-01T11:00:00Z")]
    };
    let soon = Some(("AcceleratedHardwareReady", "2026-08-01T11:10:00Z", 5));
    for reason in ["NvidiaXID74Error", "XID46", "aXID156b"] {
        check(&hardware(reason), "2026-08-01T11:10:00Z", soon);
    }
    let late = Some(("AcceleratedHardwareReady", "2026-08-01T11:30:00Z", 10));
    check(&hardware("NeuronSRAMUncorrectableError"), "2026-08-01T11:29:59Z", None);
    check(&hardware("NeuronSRAMUncorrectableError"), "2026-08-01T11:30:00Z", late);
}

#[test]
fn conditions_and_statuses_that_no_policy_is_about_are_never_due() {
    for (kind, status) in [
        ("DiskPressure", IllStatus::False),
        ("StorageReady", IllStatus::Unknown),
        ("AcceleratedHardwareReady", IllStatus::Unknown),
    ] {
        let ill = [condition(kind, status, "NvidiaXID79Error", "2026-08-01T10:00:00Z")];
        check(&ill, "2026-08-03T10:00:00Z", None);
    }
}

#[test]
fn of_several_the_longest_due_counts_and_the_shortest_drain() {
    let both = [
        condition("AcceleratedHardwareReady", IllStatus::False, "XID79", "2026-08-01T11:45:00Z"),
        condition("StorageReady", IllStatus::False, "IODelays", "2026-08-01T10:00:00Z"),
    ];
    check(&both, "2026-08-01T12:00:00Z", Some(("StorageReady", "2026-08-01T10:30:00Z", 5)));
    let unknown = [condition("Storage", IllStatus::False, "", "2026-08-01T10:00:00Z")];
    check(&unknown, "2026-08-02T12:00:00Z", None);
}

#[test]
fn a_reboot_is_enough_only_where_nothing_asks_for_more() {
    let of = |errors: &[(&str, &str)]| {
        let ill = |(kind, reason): &(&str, &str)| {
            condition(kind, IllStatus::False, reason, "2026-08-01T10:00:00Z")
        };
        let conditions: Vec<IllCondition> = errors.iter().map(ill).collect();
        let (created, now) = (at("2026-08-01T09:00:00Z"), at("2026-08-01T12:00:00Z"));
        due(&conditions, created, now).map(|due| due.action)
    };
    let hardware = "AcceleratedHardwareReady";
    assert_eq!(of(&[(hardware, "NvidiaXID48Error")]), Some(RepairAction::Reboot));
    assert_eq!(of(&[(hardware, "NvidiaXID79Error")]), Some(RepairAction::Replace));
    assert_eq!(of(&[(hardware, "NvidiaDCGMError")]), Some(RepairAction::Replace));
    let both = [(hardware, "NvidiaXID48Error"), ("KernelReady", "ForkFailed")];
    assert_eq!(of(&both), Some(RepairAction::Replace));
}

//! Conditions: what controllers say about an object, and the roll-up `Ready`.

use api::karpenter::{
    common::ConditionEntry,
    conditions::{About, NODE_POOL, updated},
};
use model::{Condition as Found, ConditionKind, ConditionReason, node_pool::ClassReadiness};

fn validation() -> Found {
    Found::holds(ConditionKind::ValidationSucceeded)
}

const BORN: &str = "2026-08-01T12:00:00Z";
const LATER: &str = "2026-08-01T13:00:00Z";
const LATEST: &str = "2026-08-01T14:00:00Z";

fn about(generation: i64) -> About {
    About { generation, created_at: BORN.parse().unwrap(), is_deleting: false }
}

fn pool(
    stored: &[ConditionEntry],
    conditions: &[Found],
    generation: i64,
    now: &str,
) -> Vec<ConditionEntry> {
    updated(stored, conditions, NODE_POOL, about(generation), now.parse().unwrap())
}

/// `Type=Status Reason since`, one each.
fn words(conditions: &[ConditionEntry]) -> Vec<String> {
    let word = |c: &ConditionEntry| {
        format!("{}={} {} {}", c.kind, c.status.as_str(), c.reason, c.last_transition_time)
    };
    conditions.iter().map(word).collect()
}

#[test]
fn a_new_object_awaits_everything_since_it_was_made() {
    let texts = words(&pool(&[], &[], 1, LATER));
    assert_eq!(
        texts,
        [
            "ValidationSucceeded=Unknown AwaitingReconciliation 2026-08-01T12:00:00Z",
            "NodeClassReady=Unknown AwaitingReconciliation 2026-08-01T12:00:00Z",
            "Ready=Unknown ReconcilingDependents 2026-08-01T12:00:00Z",
        ]
    );
}

#[test]
fn ready_needs_all_and_says_who_fails() {
    let right = [validation(), Found::holds(ConditionKind::NodeClassReady)];
    let ready = pool(&[], &right, 1, LATER);
    assert_eq!(words(&ready)[2], "Ready=True Ready 2026-08-01T13:00:00Z");
    let gone = pool(&ready, &[ClassReadiness::NotFound.condition()], 1, LATEST);
    assert_eq!(words(&gone)[2], "Ready=False UnhealthyDependents 2026-08-01T14:00:00Z");
    assert_eq!(gone[2].message, "NodeClassReady=False");
}

#[test]
fn a_time_moves_only_with_its_status() {
    let reason = ConditionReason::NodePoolValidationFailed;
    let kind = ConditionKind::ValidationSucceeded;
    let wrong = |problem: &str| [Found::fails(kind, reason.clone(), problem)];
    let first = pool(&[], &wrong("one"), 1, LATER);
    let second = pool(&first, &wrong("other"), 1, LATEST);
    let of = |conditions: &[ConditionEntry]| {
        let condition = conditions.iter().find(|c| c.is(ConditionKind::ValidationSucceeded));
        condition.cloned().unwrap()
    };
    assert_eq!(of(&second).message, "other");
    assert_eq!(of(&second).last_transition_time, LATER);
    assert_eq!(pool(&second, &wrong("other"), 1, LATEST), second);
}

#[test]
fn what_was_said_about_another_spec_does_not_make_ready() {
    let right = [validation(), Found::holds(ConditionKind::NodeClassReady)];
    let ready = pool(&[], &right, 1, LATER);
    let changed = pool(&ready, &[validation()], 2, LATEST);
    assert_eq!(words(&changed)[2], "Ready=Unknown ReconcilingDependents 2026-08-01T14:00:00Z");
    assert_eq!(changed[2].message, "NodeClassReady=True");
}

#[test]
fn a_pool_repeats_what_its_class_says() {
    let reason = ConditionReason::UnhealthyDependents;
    let message = "SubnetsReady=False".to_owned();
    let condition = ClassReadiness::NotReady { reason, message }.condition();
    assert_eq!(
        (condition.status, condition.reason.as_str(), condition.message.as_str()),
        (Some(false), "UnhealthyDependents", "SubnetsReady=False")
    );
    for (class, reason) in [
        (ClassReadiness::NotFound, ConditionReason::NodeClassNotFound),
        (ClassReadiness::Terminating, ConditionReason::NodeClassTerminating),
        (ClassReadiness::Unknown, ConditionReason::NodeClassReadinessUnknown),
    ] {
        let condition = class.condition();
        assert_eq!((condition.status, condition.reason), (Some(false), reason), "{class:?}");
    }
}

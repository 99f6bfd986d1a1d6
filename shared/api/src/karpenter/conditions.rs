//! Conditions: what controllers say about an object, and the roll-up `Ready`.
//!
//! Pure: what is stored and what is found now give what is to be stored. Nothing is written where
//! nothing changed: a time moves only with its status.
//!
//! Karpenter: `github.com/awslabs/operatorpkg/status`, `ConditionSet`;
//! `pkg/controllers/nodepool/{readiness,validation}`.

use jiff::{Timestamp, Unit};
use model::{Condition as Found, ConditionKind, ConditionReason};

use super::common::{Condition, ConditionStatus, OptionalReason};

/// Which conditions make a kind `Ready`: all of them must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependents(pub(crate) &'static [ConditionKind]);

/// NodePools.
pub(crate) const NODE_POOL: Dependents =
    Dependents(&[ConditionKind::ValidationSucceeded, ConditionKind::NodeClassReady]);
/// NodeClaims.
pub(crate) const NODE_CLAIM: Dependents =
    Dependents(&[ConditionKind::Launched, ConditionKind::Registered, ConditionKind::Initialized]);
/// EC2NodeClasses, with the gate ReservedCapacity.
pub(crate) const NODE_CLASS: Dependents = Dependents(&[
    ConditionKind::AmisReady,
    ConditionKind::SubnetsReady,
    ConditionKind::SecurityGroupsReady,
    ConditionKind::InstanceProfileReady,
    ConditionKind::PlacementGroupReady,
    ConditionKind::CapacityReservationsReady,
    ConditionKind::ValidationSucceeded,
]);

/// What is known of the object that the conditions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// `metadata.generation`: which spec was looked at.
    pub(crate) generation: i64,
    /// `metadata.creationTimestamp`.
    pub(crate) created_at: Timestamp,
    /// Whether it is being deleted: then nobody looks at every aspect any more.
    pub(crate) is_deleting: bool,
}

/// `stored` with what is found now and the roll-up that follows: the oldest first, `Ready` last.
pub(crate) fn updated(
    stored: &[Condition],
    conditions: &[Found],
    dependents: Dependents,
    about: About,
    now: Timestamp,
) -> Vec<Condition> {
    let mut set = Set { conditions: stored.to_vec(), dependents, about, now };
    for kind in [ConditionKind::Ready].iter().chain(dependents.0) {
        if set.conditions.iter().all(|condition| !condition.is(*kind)) {
            set.put(&Found::awaits(*kind));
        }
    }
    for condition in conditions {
        set.put(condition);
    }
    set.put(&set.root());
    set.conditions
}

struct Set {
    conditions: Vec<Condition>,
    dependents: Dependents,
    about: About,
    now: Timestamp,
}

impl Set {
    fn put(&mut self, found: &Found) {
        let status = ConditionStatus::of(found.status);
        let About { generation, created_at, is_deleting } = self.about;
        let place = self.conditions.iter().position(|known| known.is(found.kind));
        let old = place.map(|place| self.conditions.remove(place));
        let is_dependent =
            found.kind == ConditionKind::Ready || self.dependents.0.contains(&found.kind);
        let changed_at = match &old {
            Some(old) if old.status == status => old.last_transition_time.clone(),
            // What is always there began with the object.
            None if is_dependent => shown(created_at),
            _ => shown(self.now),
        };
        if is_deleting {
            for other in &mut self.conditions {
                other.observed_generation = Some(generation);
            }
        }
        self.conditions.push(Condition {
            kind: found.kind.to_string(),
            status,
            reason: found.reason.to_string(),
            message: found.message.clone(),
            last_transition_time: changed_at,
            observed_generation: Some(generation),
        });
        self.conditions.sort_by(|left, other| {
            let is_root = |condition: &Condition| condition.is(ConditionKind::Ready);
            is_root(left).cmp(&is_root(other)).then_with(|| time_of(left).cmp(&time_of(other)))
        });
    }

    /// True if all dependents are true for this generation; false as soon as one is false for it.
    fn root(&self) -> Found {
        let generation = Some(self.about.generation);
        let mut unhealthy: Vec<_> = self
            .conditions
            .iter()
            .filter(|condition| self.dependents.0.iter().any(|kind| condition.is(*kind)))
            .filter(|condition| {
                condition.status != ConditionStatus::True
                    || condition.observed_generation != generation
            })
            .collect();
        if unhealthy.is_empty() {
            return Found::holds(ConditionKind::Ready);
        }
        unhealthy.sort_by_key(|condition| std::cmp::Reverse(time_of(condition)));
        let is_false = unhealthy.iter().any(|condition| {
            condition.status == ConditionStatus::False
                && condition.observed_generation == generation
        });
        let words: Vec<_> = unhealthy
            .iter()
            .map(|condition| format!("{}={}", condition.kind, condition.status.as_str()))
            .collect();
        if is_false {
            Found::fails(
                ConditionKind::Ready,
                ConditionReason::UnhealthyDependents,
                words.join(", "),
            )
        } else {
            let reason = ConditionReason::ReconcilingDependents;
            Found::unknown(ConditionKind::Ready, reason, words.join(", "))
        }
    }
}

/// Times in objects have whole seconds.
pub(super) fn shown(at: Timestamp) -> String {
    at.round(Unit::Second).unwrap_or(at).to_string()
}

fn time_of(condition: &Condition) -> Timestamp {
    condition.last_transition_time.parse().unwrap_or(Timestamp::MIN)
}

impl From<Condition> for OptionalReason {
    fn from(condition: Condition) -> Self {
        let Condition { kind, status, reason, message, last_transition_time, observed_generation } =
            condition;
        Self {
            kind,
            status,
            reason: Some(reason),
            message: Some(message),
            last_transition_time,
            observed_generation,
        }
    }
}

impl From<OptionalReason> for Condition {
    fn from(condition: OptionalReason) -> Self {
        let OptionalReason {
            kind,
            status,
            reason,
            message,
            last_transition_time,
            observed_generation,
        } = condition;
        Self {
            kind,
            status,
            reason: reason.unwrap_or_default(),
            message: message.unwrap_or_default(),
            last_transition_time,
            observed_generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::node_pool::ClassReadiness;

    use super::*;

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
        stored: &[Condition],
        conditions: &[Found],
        generation: i64,
        now: &str,
    ) -> Vec<Condition> {
        updated(stored, conditions, NODE_POOL, about(generation), now.parse().unwrap())
    }

    /// `Type=Status Reason since`, one each.
    fn words(conditions: &[Condition]) -> Vec<String> {
        let word = |c: &Condition| {
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
        let of = |conditions: &[Condition]| {
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
}

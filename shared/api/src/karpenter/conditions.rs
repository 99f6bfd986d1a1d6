//! Conditions: what controllers say about an object, and the roll-up `Ready`.
//!
//! Pure: what is stored and what is found now give what is to be stored. Nothing is written where
//! nothing changed: a time moves only with its status.
//!
//! Karpenter: `github.com/awslabs/operatorpkg/status`, `ConditionSet`;
//! `pkg/controllers/nodepool/{readiness,validation}`.

use jiff::{Timestamp, Unit};
use model::{Condition as Found, ConditionKind, ConditionReason};

use super::common::{ConditionEntry, ConditionStatus, OptionalReason};

/// Which conditions make a kind `Ready`: all of them must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependents(pub &'static [ConditionKind]);

/// NodePools.
pub const NODE_POOL: Dependents =
    Dependents(&[ConditionKind::ValidationSucceeded, ConditionKind::NodeClassReady]);
/// NodeClaims.
pub const NODE_CLAIM: Dependents =
    Dependents(&[ConditionKind::Launched, ConditionKind::Registered, ConditionKind::Initialized]);
/// EC2NodeClasses, with the gate ReservedCapacity.
pub const NODE_CLASS: Dependents = Dependents(&[
    ConditionKind::AmisReady,
    ConditionKind::SubnetsReady,
    ConditionKind::SecurityGroupsReady,
    ConditionKind::InstanceProfileReady,
    ConditionKind::PlacementGroupReady,
    ConditionKind::CapacityReservationsReady,
    ConditionKind::ValidationSucceeded,
]);

/// NodeOverlays.
pub const NODE_OVERLAY: Dependents = Dependents(&[ConditionKind::ValidationSucceeded]);

/// What is known of the object that the conditions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// Whether it is being deleted: then not every aspect is checked any more.
    pub is_deleting: bool,
}

/// `stored` with what is found now and the roll-up that follows: the oldest first, `Ready` last.
pub fn updated(
    stored: &[ConditionEntry],
    conditions: &[Found],
    dependents: Dependents,
    about: About,
    now: Timestamp,
) -> Vec<ConditionEntry> {
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

/// `stored` with what is found now, of a kind without the roll-up `Ready`.
pub fn replaced(
    stored: &[ConditionEntry],
    conditions: &[Found],
    about: About,
    now: Timestamp,
) -> Vec<ConditionEntry> {
    let mut set = Set { conditions: stored.to_vec(), dependents: Dependents(&[]), about, now };
    for condition in conditions {
        set.put(condition);
    }
    set.conditions
}

struct Set {
    conditions: Vec<ConditionEntry>,
    dependents: Dependents,
    about: About,
    now: Timestamp,
}

impl Set {
    fn put(&mut self, found: &Found) {
        let status = ConditionStatus::of(found.status);
        let About { generation, created_at, is_deleting } = self.about;
        let place = self.conditions.iter().position(|entry| entry.is(found.kind));
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
        self.conditions.push(ConditionEntry {
            kind: found.kind.to_string(),
            status,
            reason: found.reason.to_string(),
            message: found.message.clone(),
            last_transition_time: changed_at,
            observed_generation: Some(generation),
        });
        self.conditions.sort_by(|left, other| {
            let is_root = |condition: &ConditionEntry| condition.is(ConditionKind::Ready);
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

fn time_of(condition: &ConditionEntry) -> Timestamp {
    condition.last_transition_time.parse().unwrap_or(Timestamp::MIN)
}

impl From<ConditionEntry> for OptionalReason {
    fn from(condition: ConditionEntry) -> Self {
        let ConditionEntry {
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
            reason: Some(reason),
            message: Some(message),
            last_transition_time,
            observed_generation,
        }
    }
}

impl From<OptionalReason> for ConditionEntry {
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

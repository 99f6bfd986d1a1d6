//! Conditions: what controllers say about an object, and the roll-up `Ready`.
//!
//! Pure: what is stored and what is found now give what is to be stored. Nothing is written where
//! nothing changed: a time moves only with its status.
//!
//! Karpenter: `github.com/awslabs/operatorpkg/status`, `ConditionSet`;
//! `pkg/controllers/nodepool/{readiness,validation}`.

use jiff::{Timestamp, Unit};

use super::{Condition, ConditionStatus, OptionalReason};

/// The roll-up of every kind.
const READY: &str = "Ready";

/// Which conditions make a kind `Ready`: all of them must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependents(pub &'static [&'static str]);

/// NodePools.
pub const NODE_POOL: Dependents = Dependents(&["ValidationSucceeded", "NodeClassReady"]);
/// NodeClaims.
pub const NODE_CLAIM: Dependents = Dependents(&["Launched", "Registered", "Initialized"]);
/// EC2NodeClasses, with the gate ReservedCapacity.
pub const NODE_CLASS: Dependents = Dependents(&[
    "AMIsReady",
    "SubnetsReady",
    "SecurityGroupsReady",
    "InstanceProfileReady",
    "PlacementGroupReady",
    "CapacityReservationsReady",
    "ValidationSucceeded",
]);

/// What is known of the object that the conditions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// Whether it is being deleted: then nobody looks at every aspect any more.
    pub is_deleting: bool,
}

/// One aspect as it is found now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The condition's type.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words for people.
    pub message: String,
}

impl Finding {
    /// It holds.
    pub fn holds(kind: &'static str) -> Self {
        let (reason, message) = (kind.to_owned(), String::new());
        Self { kind, status: ConditionStatus::True, reason, message }
    }

    /// It does not hold.
    pub fn fails(kind: &'static str, reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self { kind, status: ConditionStatus::False, reason, message }
    }

    /// Nobody has looked yet.
    pub fn awaits(kind: &'static str) -> Self {
        Self {
            kind,
            status: ConditionStatus::Unknown,
            reason: "AwaitingReconciliation".to_owned(),
            message: "object is awaiting reconciliation".to_owned(),
        }
    }
}

/// Whether a NodePool is right by Karpenter's own validation; `problems` are all that is wrong.
pub fn validation(problems: &[String]) -> Finding {
    if problems.is_empty() {
        return Finding::holds("ValidationSucceeded");
    }
    Finding::fails("ValidationSucceeded", "NodePoolValidationFailed", problems.join("; "))
}

/// The EC2NodeClass of a NodePool, as far as its readiness goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeClassState<'a> {
    /// There is none.
    NotFound,
    /// It is being deleted.
    Terminating,
    /// It is there, with this `Ready` if it has one.
    Found(Option<&'a Condition>),
}

/// What a NodePool says about its EC2NodeClass.
pub fn node_class_ready(state: NodeClassState<'_>) -> Finding {
    let kind = "NodeClassReady";
    match state {
        NodeClassState::NotFound => {
            Finding::fails(kind, "NodeClassNotFound", "NodeClass not found on cluster")
        }
        NodeClassState::Terminating => {
            Finding::fails(kind, "NodeClassTerminating", "NodeClass is Terminating")
        }
        NodeClassState::Found(Some(ready)) if ready.status == ConditionStatus::True => {
            Finding::holds(kind)
        }
        NodeClassState::Found(Some(ready)) if ready.status == ConditionStatus::False => {
            Finding::fails(kind, &ready.reason, ready.message.clone())
        }
        NodeClassState::Found(_) => {
            Finding::fails(kind, "NodeClassReadinessUnknown", "Node Class Readiness Unknown")
        }
    }
}

/// `stored` with what is found now and the roll-up that follows: the oldest first, `Ready` last.
pub fn updated(
    stored: &[Condition],
    found: &[Finding],
    dependents: Dependents,
    about: About,
    now: Timestamp,
) -> Vec<Condition> {
    let mut set = Set { conditions: stored.to_vec(), dependents, about, now };
    for kind in [READY].iter().chain(dependents.0) {
        if set.conditions.iter().all(|condition| condition.kind != **kind) {
            set.put(&Finding::awaits(kind));
        }
    }
    for finding in found {
        set.put(finding);
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
    fn put(&mut self, finding: &Finding) {
        let About { generation, created_at, is_deleting } = self.about;
        let place = self.conditions.iter().position(|known| known.kind == finding.kind);
        let old = place.map(|place| self.conditions.remove(place));
        let is_dependent = finding.kind == READY || self.dependents.0.contains(&finding.kind);
        let changed_at = match &old {
            Some(old) if old.status == finding.status => old.last_transition_time.clone(),
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
            kind: finding.kind.to_owned(),
            status: finding.status,
            reason: finding.reason.clone(),
            message: finding.message.clone(),
            last_transition_time: changed_at,
            observed_generation: Some(generation),
        });
        self.conditions.sort_by(|one, other| {
            let is_root = |condition: &Condition| condition.kind == READY;
            is_root(one).cmp(&is_root(other)).then_with(|| time_of(one).cmp(&time_of(other)))
        });
    }

    /// True if all dependents are true for this generation; false as soon as one is false for it.
    fn root(&self) -> Finding {
        let generation = Some(self.about.generation);
        let mut unhealthy: Vec<_> = self
            .conditions
            .iter()
            .filter(|condition| self.dependents.0.contains(&condition.kind.as_str()))
            .filter(|condition| {
                condition.status != ConditionStatus::True
                    || condition.observed_generation != generation
            })
            .collect();
        if unhealthy.is_empty() {
            return Finding::holds(READY);
        }
        unhealthy.sort_by_key(|condition| std::cmp::Reverse(time_of(condition)));
        let is_false = unhealthy.iter().any(|condition| {
            condition.status == ConditionStatus::False
                && condition.observed_generation == generation
        });
        let (status, reason) = if is_false {
            (ConditionStatus::False, "UnhealthyDependents")
        } else {
            (ConditionStatus::Unknown, "ReconcilingDependents")
        };
        let words: Vec<_> = unhealthy
            .iter()
            .map(|condition| format!("{}={}", condition.kind, condition.status.as_str()))
            .collect();
        Finding { kind: READY, status, reason: reason.to_owned(), message: words.join(", ") }
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
    use super::*;

    const BORN: &str = "2026-08-01T12:00:00Z";
    const LATER: &str = "2026-08-01T13:00:00Z";
    const LATEST: &str = "2026-08-01T14:00:00Z";

    fn about(generation: i64) -> About {
        About { generation, created_at: BORN.parse().unwrap(), is_deleting: false }
    }

    fn pool(stored: &[Condition], found: &[Finding], generation: i64, now: &str) -> Vec<Condition> {
        updated(stored, found, NODE_POOL, about(generation), now.parse().unwrap())
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
        let found = words(&pool(&[], &[], 1, LATER));
        assert_eq!(
            found,
            [
                "ValidationSucceeded=Unknown AwaitingReconciliation 2026-08-01T12:00:00Z",
                "NodeClassReady=Unknown AwaitingReconciliation 2026-08-01T12:00:00Z",
                "Ready=Unknown ReconcilingDependents 2026-08-01T12:00:00Z",
            ]
        );
    }

    #[test]
    fn ready_needs_all_and_says_who_fails() {
        let right = [validation(&[]), Finding::holds("NodeClassReady")];
        let ready = pool(&[], &right, 1, LATER);
        assert_eq!(words(&ready)[2], "Ready=True Ready 2026-08-01T13:00:00Z");
        let gone = pool(&ready, &[node_class_ready(NodeClassState::NotFound)], 1, LATEST);
        assert_eq!(words(&gone)[2], "Ready=False UnhealthyDependents 2026-08-01T14:00:00Z");
        assert_eq!(gone[2].message, "NodeClassReady=False");
    }

    #[test]
    fn a_time_moves_only_with_its_status() {
        let wrong = |problem: &str| [validation(&[problem.to_owned()])];
        let first = pool(&[], &wrong("one"), 1, LATER);
        let second = pool(&first, &wrong("other"), 1, LATEST);
        let of = |conditions: &[Condition]| {
            let found = conditions.iter().find(|c| c.kind == "ValidationSucceeded");
            found.cloned().unwrap()
        };
        assert_eq!(of(&second).message, "other");
        assert_eq!(of(&second).last_transition_time, LATER);
        assert_eq!(pool(&second, &wrong("other"), 1, LATEST), second);
    }

    #[test]
    fn what_was_said_about_another_spec_does_not_make_ready() {
        let right = [validation(&[]), Finding::holds("NodeClassReady")];
        let ready = pool(&[], &right, 1, LATER);
        let changed = pool(&ready, &[validation(&[])], 2, LATEST);
        assert_eq!(words(&changed)[2], "Ready=Unknown ReconcilingDependents 2026-08-01T14:00:00Z");
        assert_eq!(changed[2].message, "NodeClassReady=True");
    }

    #[test]
    fn a_pool_repeats_what_its_class_says() {
        let class = updated(
            &[],
            &[Finding::fails("SubnetsReady", "SubnetsNotFound", "SubnetSelector did not match")],
            NODE_CLASS,
            about(1),
            LATER.parse().unwrap(),
        );
        let ready = class.last();
        let finding = node_class_ready(NodeClassState::Found(ready));
        assert_eq!(
            (finding.status, finding.reason.as_str()),
            (ConditionStatus::False, "UnhealthyDependents")
        );
        assert!(finding.message.contains("SubnetsReady=False"), "{}", finding.message);
        let unknown = node_class_ready(NodeClassState::Found(None));
        assert_eq!(unknown.reason, "NodeClassReadinessUnknown");
    }
}

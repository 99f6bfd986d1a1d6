//! How the latest launches of a NodePool ended, as the ledger keeps it.
//!
//! Karpenter: `pkg/state/nodepoolhealth/tracker.go`, `pkg/controllers/nodepool/registrationhealth`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{ConditionReason, NodeClaimName};

/// Which spec of a NodePool and of its EC2NodeClass launches say something about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchedSpec {
    /// `metadata.uid` of the NodePool: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation` of the NodePool.
    pub generation: i64,
    /// That of its class; `None` while the class was not seen.
    pub class_generation: Option<i64>,
}

impl LaunchedSpec {
    /// Whether what is known of `other` says nothing about this one. An unseen class is no other one.
    fn differs(&self, other: &Self) -> bool {
        let classes = self.class_generation.zip(other.class_generation);
        self.uid != other.uid
            || self.generation != other.generation
            || classes.is_some_and(|(one_class, another)| one_class != another)
    }
}

/// Why a node did not join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationFailure {
    /// `RegistrationFailed` where it was launched, else why it was not.
    pub reason: ConditionReason,
    /// What people read.
    pub message: String,
}

/// How one launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationOutcome {
    /// Its claim: a claim ends once, however often that is reported.
    pub claim: NodeClaimName,
    /// When.
    pub at: Timestamp,
    /// Why its node did not join in time; `None` where it did.
    pub failure: Option<RegistrationFailure>,
}

/// How the latest launches of a NodePool ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registrations {
    /// The version of the record; 0 where there is none. Every write puts the next.
    pub version: u64,
    /// What they are about; `None` until the NodePool was seen.
    pub about: Option<LaunchedSpec>,
    /// What ended earlier was about another spec.
    pub since: Option<Timestamp>,
    /// The latest of them, oldest first.
    pub outcomes: Vec<RegistrationOutcome>,
}

impl Registrations {
    /// How many launches are remembered.
    ///
    /// Karpenter: `pkg/state/nodepoolhealth/tracker.go`, `BufferSize`.
    pub const REMEMBERED: usize = 4;
    /// This number of failures among them is too many, however few others there are.
    ///
    /// Karpenter: the same, `ThresholdFalse`: half of those that are remembered.
    pub const FAILURES_MAX: usize = 2;

    /// The same after `outcomes`, one version on; `None` where they say nothing new. Of one claim the last word
    /// stands, and a success after a failure: the claim did join.
    #[must_use]
    pub fn after(&self, outcomes: &[RegistrationOutcome]) -> Option<Self> {
        let mut latest: BTreeMap<&NodeClaimName, &RegistrationOutcome> =
            self.outcomes.iter().map(|outcome| (&outcome.claim, outcome)).collect();
        for outcome in outcomes.iter().filter(|outcome| self.since <= Some(outcome.at)) {
            let standing = latest.entry(&outcome.claim).or_insert(outcome);
            if standing.failure.is_some() && outcome.failure.is_none() {
                *standing = outcome;
            }
        }
        let mut latest: Vec<RegistrationOutcome> = latest.into_values().cloned().collect();
        latest.sort_by(|left, right| (left.at, &left.claim).cmp(&(right.at, &right.claim)));
        let forgotten = latest.len().saturating_sub(Self::REMEMBERED);
        latest.drain(..forgotten);
        (latest != self.outcomes).then(|| Self {
            version: self.version + 1,
            outcomes: latest,
            ..self.clone()
        })
    }

    /// The same as it is about `spec`, one version on; `None` where it is about that already. What is known of
    /// another spec is forgotten.
    #[must_use]
    pub fn renewed(&self, spec: &LaunchedSpec, now: Timestamp) -> Option<Self> {
        let version = self.version + 1;
        match &self.about {
            None => Some(Self { version, about: Some(spec.clone()), ..self.clone() }),
            Some(about) if about.differs(spec) => {
                let about = Some(spec.clone());
                Some(Self { version, about, since: Some(now), outcomes: Vec::new() })
            }
            Some(about) if about.class_generation.is_none() && spec.class_generation.is_some() => {
                Some(Self { version, about: Some(spec.clone()), ..self.clone() })
            }
            Some(_) => None,
        }
    }

    /// Whether new nodes can be expected to join; `None` where nothing says so yet: a failure alone does not.
    pub fn are_healthy(&self) -> Option<bool> {
        let failures = self.failures().count();
        if failures >= Self::FAILURES_MAX {
            return Some(false);
        }
        (failures < self.outcomes.len()).then_some(true)
    }

    /// Those that failed, oldest first.
    pub fn failures(&self) -> impl Iterator<Item = &RegistrationFailure> {
        self.outcomes.iter().filter_map(|outcome| outcome.failure.as_ref())
    }

    /// When it was written last, as far as it says.
    pub fn touched_at(&self) -> Option<Timestamp> {
        self.outcomes.iter().map(|outcome| outcome.at).chain(self.since).max()
    }
}

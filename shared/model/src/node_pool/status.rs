//! The status of a NodePool: whether it can be used, and what it has.
//!
//! Karpenter: `pkg/apis/v1/nodepool_status.go`.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{NodePool, Registrations};
use crate::{
    Condition, ConditionKind, ConditionReason, Resources,
    wake::{WakeFinding, WakeHealth},
};

/// A NodePool as it was listed, so that its status is about that very spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNodePool {
    /// What its spec says.
    pub pool: NodePool,
    /// `metadata.uid`: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// Its condition `WakeHealthy`.
    pub wake: Option<WakeHealth>,
}

/// The EC2NodeClass of a pool, as far as launching goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassReadiness {
    /// There is none.
    NotFound,
    /// It is being deleted.
    Terminating,
    /// Not checked yet, or the check did not end.
    Unknown,
    /// Nodes can be launched with it.
    Ready,
    /// They cannot.
    NotReady {
        /// The reason of its condition `Ready`.
        reason: ConditionReason,
        /// In words for people.
        message: String,
    },
}

/// What the status of a pool says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePoolStatus {
    /// Its EC2NodeClass.
    pub node_class: ClassReadiness,
    /// The generation of the class that this is about, where it is there.
    pub node_class_generation: Option<i64>,
    /// How many nodes it has.
    pub nodes: u64,
    /// What they have together.
    pub resources: Resources,
    /// How its latest launches ended.
    pub registrations: Registrations,
    /// Karpenter's words for the quotas of the account for which EC2 refused its latest launches.
    pub quotas: BTreeSet<String>,
    /// Whether an instance type meets its requirements.
    pub types: TypeMatch,
    /// Whether the API server calls `wake`.
    pub wake: WakeFinding,
    /// When all of this was found.
    pub found_at: Timestamp,
}

/// Whether an instance type of the EC2NodeClass meets the requirements of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeMatch {
    /// The instance types, or the class, could not be read now.
    Unknown,
    /// At least one does, or the class is not ready, which another condition says.
    Some,
    /// None does: why, in words.
    None(String),
}

impl NodePoolStatus {
    /// The condition `QuotaExceeded`; `None` if EC2 refused no launch because of a quota.
    pub fn quota_condition(&self) -> Option<Condition> {
        let words: Vec<&str> = self.quotas.iter().map(String::as_str).collect();
        let reason = ConditionReason::Other((*words.first()?).to_owned());
        let message = format!(
            "EC2 refuses launches because a quota of the account is used up ({}). Ask for a larger one: Service Quotas, \
             Amazon EC2.",
            words.join(", ")
        );
        Some(Condition { kind: ConditionKind::QuotaExceeded, status: Some(true), reason, message })
    }
}

impl TypeMatch {
    /// The condition `NoCompatibleInstanceTypes`; `None` unless no type meets the requirements.
    pub fn condition(&self) -> Option<Condition> {
        let kind = ConditionKind::NoCompatibleInstanceTypes;
        match self {
            Self::Unknown | Self::Some => None,
            Self::None(why) => Some(Condition { message: why.clone(), ..Condition::holds(kind) }),
        }
    }
}

impl ClassReadiness {
    /// The condition `NodeClassReady` of a pool.
    ///
    /// Karpenter: `pkg/controllers/nodepool/readiness/controller.go`.
    pub fn condition(&self) -> Condition {
        use ConditionReason as Reason;
        let fails = |reason, message: &str| {
            Condition::fails(ConditionKind::NodeClassReady, reason, message)
        };
        match self {
            Self::NotFound => fails(Reason::NodeClassNotFound, "NodeClass not found on cluster"),
            Self::Terminating => fails(Reason::NodeClassTerminating, "NodeClass is Terminating"),
            Self::Ready => Condition::holds(ConditionKind::NodeClassReady),
            Self::NotReady { reason, message } => fails(reason.clone(), message),
            Self::Unknown => {
                fails(Reason::NodeClassReadinessUnknown, "Node Class Readiness Unknown")
            }
        }
    }
}

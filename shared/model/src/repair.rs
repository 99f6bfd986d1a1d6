//! When a node is ill for so long that it is replaced: the policies of Karpenter's provider for AWS.
//!
//! Karpenter 1.15: `pkg/controllers/node/health/policy.go` for what they mean, the AWS provider's
//! `pkg/cloudprovider/cloudprovider.go`, `RepairPolicies`, for those that there are. Which of them reboot
//! (gate `RebootForRepair`) the user guide of EKS says of managed node groups, under "Node health issues": errors
//! of an NVIDIA driver after which the hardware is as good as before.

use jiff::{SignedDuration, Timestamp};

use crate::{
    NodeClaim,
    node::{IllCondition, IllStatus},
};

/// What is done about one condition of a node: the node is replaced, or rebooted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairPolicy {
    /// The type of the condition.
    pub condition: &'static str,
    /// The status in which it means that the node is ill.
    pub status: IllStatus,
    /// The reasons that it is about.
    pub reasons: Reasons,
    /// How long the condition may last before the node is replaced.
    pub toleration: SignedDuration,
    /// How long the node may drain.
    pub drain: SignedDuration,
    /// What is done, with the gate `RebootForRepair`; without it the node is replaced.
    pub action: RepairAction,
}

/// What is done about an ill node, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepairAction {
    /// Its instance is rebooted.
    Reboot,
    /// Another node comes in its place.
    Replace,
}

/// The reasons of a condition that a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasons {
    /// Every one: `.*`.
    Any,
    /// Those that name one of these errors of an NVIDIA driver: `.*XID(64|74).*`.
    Xid(&'static [u16]),
    /// Those that no other policy for a condition and status of the set is about.
    Others,
}

impl Reasons {
    fn include(self, reason: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Xid(errors) => errors.iter().any(|error| reason.contains(&format!("XID{error}"))),
            Self::Others => false,
        }
    }
}

const HALF_AN_HOUR: SignedDuration = SignedDuration::from_mins(30);
const TEN_MINUTES: SignedDuration = SignedDuration::from_mins(10);
const FIVE_MINUTES: SignedDuration = SignedDuration::from_mins(5);

const fn slow(condition: &'static str, status: IllStatus, reasons: Reasons) -> RepairPolicy {
    RepairPolicy {
        condition,
        status,
        reasons,
        toleration: HALF_AN_HOUR,
        drain: TEN_MINUTES,
        action: RepairAction::Replace,
    }
}

const fn hardware(errors: &'static [u16], action: RepairAction) -> RepairPolicy {
    RepairPolicy {
        condition: "AcceleratedHardwareReady",
        status: IllStatus::False,
        reasons: Reasons::Xid(errors),
        toleration: TEN_MINUTES,
        drain: FIVE_MINUTES,
        action,
    }
}

/// The policies of the AWS provider. All have the same priority.
pub const POLICIES: [RepairPolicy; 9] = [
    slow("Ready", IllStatus::False, Reasons::Any),
    slow("Ready", IllStatus::Unknown, Reasons::Any),
    hardware(
        &[46, 48, 54, 62, 63, 95, 109, 110, 136, 140, 143, 155, 156, 158],
        RepairAction::Reboot,
    ),
    hardware(&[64, 74, 79, 119, 120], RepairAction::Replace),
    slow("AcceleratedHardwareReady", IllStatus::False, Reasons::Others),
    slow("StorageReady", IllStatus::False, Reasons::Any),
    slow("NetworkingReady", IllStatus::False, Reasons::Any),
    slow("KernelReady", IllStatus::False, Reasons::Any),
    slow("ContainerRuntimeReady", IllStatus::False, Reasons::Any),
];

/// Whether some policy is about a condition of this type in this status.
pub fn is_about(condition: &str, status: IllStatus) -> bool {
    POLICIES.iter().any(|policy| policy.condition == condition && policy.status == status)
}

/// The policies that are about `condition`, by its type, status and reason. The fallback stands for
/// a reason that no other one is about.
pub fn matching(condition: &IllCondition) -> impl Iterator<Item = &'static RepairPolicy> {
    let (kind, status, reason) = (&condition.kind, condition.status, &condition.reason);
    let specific = move |policy: &&RepairPolicy| {
        policy.condition == kind && policy.status == status && policy.reasons.include(reason)
    };
    let is_other = is_about(kind, status) && !POLICIES.iter().any(|policy| specific(&policy));
    POLICIES
        .iter()
        .filter(move |policy| specific(policy) || is_other && policy.reasons == Reasons::Others)
}

/// What is due for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The type of the condition that has been due the longest.
    pub condition: String,
    /// Since when it has been due.
    pub since: Timestamp,
    /// The least that any condition that is due leaves for draining.
    pub drain: SignedDuration,
    /// The most that any condition that is due asks for.
    pub action: RepairAction,
}

impl Due {
    /// Both together: the condition is that of whichever has been due for longer.
    fn with(self, other: Self) -> Self {
        let (drain, action) = (self.drain.min(other.drain), self.action.max(other.action));
        let is_later = (self.since, &self.condition) <= (other.since, &other.condition);
        let first = if is_later { self } else { other };
        Self { drain, action, ..first }
    }
}

/// From when on tolerations of the conditions of a node are counted at the earliest: its creation, or when it was back
/// after its last reboot, as its conditions may be older than the boot.
///
/// Karpenter 1.15: `pkg/controllers/state/statenode.go`, `GetRepairResult`.
pub fn counted_from(created_at: Timestamp, claim: Option<&NodeClaim>) -> Timestamp {
    let reboot = claim.and_then(|claim| claim.conditions.reboots.last());
    reboot.and_then(|reboot| reboot.ended_at).map_or(created_at, |at| at.max(created_at))
}

/// What is due at `now` for a node whose tolerations are [counted from](counted_from) a time; `None` while nothing is.
pub fn due(conditions: &[IllCondition], from: Timestamp, now: Timestamp) -> Option<Due> {
    let mut due: Option<Due> = None;
    for condition in conditions {
        for policy in matching(condition) {
            let begins = condition.since.unwrap_or(from).max(from);
            let Ok(since) = begins.checked_add(policy.toleration) else { continue };
            if now < since {
                continue;
            }
            let kind = condition.kind.clone();
            let next = Due { condition: kind, since, drain: policy.drain, action: policy.action };
            due = Some(match due {
                None => next,
                Some(first) => first.with(next),
            });
        }
    }
    due
}

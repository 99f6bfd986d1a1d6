//! Whether the API server calls `wake`: the condition `WakeHealthy` of NodePools.
//!
//! `resolve` probes each minute and writes the condition. `provision` rests longer only while every NodePool has it,
//! and takes it back for an hour if it finds a pod itself of which no call came.

use jiff::{SignedDuration, Timestamp};

use crate::{Condition, ConditionKind, ConditionReason, PodKey};

/// What `wake` warns of in its answer to each dry run. The API server passes it on to the client.
pub const PROBE_WARNING: &str = "journeyman: wake is called";
/// The component that reports the event of a probe. The API server calls `wake` for it, though a function sends it.
pub const PROBE_REPORTER: &str = "journeyman-probe";
/// How long the condition stays false after a pod of which no call came: a namespace may be excluded on purpose, and
/// its pods wait as without `wake`.
pub const PODS_NOT_PUSHED_FOR: SignedDuration = SignedDuration::from_hours(1);

/// What became of a probe that the API server took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// `wake` was called and answered.
    Answered,
    /// It was not called, or did not answer in time.
    Silent,
}

/// What was found of the calls of `wake`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeFinding {
    /// The stack has no `wake`.
    Absent,
    /// The API server did not answer the probe: nothing new is known.
    Unknown,
    /// The API server refuses probes: why.
    Refused(String),
    /// What became of a probe.
    Probed(ProbeAnswer),
    /// This pod was unschedulable for seconds, and no call came.
    PodNotPushed(PodKey),
}

/// The condition `WakeHealthy` as a NodePool has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeHealth {
    /// Whether it is true.
    pub is_healthy: bool,
    /// Whether it is false because of a pod of which no call came.
    pub pods_not_pushed: bool,
    /// Since when its status is what it is.
    pub since: Timestamp,
}

impl WakeHealth {
    /// What a stored condition says that has this `status`, `reason` and `lastTransitionTime`.
    pub fn of(status: Option<bool>, reason: &str, since: Timestamp) -> Self {
        let pods_not_pushed = reason == ConditionReason::PodsNotPushed.as_str();
        Self { is_healthy: status == Some(true), pods_not_pushed, since }
    }
}

/// What becomes of the condition of a NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthChange {
    /// It stays as it is, and absent if it is absent.
    Stays,
    /// The NodePool has it no longer.
    Removed,
    /// It is this one.
    Is(Condition),
}

impl WakeFinding {
    /// Whether the condition that is `stored` is true after this at `now`.
    pub fn leaves_healthy(&self, stored: Option<&WakeHealth>, now: Timestamp) -> bool {
        match self.change(stored, now) {
            HealthChange::Is(condition) => condition.status == Some(true),
            HealthChange::Stays => stored.is_some_and(|stored| stored.is_healthy),
            HealthChange::Removed => false,
        }
    }

    /// What becomes at `now` of the condition that is `stored`.
    pub fn change(&self, stored: Option<&WakeHealth>, now: Timestamp) -> HealthChange {
        use ConditionReason as Reason;
        let kind = ConditionKind::WakeHealthy;
        let fails = |reason, message: String| Condition::fails(kind, reason, message);
        HealthChange::Is(match self {
            Self::Absent => return HealthChange::Removed,
            Self::Unknown => return HealthChange::Stays,
            Self::Refused(why) => {
                let message = format!(
                    "the API server refuses the probe of wake: {why}. If rights are missing, apply the RBAC of this \
                     release"
                );
                Condition::unknown(kind, Reason::ProbeRefused, message)
            }
            Self::Probed(ProbeAnswer::Answered) if is_held(stored, now) => {
                return HealthChange::Stays;
            }
            Self::Probed(ProbeAnswer::Answered) => {
                Condition { reason: Reason::Answered, ..Condition::holds(kind) }
            }
            Self::Probed(ProbeAnswer::Silent) => {
                let message = "the API server does not call wake, or gets no answer within a second. Pending pods \
                               are polled for. Run `journeyman doctor`";
                fails(Reason::NoAnswer, message.to_owned())
            }
            // Only what is true is taken back, so that an hour has a beginning.
            Self::PodNotPushed(_) if !stored.is_some_and(|stored| stored.is_healthy) => {
                return HealthChange::Stays;
            }
            Self::PodNotPushed(pod) => {
                let message = format!(
                    "wake was not called for pod {pod}. Pending pods are polled for during an hour. If the webhooks \
                     leave its namespace out, this is expected; otherwise run `journeyman doctor`"
                );
                fails(Reason::PodsNotPushed, message)
            }
        })
    }
}

/// Whether a pod of which no call came keeps the condition false.
fn is_held(stored: Option<&WakeHealth>, now: Timestamp) -> bool {
    stored.is_some_and(|stored| {
        stored.pods_not_pushed && now.duration_since(stored.since) < PODS_NOT_PUSHED_FOR
    })
}

//! What a claim says of itself beside its phase.

use jiff::Timestamp;

use crate::disruption::DisruptionReason;

/// What disruption looks at beside the life of a claim.
///
/// Karpenter: `pkg/apis/v1/nodeclaim_status.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimConditions {
    /// When a pod last came to its node or left it: `status.lastPodEventTime`.
    pub last_pod_event_at: Option<Timestamp>,
    /// When its node was initialized.
    pub initialized_at: Option<Timestamp>,
    /// Condition `Consolidatable`, where the cluster has one; `None` is to be worked out.
    pub is_consolidatable: Option<bool>,
    /// Since when condition `Consolidatable` is shown as true. For people: what decides works it out anew.
    pub consolidatable_since: Option<Timestamp>,
    /// What its node lacks of what was expected of it, in words: why condition `ConsistentStateFound` is false.
    pub inconsistent: Option<String>,
    /// What the claim is disrupted for, before it is given up: its replacement is on its way.
    pub disruption: Option<Disrupting>,
    /// The reason of condition `Drifted`, if that is true.
    pub drifted: Option<String>,
    /// Since when it is: whatever drifted first goes first.
    pub drifted_since: Option<Timestamp>,
    /// Since when condition `Drained` is true: nothing on its node has to be waited for any more.
    pub drained_since: Option<Timestamp>,
    /// Condition `VolumesDetached`, once nothing on its node has to be waited for.
    pub volumes: Option<VolumesDetached>,
    /// Since when condition `InstanceTerminating` is true: EC2 was told to terminate the instance.
    pub instance_terminating_since: Option<Timestamp>,
}

/// Condition `DisruptionReason` of a claim that is replaced: it is given up once its replacement is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disrupting {
    /// What for.
    pub reason: DisruptionReason,
    /// Since when.
    pub since: Timestamp,
}

/// Condition `VolumesDetached`: how far the volumes of a drained node are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumesDetached {
    /// How far.
    pub state: VolumeState,
    /// Since when.
    pub since: Timestamp,
}

/// How far the volumes of a drained node are.
///
/// Karpenter: `pkg/controllers/node/termination/controller.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VolumeState {
    /// Some are attached still, and waited for.
    Awaited,
    /// None that has to be waited for is attached.
    Detached,
    /// The claim's deadline came first.
    GivenUp,
}

impl VolumeState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Awaited, Self::Detached, Self::GivenUp];

    /// Its name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Detached => "detached",
            Self::GivenUp => "given-up",
        }
    }

    /// The state called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

//! What a claim says of itself beside its phase.

use jiff::{SignedDuration, Timestamp};

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
    /// What the claim is disrupted for, before it is deleted: its replacement is on its way.
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
    /// The latest reboots of its instance, the oldest first, [`Reboot::KEPT`] at most.
    pub reboots: Vec<Reboot>,
    /// When its instance was last looked into because its node does not join.
    pub looked_into_at: Option<Timestamp>,
}

/// A reboot of the instance of an ill node, from the time at which its node is empty.
///
/// Karpenter 1.15: `pkg/controllers/nodeclaim/reboot`; there, annotations and condition `Rebooting`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reboot {
    /// The command that it belongs to began then.
    pub requested_at: Timestamp,
    /// The boot that it ends, as the node told it.
    pub boot_id: String,
    /// When the node was empty, and EC2 was to be asked.
    pub drained_at: Timestamp,
    /// When EC2 took the request.
    pub issued_at: Option<Timestamp>,
    /// When the node was seen ready after another boot.
    pub ended_at: Option<Timestamp>,
}

impl Reboot {
    /// How many of a claim are kept: as many as a claim may have [within a day](Self::APART) before it is replaced.
    pub const KEPT: usize = 2;
    /// A claim that was rebooted [so often](Self::KEPT) within this time is replaced the next time.
    pub const APART: SignedDuration = SignedDuration::from_hours(24);
    /// For how long EC2 is asked that does not take the request.
    pub const ACCEPTED_WITHIN: SignedDuration = SignedDuration::from_mins(5);
    /// How long an instance may take to come back.
    pub const BACK_WITHIN: SignedDuration = SignedDuration::from_mins(20);
}

impl ClaimConditions {
    /// The reboot that a command that began at `requested_at` brought about, as far as it is.
    pub fn reboot(&self, requested_at: Timestamp) -> Option<&Reboot> {
        self.reboots.last().filter(|reboot| reboot.requested_at == requested_at)
    }

    /// Whether its instance was rebooted so often lately that once more would not help.
    pub fn is_rebooted_enough(&self, now: Timestamp) -> bool {
        let is_recent = |reboot: &&Reboot| now.duration_since(reboot.drained_at) < Reboot::APART;
        Reboot::KEPT <= self.reboots.iter().filter(is_recent).count()
    }

    /// The same with `reboot` in place of the latest one if that is of the same command, else after it.
    #[must_use]
    pub fn with_reboot(&self, reboot: Reboot) -> Self {
        let mut reboots = self.reboots.clone();
        reboots.retain(|known| known.requested_at != reboot.requested_at);
        reboots.push(reboot);
        let surplus = reboots.len().saturating_sub(Reboot::KEPT);
        reboots.drain(..surplus);
        Self { reboots, ..self.clone() }
    }
}

/// Condition `DisruptionReason` of a claim that is replaced: it is deleted once its replacement is there.
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
    Elapsed,
}

impl VolumeState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Awaited, Self::Detached, Self::Elapsed];

    /// Its name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Detached => "detached",
            // As every release stores it.
            Self::Elapsed => "given-up",
        }
    }

    /// The state called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

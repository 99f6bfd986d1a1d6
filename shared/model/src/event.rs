//! Events of Kubernetes: what people and tools read beside an object, by Karpenter's names.
//!
//! Karpenter: `pkg/events/reason.go`, `pkg/events/recorder.go`, and the `events` packages of its controllers.

use std::fmt;

use jiff::SignedDuration;

use crate::{NodeClaimName, NodeName, NodePoolName, PodKey, PodUid};

/// Who says it: tools that look for Karpenter's events find ours.
pub const COMPONENT: &str = "karpenter";
/// Bytes of a message at most, as the API server allows.
pub const MESSAGE_BYTES_MAX: usize = 1_024;

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventObject {
    /// A node.
    Node(NodeName),
    /// A NodeClaim.
    NodeClaim(NodeClaimName),
    /// A NodePool.
    NodePool(NodePoolName),
    /// A pod; the very one of this uid, where that is known.
    Pod(PodKey, Option<PodUid>),
}

impl fmt::Display for EventObject {
    /// `Pod default/web-0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => write!(f, "Node {name}"),
            Self::NodeClaim(name) => write!(f, "NodeClaim {name}"),
            Self::NodePool(name) => write!(f, "NodePool {name}"),
            Self::Pod(key, _) => write!(f, "Pod {key}"),
        }
    }
}

/// The reason of an event: what tools look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventReason {
    /// Node: drained, but volumes are still attached.
    AwaitingVolumeDetachment,
    /// Node, NodeClaim: the capacity reservation takes the instance back.
    CapacityReservationInstanceInterrupted,
    /// Pod: deleted regardless of budgets, because the deadline of its node is near.
    Disrupted,
    /// Node, NodeClaim, NodePool: why disruption is blocked.
    DisruptionBlocked,
    /// NodeClaim that replaces another: not launched yet.
    DisruptionLaunching,
    /// Node, NodeClaim: disrupted and about to be drained.
    DisruptionTerminating,
    /// NodeClaim that replaces another: not initialized yet.
    DisruptionWaitingReadiness,
    /// Pod: evicted.
    Evicted,
    /// NodeClaim that Journeyman did not create: cannot be adopted.
    FailedAdoption,
    /// NodeClaim: the node has fewer resources than expected.
    FailedConsistencyCheck,
    /// Node: pods remain on it.
    FailedDraining,
    /// NodeClaim: the node does not join, and why.
    FailedRegistration,
    /// Pod: cannot be scheduled, and why.
    FailedScheduling,
    /// NodeClaim and its pods: no capacity, or the EC2NodeClass is gone.
    InsufficientCapacityError,
    /// Node, NodeClaim: the instance stops, stopped or was terminated from outside.
    InstanceTerminating,
    /// Node, NodeClaim: AWS announced a change of the instance.
    InstanceUnhealthy,
    /// Pod: the value of `karpenter.sh/do-not-disrupt` is invalid and protects nothing.
    InvalidDoNotDisruptAnnotation,
    /// NodePool: no instance type meets its requirements.
    NoCompatibleInstanceTypes,
    /// NodeClaim: deleted because its EC2NodeClass is not ready.
    NodeClassNotReady,
    /// Node, NodeClaim: not repaired because too many nodes fail.
    NodeRepairBlocked,
    /// Pod: nominated to a node or NodeClaim.
    Nominated,
    /// NodePool: the rollout of its EC2NodeClass is halted, and why.
    RolloutHalted,
    /// Node, NodeClaim: EC2 takes the spot instance back.
    SpotInterrupted,
    /// Node, NodeClaim: when it ends at the latest.
    TerminationGracePeriodExpiring,
    /// Node, NodeClaim: terminated because of an interruption.
    TerminatingOnInterruption,
    /// Node, NodeClaim: why it is not consolidated.
    Unconsolidatable,
    /// NodePool: traffic is shifted away from zones of its nodes.
    ZonalShiftActive,
    /// NodePool: the zonal shift has ended.
    ZonalShiftCleared,
}

impl EventReason {
    /// Every one of them.
    pub const ALL: [Self; 28] = [
        Self::AwaitingVolumeDetachment,
        Self::CapacityReservationInstanceInterrupted,
        Self::Disrupted,
        Self::DisruptionBlocked,
        Self::DisruptionLaunching,
        Self::DisruptionTerminating,
        Self::DisruptionWaitingReadiness,
        Self::Evicted,
        Self::FailedAdoption,
        Self::FailedConsistencyCheck,
        Self::FailedDraining,
        Self::FailedRegistration,
        Self::FailedScheduling,
        Self::InsufficientCapacityError,
        Self::InstanceTerminating,
        Self::InstanceUnhealthy,
        Self::InvalidDoNotDisruptAnnotation,
        Self::NoCompatibleInstanceTypes,
        Self::NodeClassNotReady,
        Self::NodeRepairBlocked,
        Self::Nominated,
        Self::RolloutHalted,
        Self::SpotInterrupted,
        Self::TerminationGracePeriodExpiring,
        Self::TerminatingOnInterruption,
        Self::Unconsolidatable,
        Self::ZonalShiftActive,
        Self::ZonalShiftCleared,
    ];

    /// The text in `reason`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingVolumeDetachment => "AwaitingVolumeDetachment",
            Self::CapacityReservationInstanceInterrupted => {
                "CapacityReservationInstanceInterrupted"
            }
            Self::Disrupted => "Disrupted",
            Self::DisruptionBlocked => "DisruptionBlocked",
            Self::DisruptionLaunching => "DisruptionLaunching",
            Self::DisruptionTerminating => "DisruptionTerminating",
            Self::DisruptionWaitingReadiness => "DisruptionWaitingReadiness",
            Self::Evicted => "Evicted",
            Self::FailedAdoption => "FailedAdoption",
            Self::FailedConsistencyCheck => "FailedConsistencyCheck",
            Self::FailedDraining => "FailedDraining",
            Self::FailedRegistration => "FailedRegistration",
            Self::FailedScheduling => "FailedScheduling",
            Self::InsufficientCapacityError => "InsufficientCapacityError",
            Self::InstanceTerminating => "InstanceTerminating",
            Self::InstanceUnhealthy => "InstanceUnhealthy",
            Self::InvalidDoNotDisruptAnnotation => "InvalidDoNotDisruptAnnotation",
            Self::NoCompatibleInstanceTypes => "NoCompatibleInstanceTypes",
            Self::NodeClassNotReady => "NodeClassNotReady",
            Self::NodeRepairBlocked => "NodeRepairBlocked",
            Self::Nominated => "Nominated",
            Self::RolloutHalted => "RolloutHalted",
            Self::SpotInterrupted => "SpotInterrupted",
            Self::TerminationGracePeriodExpiring => "TerminationGracePeriodExpiring",
            Self::TerminatingOnInterruption => "TerminatingOnInterruption",
            Self::Unconsolidatable => "Unconsolidatable",
            Self::ZonalShiftActive => "ZonalShiftActive",
            Self::ZonalShiftCleared => "ZonalShiftCleared",
        }
    }

    /// Whether its type is `Warning` rather than `Normal`.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::CapacityReservationInstanceInterrupted
                | Self::FailedAdoption
                | Self::FailedConsistencyCheck
                | Self::FailedDraining
                | Self::FailedRegistration
                | Self::FailedScheduling
                | Self::InsufficientCapacityError
                | Self::InstanceTerminating
                | Self::InstanceUnhealthy
                | Self::InvalidDoNotDisruptAnnotation
                | Self::NoCompatibleInstanceTypes
                | Self::NodeClassNotReady
                | Self::NodeRepairBlocked
                | Self::RolloutHalted
                | Self::SpotInterrupted
                | Self::TerminationGracePeriodExpiring
                | Self::TerminatingOnInterruption
                | Self::ZonalShiftActive
        )
    }

    /// For how long the same is not said again of the same object.
    ///
    /// Karpenter: `DedupeTimeout` of its events; two minutes where it names none. A wrong annotation of a pod, which
    /// ends only with another pod, is said once an hour.
    pub const fn said_for(self) -> SignedDuration {
        match self {
            Self::FailedScheduling => SignedDuration::from_mins(5),
            Self::InvalidDoNotDisruptAnnotation => SignedDuration::from_hours(1),
            Self::NodeRepairBlocked | Self::Unconsolidatable => SignedDuration::from_mins(15),
            _ => SignedDuration::from_mins(2),
        }
    }

    /// How many of them one pass says at most.
    ///
    /// Karpenter says that pods are nominated five times in a second (`PodNominationRateLimiter`), and a pass
    /// follows another after a second.
    pub const fn per_pass_max(self) -> usize {
        match self {
            Self::Nominated => 5,
            _ => 50,
        }
    }
}

impl fmt::Display for EventReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event: what happened to an object, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// What it is about.
    pub about: EventObject,
    /// Why it is said.
    pub reason: EventReason,
    /// In words.
    pub message: String,
}

impl ObjectEvent {
    /// An event whose message is cut where the API server would refuse it.
    pub fn new(about: EventObject, reason: EventReason, message: impl AsRef<str>) -> Self {
        let message = cut(message.as_ref(), MESSAGE_BYTES_MAX).to_owned();
        Self { about, reason, message }
    }

    /// Adds `ending` to the message, which is shortened as far as it takes.
    pub fn append(&mut self, ending: &str) {
        const SHORTENED: &str = "…";
        let ending = cut(ending, MESSAGE_BYTES_MAX - SHORTENED.len());
        let room = MESSAGE_BYTES_MAX - ending.len();
        if room < self.message.len() {
            self.message = format!("{}{SHORTENED}", cut(&self.message, room - SHORTENED.len()));
        }
        self.message.push_str(ending);
    }

    /// The same about a NodeClaim and its node, which may not be there.
    pub fn of_both(
        claim: &crate::NodeClaim,
        reason: EventReason,
        message: impl AsRef<str>,
    ) -> impl Iterator<Item = Self> {
        let message = message.as_ref().to_owned();
        let node = claim.node.clone().map(EventObject::Node);
        let objects = node.into_iter().chain([EventObject::NodeClaim(claim.name.clone())]);
        objects.map(move |about| Self::new(about, reason, &message))
    }
}

/// The beginning of `text` that takes at most `bytes_max`.
fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

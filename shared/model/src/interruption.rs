//! What EC2 tells about an instance.

use jiff::{SignedDuration, Timestamp};

use crate::InstanceId;

/// How long after its notice a spot instance is taken back.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>
pub const SPOT_NOTICE: SignedDuration = SignedDuration::from_secs(120);

/// Why a node has drifted that is to be replaced because EC2 recommends to leave its spot instance.
///
/// Karpenter: `pkg/controllers/interruption/events/events.go`, the reason of its event.
pub const REBALANCE_RECOMMENDATION: &str = "SpotRebalanceRecommendation";

/// What is done about the recommendation to leave a spot instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RebalanceRecommendations {
    /// Nothing: most of these instances are never taken back.
    #[default]
    Ignore,
    /// The node is replaced as one that has drifted: its replacement is there before it goes.
    ReplaceFirst,
}

/// A change that EC2 announces or reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterruptionKind {
    /// The spot instance is taken back in two minutes.
    SpotInterruption,
    /// The capacity reservation of the instance ends, or takes it back.
    ReservationInterruption,
    /// AWS will change something about the instance, such as retire it or its host.
    ScheduledChange,
    /// The spot instance is at a greater risk than others to be taken back. That may never happen.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html>
    RebalanceRecommendation,
    /// A check of EC2 has failed for a while: the instance or its host does not work.
    CheckFailed,
    /// The instance is stopping, stopped, shutting down or terminated.
    InstanceEnding,
}

/// An event about one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// What happens.
    pub kind: InterruptionKind,
    /// To which instance.
    pub instance: InstanceId,
    /// When EC2 said so.
    pub at: Timestamp,
}

/// What EC2 reports of an instance whose status is not as it should be.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html>
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatusReport {
    /// Of which instance.
    pub instance: InstanceId,
    /// What is wrong.
    pub problem: StatusProblem,
}

/// What is wrong with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusProblem {
    /// The check of the instance itself fails: its software, its network.
    InstanceCheck {
        /// Since when, where EC2 says it.
        since: Option<Timestamp>,
    },
    /// The check of its host fails.
    SystemCheck {
        /// Since when, where EC2 says it.
        since: Option<Timestamp>,
    },
    /// EC2 will reboot, maintain, retire or stop it.
    ScheduledEvent,
}

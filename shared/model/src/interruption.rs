//! What EC2 tells about an instance.

use jiff::{SignedDuration, Timestamp};

use crate::InstanceId;

/// How long after its notice a spot instance is taken back.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>
pub const SPOT_NOTICE: SignedDuration = SignedDuration::from_secs(120);

/// A change that EC2 announces or reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterruptionKind {
    /// The spot instance is taken back in two minutes.
    SpotInterruption,
    /// The capacity reservation of the instance ends, or takes it back.
    ReservationInterruption,
    /// AWS will change something about the instance, such as retire it or its host.
    ScheduledChange,
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

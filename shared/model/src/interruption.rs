//! What EC2 tells about an instance.

use jiff::Timestamp;

use crate::InstanceId;

/// A change that EC2 announces or reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterruptionKind {
    /// The spot instance is taken back in two minutes.
    SpotInterruption,
    /// The capacity reservation of the instance ends, or takes it back.
    ReservationInterruption,
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

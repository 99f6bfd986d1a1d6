//! What a function is called with, as the driver sees it.

use std::fmt;

use model::{
    Function, NodeClaimName,
    disruption::{DisruptionReason, DisruptionSchedule},
    interruption::Interruption,
    message::Message,
};
use ports::Invocation;

/// Which of the one-minute schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MinuteSchedule {
    /// Look for pending pods.
    Provision,
    /// Look for nodes to give up.
    Disrupt(DisruptionSchedule),
    /// Look at EC2NodeClasses.
    Resolve,
    /// Compare what is there with what should be.
    Sweep,
}

impl MinuteSchedule {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Provision,
        Self::Disrupt(DisruptionSchedule::Graceful(DisruptionReason::Empty)),
        Self::Disrupt(DisruptionSchedule::Forced),
        Self::Disrupt(DisruptionSchedule::Graceful(DisruptionReason::Drifted)),
        Self::Disrupt(DisruptionSchedule::Graceful(DisruptionReason::Underutilized)),
        Self::Resolve,
        Self::Sweep,
    ];

    /// The function that it calls.
    pub const fn function(self) -> Function {
        match self {
            Self::Provision => Function::Provision,
            Self::Disrupt(_) => Function::Disrupt,
            Self::Resolve => Function::Resolve,
            Self::Sweep => Function::Sweep,
        }
    }
}

/// What is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A message from the function's queue.
    Message(Message),
    /// A schedule came round.
    Schedule(MinuteSchedule),
    /// An event of EC2 from the queue `interruption`.
    Interruption(Interruption),
    /// Claims whose records changed, from the ledger's stream, in the order of the writes.
    Claims(Vec<NodeClaimName>),
}

/// One call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// Its number: another one each time the same thing is delivered again.
    pub id: u64,
    /// Which function.
    pub function: Function,
    /// With what.
    pub payload: Payload,
    /// Identity (the same when delivered again), cluster, present and deadline.
    pub invocation: Invocation,
}

/// How a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// It is acknowledged.
    Done,
    /// It is delivered again later.
    Failed(String),
    /// Nobody heard of it again; it is delivered again later.
    Crashed,
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(Message::Provision { tick: None }) => f.write_str("look"),
            Self::Message(Message::Provision { tick: Some(tick) }) => write!(f, "tick {tick}"),
            Self::Message(Message::Validate(command)) => {
                write!(f, "validate {} of {} claims", command.method, command.candidates.len())
            }
            Self::Message(
                Message::Launch { claim } | Message::Settle { claim } | Message::Drain { claim },
            ) => write!(f, "visit {claim}"),
            Self::Message(Message::DryRun { class, .. }) => write!(f, "try out {class}"),
            Self::Schedule(
                MinuteSchedule::Provision | MinuteSchedule::Resolve | MinuteSchedule::Sweep,
            ) => f.write_str("schedule"),
            Self::Schedule(MinuteSchedule::Disrupt(what)) => {
                write!(f, "schedule {}", what.as_str())
            }
            Self::Interruption(event) => write!(f, "{:?} {}", event.kind, event.instance),
            Self::Claims(claims) => {
                let names: Vec<&str> = claims.iter().map(NodeClaimName::as_str).collect();
                write!(f, "stream {}", names.join(" "))
            }
        }
    }
}

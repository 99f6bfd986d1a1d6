//! What a function is called with, as the driver sees it.

use std::fmt;

use model::{
    Function, interruption::Interruption, message::Message, pulse::Signal, wake::AdmissionRequest,
};
use ports::Invocation;

/// The functions that a schedule calls each minute.
pub const SCHEDULED: [Function; 7] = [
    Function::Sweep,
    Function::Resolve,
    Function::Provision,
    Function::Disrupt,
    Function::Launch,
    Function::Settle,
    Function::Drain,
];

/// What is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A message from the function's queue.
    Message(Message),
    /// The schedule of the function came round.
    Schedule,
    /// Events of EC2 from the queue `interruption`, as many as came together.
    Interruptions(Vec<Interruption>),
    /// A request to the API server, which calls `wake` for it.
    Request(AdmissionRequest),
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
    /// No answer came; it is delivered again later.
    Crashed,
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(Message::Pulse { signal, .. }) => match signal {
                Signal::Beat(sequence) => write!(f, "beat {sequence}"),
                Signal::Wake(counters) => write!(f, "wake {counters}"),
                Signal::Called { anew: false } => f.write_str("call"),
                Signal::Called { anew: true } => f.write_str("call anew"),
                Signal::Schedule => f.write_str("schedule"),
            },
            Self::Message(Message::DryRun { class, .. }) => write!(f, "try out {class}"),
            Self::Schedule => f.write_str("schedule"),
            Self::Request(AdmissionRequest { kind, operation, .. }) => {
                let operation = operation.map_or("", |operation| operation.as_str());
                write!(f, "{operation} {kind}")
            }
            Self::Interruptions(events) => {
                let events: Vec<String> = events
                    .iter()
                    .map(|event| format!("{:?} {}", event.kind, event.instance))
                    .collect();
                f.write_str(&events.join(", "))
            }
        }
    }
}

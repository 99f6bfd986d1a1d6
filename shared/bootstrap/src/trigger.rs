//! What a delivery asks of each function. Pure: text in, the handler's own trigger out.
//!
//! A reader answers `Ok(None)` for what is well-formed and nothing is done about: it is
//! acknowledged and logged. What cannot be read is a failure, so that it reaches a dead-letter
//! queue instead of vanishing.

use handlers::DryRunTrigger;
use model::{ClusterName, Function, interruption::Interruption, message::Message, pulse::Signal};
use wire::event::Event;

use crate::{Environment, Failure, Source};

/// What asks for something.
pub trait Trigger {
    /// Whether it is a beat of a pulse: that the work goes on can be seen by them.
    fn is_beat(&self) -> bool {
        false
    }
}

impl Trigger for () {}

impl Trigger for Vec<Interruption> {}

impl Trigger for Signal {
    fn is_beat(&self) -> bool {
        matches!(self, Self::Beat(_))
    }
}

/// What `launch` is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchTrigger {
    /// The launches of new NodeClaims.
    Pulse(Signal),
    /// A dry run.
    DryRun(DryRunTrigger),
}

impl Trigger for LaunchTrigger {
    fn is_beat(&self) -> bool {
        matches!(self, Self::Pulse(signal) if signal.is_beat())
    }
}

/// For `provision`: its pulse.
pub fn provision(environment: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Provision, environment, source).map(Some)
}

/// For `interrupt`: what EventBridge puts into its queue.
pub fn interrupt(_: &Environment, source: &Source) -> Result<Option<Vec<Interruption>>, Failure> {
    match source {
        Source::Message(text) => {
            match wire::event::interruption(text).map_err(Failure::malformed)? {
                Event::Interruptions(interruptions) => Ok(Some(interruptions)),
                Event::Ignored { what } => {
                    tracing::info!(what, "event ignored");
                    Ok(None)
                }
            }
        }
        Source::Event(_) => Err(Failure::malformed("`interrupt` takes events from its queue only")),
    }
}

/// For `disrupt`: its pulse. Its schedules once named methods; those of an older stack still do.
pub fn disrupt(environment: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Disrupt, environment, source).map(Some)
}

/// For `launch`: its pulse, and dry runs.
pub fn launch(
    environment: &Environment,
    source: &Source,
) -> Result<Option<LaunchTrigger>, Failure> {
    if let Source::Message(body) = source
        && let Message::DryRun { class, key, asked_at } = message(environment, body)?
    {
        return Ok(Some(LaunchTrigger::DryRun(DryRunTrigger { class, key, asked_at })));
    }
    Ok(Some(LaunchTrigger::Pulse(pulse(Function::Launch, environment, source)?)))
}

/// For `settle`: its pulse.
pub fn settle(environment: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Settle, environment, source).map(Some)
}

/// For `drain`: its pulse.
pub fn drain(environment: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Drain, environment, source).map(Some)
}

/// For `resolve`: its schedule, and calls of `wake`.
pub fn resolve(_: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    scheduled_or_called(Function::Resolve, source).map(Some)
}

/// For `sweep`: its schedule, and calls of `wake`.
pub fn sweep(_: &Environment, source: &Source) -> Result<Option<Signal>, Failure> {
    scheduled_or_called(Function::Sweep, source).map(Some)
}

/// For `catalog`: its schedule.
pub fn catalog(_: &Environment, source: &Source) -> Result<Option<()>, Failure> {
    let text = event_of(Function::Catalog, source)?;
    wire::event::schedule(text).map(Some).map_err(Failure::malformed)
}

/// Why `function` is called, which has a pulse.
fn pulse(
    function: Function,
    environment: &Environment,
    source: &Source,
) -> Result<Signal, Failure> {
    let body = match source {
        Source::Event(text) => {
            wire::event::schedule(text).map_err(Failure::malformed)?;
            return Ok(Signal::Schedule);
        }
        Source::Message(body) => body,
    };
    match message(environment, body)? {
        Message::Pulse { function: receiver, signal } if receiver == function => Ok(signal),
        other => {
            let problem = format!("`{function}` has no use for the message {other:?}");
            Err(Failure::malformed(problem))
        }
    }
}

/// Why `function` is called, which has no pulse.
fn scheduled_or_called(function: Function, source: &Source) -> Result<Signal, Failure> {
    let text = event_of(function, source)?;
    if wire::event::is_call(text) {
        return Ok(Signal::Called { anew: true });
    }
    wire::event::schedule(text).map(|()| Signal::Schedule).map_err(Failure::malformed)
}

/// The event that `function` is called with, which has no queue.
fn event_of(function: Function, source: &Source) -> Result<&str, Failure> {
    match source {
        Source::Event(text) => Ok(text),
        Source::Message(_) => Err(Failure::malformed(format!("`{function}` takes no messages"))),
    }
}

/// The message in `body`, if it is about the cluster that is served here.
fn message(environment: &Environment, body: &str) -> Result<Message, Failure> {
    let (cluster, message) = wire::message::decode(body).map_err(Failure::malformed)?;
    is_ours(environment, &cluster)?;
    Ok(message)
}

fn is_ours(environment: &Environment, cluster: &ClusterName) -> Result<(), Failure> {
    if *cluster == environment.cluster {
        return Ok(());
    }
    let ours = &environment.cluster;
    Err(Failure::malformed(format!("it is about cluster `{cluster}`, and `{ours}` is served here")))
}

#[cfg(test)]
mod tests;

//! What a delivery asks of each function. Pure: text in, the handler's own trigger out.
//!
//! A reader answers `Ok(None)` for what is well-formed and nothing is done about: it is
//! acknowledged and logged. What cannot be read is a failure, so that it reaches a dead-letter
//! queue instead of vanishing.

use handlers::{DryRunTrigger, ProvisionTrigger};
use model::{ClusterName, Function, interruption::Interruption, message::Message, pulse::Signal};
use wire::event::Event;

use crate::{Failure, Settings, Source};

/// What asks for something.
pub trait Trigger {
    /// Whether it is a beat of a pulse: that the work goes on can be seen by them.
    fn is_beat(&self) -> bool {
        false
    }
}

impl Trigger for () {}

impl Trigger for Interruption {}

impl Trigger for Signal {
    fn is_beat(&self) -> bool {
        matches!(self, Self::Beat(_))
    }
}

impl Trigger for ProvisionTrigger {
    fn is_beat(&self) -> bool {
        self.signal.is_beat()
    }
}

/// What `launch` is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchTrigger {
    /// The launches that are promised.
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
pub fn provision(
    settings: &Settings,
    source: &Source,
) -> Result<Option<ProvisionTrigger>, Failure> {
    let signal = pulse(Function::Provision, settings, source)?;
    let poll_interval_seconds = settings.poll_interval_seconds;
    Ok(Some(ProvisionTrigger { signal, poll_interval_seconds }))
}

/// For `interrupt`: what EventBridge puts into its queue.
pub fn interrupt(_: &Settings, source: &Source) -> Result<Option<Interruption>, Failure> {
    match source {
        Source::Message(text) => {
            match wire::event::interruption(text).map_err(Failure::malformed)? {
                Event::Interruption(interruption) => Ok(Some(interruption)),
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
pub fn disrupt(settings: &Settings, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Disrupt, settings, source).map(Some)
}

/// For `launch`: its pulse, and dry runs.
pub fn launch(settings: &Settings, source: &Source) -> Result<Option<LaunchTrigger>, Failure> {
    if let Source::Message(body) = source
        && let Message::DryRun { class, key, asked_at } = message(settings, body)?
    {
        return Ok(Some(LaunchTrigger::DryRun(DryRunTrigger { class, key, asked_at })));
    }
    Ok(Some(LaunchTrigger::Pulse(pulse(Function::Launch, settings, source)?)))
}

/// For `settle`: its pulse.
pub fn settle(settings: &Settings, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Settle, settings, source).map(Some)
}

/// For `drain`: its pulse.
pub fn drain(settings: &Settings, source: &Source) -> Result<Option<Signal>, Failure> {
    pulse(Function::Drain, settings, source).map(Some)
}

/// For `resolve`: its schedule.
pub fn resolve(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled(Function::Resolve, source)
}

/// For `sweep`: its schedule.
pub fn sweep(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled(Function::Sweep, source)
}

/// For `catalog`: its schedule.
pub fn catalog(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled(Function::Catalog, source)
}

/// Why `function` is called, which has a pulse.
fn pulse(function: Function, settings: &Settings, source: &Source) -> Result<Signal, Failure> {
    let body = match source {
        Source::Event(text) => {
            wire::event::schedule(text).map_err(Failure::malformed)?;
            return Ok(Signal::Schedule);
        }
        Source::Message(body) => body,
    };
    match message(settings, body)? {
        Message::Pulse { function: receiver, signal } if receiver == function => Ok(signal),
        other => {
            let problem = format!("`{function}` has no use for the message {other:?}");
            Err(Failure::malformed(problem))
        }
    }
}

fn only_scheduled(function: Function, source: &Source) -> Result<Option<()>, Failure> {
    match source {
        Source::Event(text) => wire::event::schedule(text).map(Some).map_err(Failure::malformed),
        Source::Message(_) => Err(Failure::malformed(format!("`{function}` takes no messages"))),
    }
}

/// The message in `body`, if it is about the cluster that is served here.
fn message(settings: &Settings, body: &str) -> Result<Message, Failure> {
    let (cluster, message) = wire::message::decode(body).map_err(Failure::malformed)?;
    is_ours(settings, &cluster)?;
    Ok(message)
}

fn is_ours(settings: &Settings, cluster: &ClusterName) -> Result<(), Failure> {
    if *cluster == settings.cluster {
        return Ok(());
    }
    let ours = &settings.cluster;
    Err(Failure::malformed(format!("it is about cluster `{cluster}`, and `{ours}` is served here")))
}

#[cfg(test)]
mod tests;

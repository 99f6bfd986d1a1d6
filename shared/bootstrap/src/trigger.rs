//! What a delivery asks of each function. Pure: text in, the handler's own trigger out.
//!
//! A reader answers `Ok(None)` for what is well-formed and nothing is done about: it is
//! acknowledged and logged. What cannot be read is a failure, so that it reaches a dead-letter
//! queue instead of vanishing.

use handlers::{DisruptTrigger, DryRunTrigger, LaunchTrigger, ProvisionSource, ProvisionTrigger};
use model::{ClaimPhase, ClusterName, NodeClaimName, interruption::Interruption, message::Message};
use serde_json::Value;
use wire::{event::Event, stream::StreamRecord};

use crate::{Failure, Settings, Source};

/// For `provision`: its schedule, and its queue.
pub fn provision(
    settings: &Settings,
    source: &Source,
) -> Result<Option<ProvisionTrigger>, Failure> {
    let asked_by = match source {
        Source::Event(text) => scheduled(text)?,
        Source::Message(body) => match message(settings, body)? {
            Message::Provision { tick: Some(tick) } => ProvisionSource::Tick(tick),
            Message::Provision { tick: None } => ProvisionSource::Request,
            other => return Err(misdirected("provision", &other)),
        },
        Source::Record(_) => return Err(no_stream("provision")),
    };
    let poll_interval_seconds = settings.poll_interval_seconds;
    Ok(Some(ProvisionTrigger { source: asked_by, poll_interval_seconds }))
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
        Source::Record(_) => Err(no_stream("interrupt")),
    }
}

/// For `disrupt`: its schedules with their methods, and its queue.
pub fn disrupt(settings: &Settings, source: &Source) -> Result<Option<DisruptTrigger>, Failure> {
    match source {
        Source::Event(text) => {
            let method = wire::event::schedule(text).map_err(Failure::malformed)?;
            Ok(Some(DisruptTrigger::Schedule(method)))
        }
        Source::Message(body) => match message(settings, body)? {
            Message::Validate(command) => Ok(Some(DisruptTrigger::Validate(command))),
            other => Err(misdirected("disrupt", &other)),
        },
        Source::Record(_) => Err(no_stream("disrupt")),
    }
}

/// For `launch`: promised claims from the stream; claims to try again and classes to try out from its
/// queue.
pub fn launch(settings: &Settings, source: &Source) -> Result<Option<LaunchTrigger>, Failure> {
    match source {
        Source::Message(body) => match message(settings, body)? {
            Message::Launch { claim } => Ok(Some(LaunchTrigger::Claim(claim))),
            Message::DryRun { class, key, asked_at } => {
                Ok(Some(LaunchTrigger::DryRun(DryRunTrigger { class, key, asked_at })))
            }
            other => Err(misdirected("launch", &other)),
        },
        Source::Record(record) => {
            Ok(claim_in(settings, record, ClaimPhase::Promised)?.map(LaunchTrigger::Claim))
        }
        Source::Event(_) => Err(no_event("launch")),
    }
}

/// For `settle`: launched claims from the stream, and claims to look after from its queue.
pub fn settle(settings: &Settings, source: &Source) -> Result<Option<NodeClaimName>, Failure> {
    match source {
        Source::Message(body) => match message(settings, body)? {
            Message::Settle { claim } => Ok(Some(claim)),
            other => Err(misdirected("settle", &other)),
        },
        Source::Record(record) => claim_in(settings, record, ClaimPhase::Launched),
        Source::Event(_) => Err(no_event("settle")),
    }
}

/// For `drain`: claims that are given up from the stream, and claims to go on with from its queue.
pub fn drain(settings: &Settings, source: &Source) -> Result<Option<NodeClaimName>, Failure> {
    match source {
        Source::Message(body) => match message(settings, body)? {
            Message::Drain { claim } => Ok(Some(claim)),
            other => Err(misdirected("drain", &other)),
        },
        Source::Record(record) => claim_in(settings, record, ClaimPhase::Deleting),
        Source::Event(_) => Err(no_event("drain")),
    }
}

/// For `resolve`: its schedule.
pub fn resolve(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled("resolve", source)
}

/// For `sweep`: its schedule.
pub fn sweep(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled("sweep", source)
}

/// For `catalog`: its schedule.
pub fn catalog(_: &Settings, source: &Source) -> Result<Option<()>, Failure> {
    only_scheduled("catalog", source)
}

fn only_scheduled(function: &str, source: &Source) -> Result<Option<()>, Failure> {
    match source {
        Source::Event(text) => scheduled(text).map(|_| Some(())),
        Source::Message(_) => Err(Failure::malformed(format!("`{function}` takes no messages"))),
        Source::Record(_) => Err(no_stream(function)),
    }
}

/// The message in `body`, if it is about the cluster that is served here.
fn message(settings: &Settings, body: &str) -> Result<Message, Failure> {
    let (cluster, message) = wire::message::decode(body).map_err(Failure::malformed)?;
    is_ours(settings, &cluster)?;
    Ok(message)
}

/// The claim in `record`, if it entered `phase`. The stream's filters let nothing else through, but
/// an emulator's or an older stack's may.
fn claim_in(
    settings: &Settings,
    record: &StreamRecord,
    phase: ClaimPhase,
) -> Result<Option<NodeClaimName>, Failure> {
    let claim = record.claim.clone().map_err(Failure::malformed)?;
    if let Some(cluster) = &record.cluster {
        is_ours(settings, cluster)?;
    }
    Ok(claim.filter(|claim| claim.phase == phase).map(|claim| claim.name))
}

fn is_ours(settings: &Settings, cluster: &ClusterName) -> Result<(), Failure> {
    if *cluster == settings.cluster {
        return Ok(());
    }
    let ours = &settings.cluster;
    Err(Failure::malformed(format!("it is about cluster `{cluster}`, and `{ours}` is served here")))
}

/// The event of an EventBridge schedule without an input of its own.
fn scheduled(text: &str) -> Result<ProvisionSource, Failure> {
    let event: Value = serde_json::from_str(text).map_err(Failure::malformed)?;
    let kind = event.get("detail-type").and_then(Value::as_str);
    match kind {
        Some("Scheduled Event") => Ok(ProvisionSource::Schedule),
        kind => Err(Failure::malformed(format!(
            "`detail-type` must be `Scheduled Event`, not `{}`",
            kind.unwrap_or_default()
        ))),
    }
}

fn misdirected(function: &str, message: &Message) -> Failure {
    Failure::malformed(format!("`{function}` has no use for the message {message:?}"))
}

fn no_stream(function: &str) -> Failure {
    Failure::malformed(format!("`{function}` takes no records of the stream"))
}

fn no_event(function: &str) -> Failure {
    Failure::malformed(format!("`{function}` takes no single events"))
}

#[cfg(test)]
mod tests;

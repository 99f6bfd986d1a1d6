//! What is known of trying a class out, and asking for it.

use launch_template::{
    conditions::{DryRun, Findings, conditions},
    try_out,
};
use model::{
    message::Message,
    node_class::{NodeClassStatus, SeenNodeClass},
};
use ports::{Adapters, Invocation, Ledger as _, PortError};

use super::ResolvePorts;
use crate::mail::send;

/// A class of which everything else is known.
pub(super) struct Candidate<'a> {
    pub(super) seen: &'a SeenNodeClass,
    /// The instance profile, or the launch template of the user's own and its version.
    pub(super) launched_with: &'a str,
    pub(super) findings: Findings,
}

/// Puts what trying the class out came to into the conditions of `status`, if it comes to that, and
/// asks for it when that is not known, or not any more. The last word stands until the next one.
pub(super) async fn validate<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    candidate: Candidate<'_>,
    status: &mut NodeClassStatus,
    at: &Invocation,
) -> Result<(), PortError> {
    let is_open = status.conditions.iter().any(|condition| {
        condition.kind == "ValidationSucceeded" && condition.reason == "AwaitingReconciliation"
    });
    if !is_open {
        return Ok(());
    }
    let Candidate { seen, launched_with, findings } = candidate;
    let class = &seen.class;
    let key = try_out::key(
        class,
        &seen.annotations,
        &status.subnets,
        &status.security_groups,
        &status.images,
        launched_with,
    );
    let known = ports.ledger.verdict(&at.cluster, &class.name).await?;
    // What could be launched from goes on to be while a change is tried out, or every new image
    // would keep pods waiting. Only what was refused, or never tried, is open until then.
    let known = known.filter(|verdict| verdict.key == key || verdict.failure.is_none());
    if known.as_ref().is_none_or(|verdict| verdict.key != key || verdict.due_at <= at.now) {
        let (class, asked_at) = (class.name.clone(), at.now);
        let message = Message::TryOut { class, key: key.clone(), asked_at };
        send(ports.mailbox, at, message, 0).await?;
    }
    if let Some(verdict) = known {
        let dry_run =
            verdict.failure.map_or(DryRun::Passed, |(check, why)| DryRun::Failed(check, why));
        status.conditions = conditions(class, &Findings { dry_run, ..findings }, true);
    }
    Ok(())
}

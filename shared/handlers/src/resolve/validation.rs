//! What is known of the dry run of a class, and whether one is due.

use launch_template::{DryRun, dry_run};
use model::{
    message::Message,
    node_class::{NodeClassStatus, ObservedNodeClass},
};
use ports::{Adapters, Invocation, Ledger as _, PortError};

use super::ResolvePorts;

/// What the dry run of the class came to, and the message to `launch` when that is not known, or not any
/// more. The last word stands until the next one. All else that `status` says is known; `launched_with` is the
/// instance profile, or the launch template of the user's own and its version.
pub(super) async fn dry_run<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    observed: &ObservedNodeClass,
    status: &NodeClassStatus,
    launched_with: &str,
    at: &Invocation,
) -> Result<(DryRun, Option<Message>), PortError> {
    let class = &observed.class;
    let key = dry_run::key(
        class,
        &observed.annotations,
        &status.subnets,
        &status.security_groups,
        &status.images,
        launched_with,
    );
    let stored = ports.ledger.validation(&at.cluster, &class.name).await?;
    // A class that could be launched from stays so while a dry run checks a change, or every new image would keep
    // pods pending. Only a class that was refused, or never checked, is open until then.
    let valid = stored.filter(|validation| validation.key == key || validation.failure.is_none());
    let is_due = valid
        .as_ref()
        .is_none_or(|validation| validation.key != key || validation.due_at <= at.now);
    let (name, asked_at) = (class.name.clone(), at.now);
    let message = is_due.then_some(Message::DryRun { class: name, key, asked_at });
    let failure = valid.map(|validation| validation.failure);
    let dry_run = failure.map_or(DryRun::Pending, |failure| {
        failure.map_or(DryRun::Passed, |(check, why)| DryRun::Failed(check, why))
    });
    Ok((dry_run, message))
}

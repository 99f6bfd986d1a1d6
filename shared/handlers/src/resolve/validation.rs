//! What is known of the dry run of a class, and whether one is due.

use launch_template::{DryRun, try_out};
use model::{
    message::Message,
    node_class::{NodeClassStatus, SeenNodeClass},
};
use ports::{Adapters, Invocation, Ledger as _, PortError};

use super::ResolvePorts;

/// What the dry run of the class came to, and the question for `launch` when that is not known, or not any
/// more. The last word stands until the next one. All else that `status` says is known; `launched_with` is the
/// instance profile, or the launch template of the user's own and its version.
pub(super) async fn dry_run<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    seen: &SeenNodeClass,
    status: &NodeClassStatus,
    launched_with: &str,
    at: &Invocation,
) -> Result<(DryRun, Option<Message>), PortError> {
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
    let is_due =
        known.as_ref().is_none_or(|verdict| verdict.key != key || verdict.due_at <= at.now);
    let (name, asked_at) = (class.name.clone(), at.now);
    let question = is_due.then_some(Message::TryOut { class: name, key, asked_at });
    let failure = known.map(|verdict| verdict.failure);
    let dry_run = failure.map_or(DryRun::Pending, |failure| {
        failure.map_or(DryRun::Passed, |(check, why)| DryRun::Failed(check, why))
    });
    Ok((dry_run, question))
}

//! What is known of trying a class out, and asking for it.

use launch_template::{DryRun, try_out};
use model::{
    message::Message,
    node_class::{NodeClassStatus, SeenNodeClass},
};
use ports::{Adapters, Invocation, Ledger as _, PortError};

use super::ResolvePorts;
use crate::mail::send;

/// What the dry run of the class came to, which is asked for when that is not known, or not any more.
/// The last word stands until the next one. All else that `status` says is known; `launched_with` is the
/// instance profile, or the launch template of the user's own and its version.
pub(super) async fn dry_run<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    seen: &SeenNodeClass,
    status: &NodeClassStatus,
    launched_with: &str,
    at: &Invocation,
) -> Result<DryRun, PortError> {
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
    let failure = known.map(|verdict| verdict.failure);
    Ok(failure.map_or(DryRun::Pending, |failure| {
        failure.map_or(DryRun::Passed, |(check, why)| DryRun::Failed(check, why))
    }))
}

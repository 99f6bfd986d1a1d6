//! What is known of trying a class out, and asking for it.

use launch_template::{
    conditions::{DryRun, Findings, conditions},
    try_out,
};
use model::{
    message::Message,
    node_class::{NodeClassStatus, SeenNodeClass},
};
use ports::{Invocation, Ledger, Mailbox, PortError};

use crate::mail::send;

/// Puts what trying the class out came to into the conditions of `status`, if it comes to that, and
/// asks for it when that is not known, or not any more. The last word stands until the next one.
#[expect(clippy::too_many_arguments, reason = "the parameters are what the function may touch")]
pub(super) async fn validate(
    ledger: &impl Ledger,
    mailbox: &impl Mailbox,
    seen: &SeenNodeClass,
    launched_with: Option<&str>,
    findings: Findings,
    status: &mut NodeClassStatus,
    at: &Invocation,
) -> Result<(), PortError> {
    let is_open = status.conditions.iter().any(|condition| {
        condition.kind == "ValidationSucceeded" && condition.reason == "AwaitingReconciliation"
    });
    let Some(launched_with) = launched_with.filter(|_| is_open) else { return Ok(()) };
    let class = &seen.class;
    let key = try_out::key(
        class,
        &seen.annotations,
        &status.subnets,
        &status.security_groups,
        &status.images,
        launched_with,
    );
    let known = ledger.verdict(&at.cluster, &class.name).await?;
    // What could be launched from goes on to be while a change is tried out, or every new image
    // would keep pods waiting. Only what was refused, or never tried, is open until then.
    let known = known.filter(|verdict| verdict.key == key || verdict.failure.is_none());
    if known.as_ref().is_none_or(|verdict| verdict.key != key || verdict.due_at <= at.now) {
        let (class, asked_at) = (class.name.clone(), at.now);
        let message = Message::TryOut { class, key: key.clone(), asked_at };
        send(mailbox, at, message, 0).await?;
    }
    if let Some(verdict) = known {
        let dry_run =
            verdict.failure.map_or(DryRun::Passed, |(check, why)| DryRun::Failed(check, why));
        status.conditions = conditions(class, &Findings { dry_run, ..findings }, true);
    }
    Ok(())
}

//! The secret path of `wake` changes each day: the webhooks that call it get that of today.
//!
//! It needs nothing of the ledger, and a cluster without the webhooks gets none: `journeyman install` makes them.

use ports::{Adapters, Fault, Invocation, PortError, Webhooks as _};

use super::SweepPorts;

/// Sets the path of today where the webhooks have another one. Nothing is asked in a stack without `wake`.
pub(super) async fn renew<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<(), PortError> {
    let Some(key) = &ports.settings.wake_key else { return Ok(()) };
    let Some(webhooks) = ports.webhooks.of_wake().await? else { return Ok(()) };
    let path = key.path(&at.cluster, at.now);
    let Some(changed) = webhooks.with_path(&path) else { return Ok(()) };
    let count = changed.urls.len();
    match ports.webhooks.set_urls(&changed).await {
        Ok(()) => tracing::info!(count, "the webhooks of wake have the path of today"),
        // `wake` takes the path of yesterday until the next look.
        Err(error) if matches!(error.fault, Fault::Conflict | Fault::NotFound) => {
            tracing::warn!(
                count,
                "the webhooks of wake changed meanwhile: they get their path later"
            );
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

//! The Lambda function `provision`: pending pods become promised NodeClaims.

use bootstrap::trigger;
use handlers::ProvisionTrigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (cluster, catalog) = (platform.cluster().await?, platform.catalog());
    let (discovery, ledger, mailbox) =
        (platform.discovery(), platform.ledger(), platform.mailbox());
    let offers = handlers::Offers::default();
    let handle = async |trigger: ProvisionTrigger, at: &Invocation| {
        let report = handlers::provision(
            &cluster, &catalog, &discovery, &ledger, &mailbox, &offers, trigger, at,
        )
        .await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve("provision", &platform, trigger::provision, handle).await
}

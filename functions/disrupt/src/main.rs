//! The Lambda function `disrupt`: NodeClaims that are no longer wanted are given up.

use bootstrap::trigger;
use handlers::DisruptTrigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (cluster, catalog) = (platform.cluster().await?, platform.catalog());
    let (discovery, ledger, mailbox) =
        (platform.discovery(), platform.ledger(), platform.mailbox());
    let offers = handlers::Offers::default();
    let handle = async |trigger: DisruptTrigger, at: &Invocation| {
        let report = handlers::disrupt(
            &cluster, &cluster, &catalog, &discovery, &ledger, &mailbox, &offers, trigger, at,
        )
        .await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve("disrupt", &platform, trigger::disrupt, handle).await
}

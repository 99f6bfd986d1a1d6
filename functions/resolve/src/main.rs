//! The Lambda function `resolve`: EC2NodeClasses are told what they select, NodePools what they have.

use bootstrap::trigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let cluster = platform.cluster().await?;
    let (discovery, profiles, fleet) =
        (platform.discovery(), platform.profiles(), platform.fleet());
    let (templates, ledger, mailbox) =
        (platform.templates(), platform.ledger(), platform.mailbox());
    let is_dry_run_disabled = platform.settings().is_dry_run_disabled;
    let handle = async |(): (), at: &Invocation| {
        let report = handlers::resolve(
            &cluster,
            &cluster,
            &cluster,
            &discovery,
            &profiles,
            &templates,
            &fleet,
            &ledger,
            &mailbox,
            is_dry_run_disabled,
            at,
        )
        .await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve("resolve", &platform, trigger::resolve, handle).await
}

//! The Lambda function `disrupt`: NodeClaims that are no longer wanted are given up.

use bootstrap::trigger;
use handlers::DisruptTrigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let cluster = platform.cluster().await?;
    let (ledger, mailbox) = (platform.ledger(), platform.mailbox());
    let handle = async |trigger: DisruptTrigger, at: &Invocation| {
        let report = handlers::disrupt(&cluster, &ledger, &mailbox, trigger, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve("disrupt", &platform, trigger::disrupt, handle).await
}

//! The Lambda function `interrupt`: NodeClaims whose instances are taken away are given up.

use bootstrap::trigger;
use model::interruption::Interruption;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (ledger, mailbox) = (platform.ledger(), platform.mailbox());
    let handle = async |interruption: Interruption, at: &Invocation| {
        let report = handlers::interrupt(&ledger, &mailbox, &interruption, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve("interrupt", &platform, trigger::interrupt, handle).await
}

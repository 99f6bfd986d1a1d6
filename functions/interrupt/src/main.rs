//! The Lambda function `interrupt`: deletes the NodeClaims of instances that end.

use bootstrap::{Platform, WallClock, trigger};
use handlers::InterruptPorts;
use model::{Function, interruption::Interruption};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Interrupt).await?;
    let ports = InterruptPorts::<Platform> {
        ledger: &platform.ledger(),
        mailbox: &platform.mailbox(),
        settings: platform.settings(),
        clock: &WallClock,
    };
    let handle = async |interruptions: Vec<Vec<Interruption>>, at: &Invocation| {
        let interruptions = interruptions.concat();
        handlers::count_messages(platform.metrics(), &interruptions);
        let report = handlers::interrupt(&ports, &interruptions, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    // Together: a batch of events is one commit.
    bootstrap::serve_together(&platform, trigger::interrupt, handle).await
}

//! The Lambda function `settle`: NodeClaims with an instance are followed until their node is ready.

use bootstrap::trigger;
use model::NodeClaimName;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (ledger, nodes) = (platform.ledger(), platform.cluster().await?);
    let (fleet, mailbox) = (platform.fleet(), platform.mailbox());
    let handle = async |claim: NodeClaimName, at: &Invocation| {
        handlers::settle(&ledger, &nodes, &nodes, &fleet, &mailbox, &claim, at).await
    };
    bootstrap::serve("settle", &platform, trigger::settle, handle).await
}

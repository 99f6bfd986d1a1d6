//! The Lambda function `drain`: the nodes of NodeClaims that are given up are emptied and ended.

use bootstrap::trigger;
use model::NodeClaimName;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (ledger, nodes) = (platform.ledger(), platform.cluster().await?);
    let (fleet, mailbox) = (platform.fleet(), platform.mailbox());
    let handle = async |claim: NodeClaimName, at: &Invocation| {
        handlers::drain(&ledger, &nodes, &nodes, &fleet, &mailbox, &claim, at).await
    };
    bootstrap::serve("drain", &platform, trigger::drain, handle).await
}

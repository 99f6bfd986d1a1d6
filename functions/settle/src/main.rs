//! The Lambda function `settle`: NodeClaims with an instance are followed until their node is ready.

use bootstrap::{Platform, trigger};
use handlers::SettlePorts;
use model::NodeClaimName;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let cluster = platform.cluster().await?;
    let ports = SettlePorts::<Platform> {
        ledger: &platform.ledger(),
        nodes: &cluster,
        node_claims: &cluster,
        fleet: &platform.fleet(),
        mailbox: &platform.mailbox(),
    };
    let handle =
        async |claim: NodeClaimName, at: &Invocation| handlers::settle(&ports, &claim, at).await;
    bootstrap::serve("settle", &platform, trigger::settle, handle).await
}

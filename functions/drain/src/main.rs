//! The Lambda function `drain`: the nodes of NodeClaims that are given up are emptied and ended.

use bootstrap::{Platform, trigger};
use handlers::DrainPorts;
use model::NodeClaimName;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let cluster = platform.cluster().await?;
    let ports = DrainPorts::<Platform> {
        ledger: &platform.ledger(),
        nodes: &cluster,
        node_claims: &cluster,
        fleet: &platform.fleet(),
        mailbox: &platform.mailbox(),
    };
    let handle =
        async |claim: NodeClaimName, at: &Invocation| handlers::drain(&ports, &claim, at).await;
    bootstrap::serve("drain", &platform, trigger::drain, handle).await
}

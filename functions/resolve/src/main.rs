//! The Lambda function `resolve` writes into the status of EC2NodeClasses what they select, of NodePools what they have,
//! and of NodeOverlays whether they are in use.

use bootstrap::{Platform, WallClock, trigger};
use handlers::ResolvePorts;
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Resolve).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = ResolvePorts::<Platform> {
        node_classes: &cluster,
        node_pools: &cluster,
        statuses: &cluster,
        catalog: &platform.catalog(),
        discovery: &platform.discovery(),
        profiles: &platform.profiles(),
        ledger: &platform.ledger(),
        mailbox: &platform.mailbox(),
        settings: platform.settings(),
        metrics: platform.metrics(),
        memory,
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let at = handlers::waited(&WallClock, signal, at).await;
        let report = handlers::resolve(&ports, &at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::resolve, handle).await
}

//! The Lambda function `provision`: creates NodeClaims for pending pods.

use bootstrap::{Platform, WallClock, trigger};
use handlers::{ProvisionPorts, Recorder};
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Provision).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = ProvisionPorts::<Platform> {
        cluster: &cluster,
        catalog: &platform.catalog(),
        discovery: &platform.discovery(),
        ledger: &platform.ledger(),
        mailbox: &platform.mailbox(),
        node_pools: &cluster,
        statuses: &cluster,
        clock: &WallClock,
        recorder: Recorder { events: &cluster, memory },
        memory,
        settings: platform.settings(),
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let report = handlers::provision(&ports, signal, at).await?;
        bootstrap::log_report(&report);
        handlers::note_report(platform.metrics(), &report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::provision, handle).await
}

//! The Lambda function `disrupt`: deletes NodeClaims that are no longer needed.

use bootstrap::{Platform, WallClock, trigger};
use handlers::{DisruptPorts, Recorder};
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Disrupt).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = DisruptPorts::<Platform> {
        cluster: &cluster,
        node_claims: &cluster,
        nodes: &cluster,
        catalog: &platform.catalog(),
        discovery: &platform.discovery(),
        ledger: &platform.ledger(),
        mailbox: &platform.mailbox(),
        clock: &WallClock,
        recorder: Recorder { events: &cluster, memory },
        memory,
        settings: platform.settings(),
        metrics: platform.metrics(),
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let report = handlers::disrupt(&ports, signal, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::disrupt, handle).await
}

//! The Lambda function `drain`: drains the nodes of deleted NodeClaims and terminates their instances.

use bootstrap::{Platform, WallClock, trigger};
use handlers::{DrainPorts, Recorder};
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Drain).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = DrainPorts::<Platform> {
        ledger: &platform.ledger(),
        cluster: &cluster,
        nodes: &cluster,
        node_claims: &cluster,
        fleet: &platform.fleet(),
        mailbox: &platform.mailbox(),
        clock: &WallClock,
        recorder: Recorder { events: &cluster, memory },
        settings: platform.settings(),
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let report = handlers::drain(&ports, signal, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::drain, handle).await
}

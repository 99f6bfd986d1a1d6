//! The Lambda function `sweep`: corrects what differs from the desired state, and removes what is unused.

use bootstrap::{Platform, WallClock, trigger};
use handlers::{Recorder, SweepPorts};
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Sweep).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = SweepPorts::<Platform> {
        cluster: &cluster,
        leases: &cluster,
        webhooks: &cluster,
        catalog: &platform.catalog(),
        node_claims: &cluster,
        discovery: &platform.discovery(),
        profiles: &platform.profiles(),
        templates: &platform.templates(),
        fleet: &platform.fleet(),
        ledger: &platform.ledger(),
        mailbox: &platform.mailbox(),
        nodes: &cluster,
        settings: platform.settings(),
        memory,
        recorder: Recorder { events: &cluster, memory },
        clock: &WallClock,
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let at = handlers::waited(&WallClock, signal, at).await;
        let report = handlers::sweep(&ports, &at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::sweep, handle).await
}

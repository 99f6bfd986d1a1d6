//! The Lambda function `settle`: NodeClaims with an instance are followed until their node is ready.

use bootstrap::{Platform, WallClock, trigger};
use handlers::{Recorder, SettlePorts};
use model::{Function, pulse::Signal};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Settle).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = SettlePorts::<Platform> {
        ledger: &platform.ledger(),
        nodes: &cluster,
        node_claims: &cluster,
        fleet: &platform.fleet(),
        forensics: &platform.forensics(),
        mailbox: &platform.mailbox(),
        recorder: Recorder { events: &cluster, memory },
        clock: &WallClock,
    };
    let handle = async |signal: Signal, at: &Invocation| {
        let report = handlers::settle(&ports, signal, at).await?;
        bootstrap::log_report(&report);
        Ok(())
    };
    bootstrap::serve(&platform, trigger::settle, handle).await
}

//! The Lambda function `launch`: launches the instances of new NodeClaims, and checks classes by a dry run.

use bootstrap::{
    Platform, WallClock,
    trigger::{self, LaunchTrigger},
};
use handlers::{LaunchPorts, Recorder};
use model::Function;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Launch).await?;
    let (cluster, memory) = (platform.cluster().await?, &platform.memory());
    let ports = LaunchPorts::<Platform> {
        ledger: &platform.ledger(),
        cluster: &cluster,
        catalog: &platform.catalog(),
        discovery: &platform.discovery(),
        templates: &platform.templates(),
        fleet: &platform.fleet(),
        mailbox: &platform.mailbox(),
        clock: &WallClock,
        recorder: Recorder { events: &cluster, memory },
        memory,
        settings: platform.settings(),
    };
    let handle = async |trigger: LaunchTrigger, at: &Invocation| match trigger {
        LaunchTrigger::Pulse(signal) => {
            bootstrap::log_report(&handlers::launch(&ports, signal, at).await?);
            Ok(())
        }
        LaunchTrigger::DryRun(question) => handlers::dry_run(&ports, &question, at).await,
    };
    bootstrap::serve(&platform, trigger::launch, handle).await
}

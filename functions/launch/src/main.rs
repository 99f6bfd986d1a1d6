//! The Lambda function `launch`: promised NodeClaims become instances, and classes are checked by a dry run.

use bootstrap::{Platform, trigger};
use handlers::{LaunchPorts, LaunchTrigger};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let ports = LaunchPorts::<Platform> {
        ledger: &platform.ledger(),
        cluster: &platform.cluster().await?,
        catalog: &platform.catalog(),
        discovery: &platform.discovery(),
        templates: &platform.templates(),
        fleet: &platform.fleet(),
        mailbox: &platform.mailbox(),
        offers: &handlers::Offers::default(),
    };
    let handle = async |triggers: Vec<LaunchTrigger>, at: &Invocation| {
        let (claims, questions) = LaunchTrigger::sorted(triggers);
        handlers::launch(&ports, &claims, at).await?;
        for question in &questions {
            handlers::dry_run(&ports, question, at).await?;
        }
        Ok(())
    };
    // Together, because the claims of a batch share one fleet request.
    bootstrap::serve_together("launch", &platform, trigger::launch, handle).await
}

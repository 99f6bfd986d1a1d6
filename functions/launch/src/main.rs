//! The Lambda function `launch`: promised NodeClaims become instances, and classes are tried out.

use bootstrap::trigger;
use handlers::LaunchTrigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (ledger, cluster, catalog) =
        (platform.ledger(), platform.cluster().await?, platform.catalog());
    let (discovery, templates, profiles) =
        (platform.discovery(), platform.templates(), platform.profiles());
    let (fleet, mailbox) = (platform.fleet(), platform.mailbox());
    let offers = handlers::Offers::default();
    let handle = async |triggers: Vec<LaunchTrigger>, at: &Invocation| {
        let (claims, questions) = LaunchTrigger::sorted(triggers);
        handlers::launch(
            &ledger, &cluster, &catalog, &discovery, &templates, &profiles, &fleet, &mailbox,
            &offers, &claims, at,
        )
        .await?;
        for question in &questions {
            handlers::try_out(
                &ledger, &cluster, &catalog, &discovery, &templates, &profiles, &fleet, &mailbox,
                &offers, question, at,
            )
            .await?;
        }
        Ok(())
    };
    // Together, because the claims of a batch share one fleet request.
    bootstrap::serve_together("launch", &platform, trigger::launch, handle).await
}

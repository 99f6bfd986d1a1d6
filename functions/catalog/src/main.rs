//! The Lambda function `catalog`: what is sold in the region is asked for and kept.

use bootstrap::trigger;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start().await?;
    let (market, shelf, builtin) =
        (platform.market(), platform.shelf(), bootstrap::builtin_catalog()?);
    let region = platform.region();
    let handle = async |(): (), at: &Invocation| {
        handlers::catalog(&market, &shelf, region, &builtin, at).await
    };
    bootstrap::serve("catalog", &platform, trigger::catalog, handle).await
}

//! The Lambda function `catalog`: what is sold in the region is asked for and kept.

use bootstrap::{Platform, trigger};
use handlers::CatalogPorts;
use model::Function;
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Catalog).await?;
    let sold = platform.catalog();
    let ports = CatalogPorts::<Platform> {
        market: &platform.market(),
        catalog_store: &platform.catalog_store(),
        settings: platform.settings(),
    };
    let handle = async |(): (), at: &Invocation| {
        handlers::catalog(&ports, platform.region(), &*sold.builtin()?, at).await
    };
    bootstrap::serve(&platform, trigger::catalog, handle).await
}

//! The contract of `Webhooks`: URLs are read and changed, and nothing else is.

use model::wake::WakeWebhooks;
use ports::{Fault, Webhooks};

use super::{Case, Failure, same};

/// What others do to the webhooks of `wake`.
pub trait WebhookWorld {
    /// A person installs them with these names and URLs, in the place of those that are there.
    async fn install(&self, urls: &[(&str, &str)]);
    /// A person removes them.
    async fn remove(&self);
}

const NAMES: [&str; 2] = ["one.wake.journeyman", "two.wake.journeyman"];
const FORMER: &str = "https://host.test/former";
const PRESENT: &str = "https://host.test/present";

/// Runs every case, in a cluster whose webhooks of `wake` no other program touches meanwhile.
pub async fn webhooks<P: Webhooks, W: WebhookWorld>(port: &P, world: &W) -> Vec<Case> {
    vec![
        Case::of("one URL is changed and the other stays", changed(port, world).await),
        Case::of("a change since they were read is refused", stale(port, world).await),
        Case::of("what is not there is not made", absent(port, world).await),
    ]
}

async fn read<P: Webhooks>(port: &P) -> Result<WakeWebhooks, Failure> {
    port.of_wake().await?.ok_or_else(|| Failure("there are no webhooks".to_owned()))
}

fn pairs(urls: [&str; 2]) -> Vec<(String, String)> {
    NAMES.iter().zip(urls).map(|(name, url)| ((*name).to_owned(), url.to_owned())).collect()
}

/// The second one with [`PRESENT`].
fn second(seen: WakeWebhooks) -> WakeWebhooks {
    WakeWebhooks { urls: vec![(NAMES[1].to_owned(), PRESENT.to_owned())], ..seen }
}

async fn changed<P: Webhooks, W: WebhookWorld>(port: &P, world: &W) -> Result<(), Failure> {
    world.install(&NAMES.map(|name| (name, FORMER))).await;
    let seen = read(port).await?;
    same("the URLs", &seen.urls, &pairs([FORMER, FORMER]))?;
    port.set_urls(&second(seen.clone())).await?;
    let after = read(port).await?;
    same("the URLs", &after.urls, &pairs([FORMER, PRESENT]))?;
    same("the configuration", &after.uid, &seen.uid)
}

async fn stale<P: Webhooks, W: WebhookWorld>(port: &P, world: &W) -> Result<(), Failure> {
    world.install(&NAMES.map(|name| (name, FORMER))).await;
    let seen = second(read(port).await?);
    port.set_urls(&seen).await?;
    let again = WakeWebhooks { urls: vec![(NAMES[0].to_owned(), PRESENT.to_owned())], ..seen };
    let refused = port.set_urls(&again).await.map_err(|error| error.fault);
    same("the answer", &refused, &Err(Fault::Conflict))?;
    same("the URLs", &read(port).await?.urls, &pairs([FORMER, PRESENT]))
}

async fn absent<P: Webhooks, W: WebhookWorld>(port: &P, world: &W) -> Result<(), Failure> {
    world.install(&NAMES.map(|name| (name, FORMER))).await;
    let seen = second(read(port).await?);
    world.remove().await;
    same("the webhooks", &port.of_wake().await?, &None)?;
    let refused = port.set_urls(&seen).await.map_err(|error| error.fault);
    same("the answer", &refused, &Err(Fault::NotFound))
}

//! What is sold in the account's region.

use instance_catalog::price_list;
use jiff::Timestamp;
use ports::Market as _;

use super::AccountClient;
use crate::live::{LiveAnswer, Sold, failure::of_port};

impl AccountClient {
    /// What is sold in the region at `now`.
    pub fn sold(&self, now: Timestamp) -> LiveAnswer<Sold> {
        let market = self.adapters()?.market();
        self.runtime.block_on(async {
            Ok(Sold {
                region: self.region.clone(),
                zones: market.zones().await.map_err(|error| of_port("ec2", &error))?,
                types: market.instance_types().await.map_err(|error| of_port("ec2", &error))?,
                offered: market.offered().await.map_err(|error| of_port("ec2", &error))?,
                on_demand: if price_list::has(&self.region) {
                    let prices = market.on_demand().await;
                    Some(prices.map_err(|error| of_port("pricing", &error))?)
                } else {
                    None
                },
                spot: market.spot(now).await.map_err(|error| of_port("ec2", &error))?,
            })
        })
    }
}

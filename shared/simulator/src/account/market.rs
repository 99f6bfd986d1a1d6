//! What is for sale, for how much, and what was. Prices of today are in the world's catalog.

use std::sync::Arc;

use jiff::Timestamp;
use model::{CapacityType, HourlyPrice, Offering, OfferingKey, RegionCatalog};

use crate::world::World;

/// A spot price, and from when on it was so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpotPrice {
    /// Of which offering.
    pub offering: OfferingKey,
    /// From when on.
    pub since: Timestamp,
    /// For an hour.
    pub price: HourlyPrice,
}

impl World {
    pub(crate) fn set_capacity(&mut self, offering: OfferingKey, instances: Option<u32>) {
        match instances {
            Some(instances) => self.account.capacity.insert(offering, instances),
            None => self.account.capacity.remove(&offering),
        };
    }

    /// Every offering that is sold, and its price.
    pub(crate) fn sold(&self) -> Vec<(OfferingKey, HourlyPrice)> {
        let types = self.catalog.instance_types.iter();
        types
            .flat_map(|instance_type| {
                let offerings = instance_type.offerings.iter();
                offerings.map(|offering| (instance_type.key_of(offering), offering.price))
            })
            .collect()
    }

    pub(crate) fn set_price(&mut self, offering: &OfferingKey, price: HourlyPrice) {
        let now = self.now;
        let mut catalog = RegionCatalog::clone(&self.catalog);
        let types = catalog.instance_types.iter_mut();
        for shared in types.filter(|t| t.name == offering.instance_type) {
            let instance_type = Arc::make_mut(shared);
            let same = |o: &&mut Offering| {
                o.zone == offering.zone && o.capacity_type == offering.capacity_type
            };
            for sold in instance_type.offerings.iter_mut().filter(same) {
                if offering.capacity_type == CapacityType::Spot {
                    let past = SpotPrice {
                        offering: offering.clone(),
                        since: self.account.spot_price_since(offering, self.settings.start),
                        price: sold.price,
                    };
                    self.account.past_spot_prices.push((now, past));
                }
                sold.price = price;
            }
        }
        self.catalog = Arc::new(catalog);
        let records = self.account.instances.values_mut();
        for record in
            records.filter(|r| r.is_live() && r.offering == *offering && r.held_at(now).is_none())
        {
            record.reprice(price, now);
        }
    }

    /// The spot prices that held at `from` or later, newest first for each offering.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html>
    pub(crate) fn spot_prices(&self, from: Timestamp) -> Vec<SpotPrice> {
        let current = self.catalog.instance_types.iter().flat_map(|instance_type| {
            let spot = instance_type.offerings.iter();
            spot.filter(|sold| sold.capacity_type == CapacityType::Spot).map(|sold| {
                let offering = instance_type.key_of(sold);
                let since = self.account.spot_price_since(&offering, self.settings.start);
                SpotPrice { offering, since, price: sold.price }
            })
        });
        let past = self.account.past_spot_prices.iter().filter(|(until, _)| *until > from);
        let mut prices: Vec<SpotPrice> =
            current.chain(past.map(|(_, price)| price.clone())).collect();
        prices.sort_by(|a, b| a.offering.cmp(&b.offering).then(b.since.cmp(&a.since)));
        prices
    }
}

impl super::Account {
    /// Since when the offering has its price of today.
    fn spot_price_since(&self, offering: &OfferingKey, start: Timestamp) -> Timestamp {
        let changes = self.past_spot_prices.iter();
        changes
            .filter(|(_, past)| past.offering == *offering)
            .map(|(at, _)| *at)
            .max()
            .unwrap_or(start)
    }
}

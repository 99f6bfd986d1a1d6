//! What is sold in the region, asked for and put on the catalog store for those who decide.
//!
//! Prices that cannot be had are those of the last time, or the ones that come with the program: a
//! region without a price list (GovCloud) or a network without a way to it must launch all the same.
//! A type that is sold and whose description cannot be read keeps its last one.
//!
//! Karpenter: `pkg/providers/pricing` and `pkg/providers/instancetype` of the AWS provider.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    HourlyPrice, InstanceTypeInfo, InstanceTypeName, RegionCatalog, Zone,
    instance_type_info::{RegionMarket as Prices, StoredRegionCatalog},
};
use ports::{Adapters, CatalogStore as _, Fault, Invocation, Market as _, PortError};

use crate::{Error, Settings, error::story};

/// What is so young is not asked for again.
///
/// Karpenter asks twice a day; spot prices are worth more than that, and one round is some thirty
/// calls.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
const OPERATION: &str = "refresh the catalog";

/// Everything that `catalog` may touch.
#[derive(Debug)]
pub struct CatalogPorts<'a, A: Adapters> {
    /// What is sold, and for how much.
    pub market: &'a A::Market,
    /// Where it is stored.
    pub catalog_store: &'a A::CatalogStore,
    /// Whether prices are asked for, and what nodes keep for themselves.
    pub settings: &'a Settings,
}

/// Asks what is sold in `region` and stores it. `builtin` knows what no call answers, and prices to
/// begin with.
pub async fn catalog<A: Adapters>(
    ports: &CatalogPorts<'_, A>,
    region: &str,
    builtin: &RegionCatalog,
    at: &Invocation,
) -> Result<(), Error> {
    let CatalogPorts { market, catalog_store, settings } = *ports;
    let before = catalog_store.stored().await?;
    let age = before.as_ref().map(|before| at.now.duration_since(before.found_at));
    if age.is_some_and(|age| age < FRESH) {
        return Ok(());
    }
    let descriptions = market.instance_types().await?;
    let zones = market.zones().await?;
    let offered = market.offered().await?;
    // An empty answer is none: what is known stays.
    if descriptions.is_empty() || offered.is_empty() || zones.is_empty() {
        let why = "EC2 named no instance type, no zone, or nothing that is sold";
        return Err(PortError::because(OPERATION, Fault::Transient, why).into());
    }
    let prices = Prices {
        region: region.to_owned(),
        zones,
        offered,
        on_demand: if settings.is_isolated {
            BTreeMap::new()
        } else {
            or_none("on-demand prices", market.on_demand().await)
        },
        spot: or_none("spot prices", market.spot(at.now).await),
    };
    let descriptions = with_former(descriptions, &prices.offered, before.as_ref());
    let stored_prices = before.map(|before| Prices::of(&before.catalog));
    let market = priced(prices, stored_prices, || Prices::of(builtin).on_demand);
    let descriptions = with_facts(descriptions, builtin);
    let catalog = launch_template::catalog(&market, descriptions, &settings.nodes);
    let stored = StoredRegionCatalog { catalog, found_at: at.now };
    catalog_store.put(&stored).await?;
    let types = stored.catalog.instance_types.len();
    let (on_demand, spot) = (market.on_demand.len(), market.spot.len());
    tracing::info!(types, on_demand, spot, "catalog refreshed");
    Ok(())
}

fn or_none<K: Ord, V>(what: &str, answer: Result<BTreeMap<K, V>, PortError>) -> BTreeMap<K, V> {
    answer.unwrap_or_else(|error| {
        tracing::warn!(what, story = story(&error), "the last ones are kept");
        BTreeMap::new()
    })
}

/// What was `asked`, over what was `known` before; at first over the `builtin` on-demand prices.
/// Without any spot price yet, spot costs what on-demand does.
fn priced(
    asked: Prices,
    known: Option<Prices>,
    builtin: impl FnOnce() -> BTreeMap<InstanceTypeName, HourlyPrice>,
) -> Prices {
    let is_first = known.is_none();
    let Prices { region, zones, offered, .. } = asked;
    let (mut on_demand, mut spot) = match known {
        Some(known) => (known.on_demand, known.spot),
        None => (builtin(), BTreeMap::new()),
    };
    on_demand.extend(asked.on_demand);
    if is_first && asked.spot.is_empty() {
        for (name, zones) in &offered {
            let Some(price) = on_demand.get(name) else { continue };
            spot.extend(zones.iter().map(|zone| ((name.clone(), zone.clone()), *price)));
        }
    }
    spot.extend(asked.spot);
    Prices { region, zones, offered, on_demand, spot }
}

/// `descriptions`, and those of `before` of types that are `offered` and not among them. A market leaves out what it
/// cannot read, which does not mean that the type is not sold any more: its nodes would drift.
fn with_former(
    mut descriptions: Vec<InstanceTypeInfo>,
    offered: &BTreeMap<InstanceTypeName, BTreeSet<Zone>>,
    before: Option<&StoredRegionCatalog>,
) -> Vec<InstanceTypeInfo> {
    let Some(before) = before else { return descriptions };
    let described: BTreeSet<InstanceTypeName> =
        descriptions.iter().map(|info| info.name.clone()).collect();
    let missing = offered.keys().filter(|name| !described.contains(*name));
    for former in missing.filter_map(|name| before.catalog.descriptions.get(name)) {
        tracing::warn!(instance_type = %former.name, "sold and not described: the last description is kept");
        descriptions.push(InstanceTypeInfo::clone(former));
    }
    descriptions
}

/// `descriptions` with what no call answers, where `builtin` knows it.
fn with_facts(
    descriptions: Vec<InstanceTypeInfo>,
    builtin: &RegionCatalog,
) -> Vec<InstanceTypeInfo> {
    let with_facts = |info: InstanceTypeInfo| {
        let table = builtin.descriptions.get(&info.name).map_or(info.table, |known| known.table);
        InstanceTypeInfo { table, ..info }
    };
    descriptions.into_iter().map(with_facts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
        text.parse().unwrap()
    }

    type Spot = BTreeMap<(InstanceTypeName, Zone), HourlyPrice>;

    fn spot(nanos: &[(&str, u64)]) -> Spot {
        let price = |(zone, nanos): &(&str, u64)| {
            ((id("m7g.large"), id(zone)), HourlyPrice::from_nanos(*nanos))
        };
        nanos.iter().map(price).collect()
    }

    fn prices(on_demand: &[(&str, u64)], spot: Spot) -> Prices {
        let zones: BTreeSet<Zone> = [id("us-west-2a"), id("us-west-2b")].into();
        Prices {
            region: "us-west-2".to_owned(),
            zones: BTreeMap::new(),
            offered: BTreeMap::from([(id("m7g.large"), zones)]),
            on_demand: on_demand
                .iter()
                .map(|(n, nanos)| (id(n), HourlyPrice::from_nanos(*nanos)))
                .collect(),
            spot,
        }
    }

    #[test]
    fn prices_that_cannot_be_had_are_those_that_come_with_the_program() {
        let builtin = prices(&[("m7g.large", 80)], spot(&[("us-west-2a", 1)]));
        let first = priced(prices(&[], Spot::new()), None, || builtin.on_demand.clone());
        assert_eq!(first.on_demand, builtin.on_demand);
        // Spot costs what on-demand does, not the spot price of other capacity.
        assert_eq!(first.spot, spot(&[("us-west-2a", 80), ("us-west-2b", 80)]));
    }

    #[test]
    fn new_prices_go_over_old_ones_and_an_unknown_zone_has_none() {
        let builtin = prices(&[("m7g.large", 80), ("m7i.large", 100)], Spot::new());
        let asked = prices(&[("m7g.large", 81)], spot(&[("us-west-2a", 30)]));
        let first = priced(asked, None, || builtin.on_demand.clone());
        assert_eq!(
            first.on_demand,
            prices(&[("m7g.large", 81), ("m7i.large", 100)], Spot::new()).on_demand
        );
        assert_eq!(first.spot, spot(&[("us-west-2a", 30)]));
        let partial = prices(&[], spot(&[("us-west-2b", 31)]));
        let second = priced(partial, Some(first.clone()), BTreeMap::new);
        assert_eq!(second.on_demand, first.on_demand);
        assert_eq!(second.spot, spot(&[("us-west-2a", 30), ("us-west-2b", 31)]));
        let none = priced(prices(&[], Spot::new()), Some(second.clone()), BTreeMap::new);
        assert_eq!(none, second);
    }
}

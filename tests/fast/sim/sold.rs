//! What is known of what is sold, where EC2 does not tell all of it.

use std::sync::Arc;

use handlers::{CatalogPorts, Settings};
use jiff::SignedDuration;
use model::{Function, InstanceTypeName, RegionCatalog, instance_type_info::StoredRegionCatalog};
use ports::{CatalogStore as _, Fault, Invocation};
use simulator::{Injection, Sim, WorldSettings, first_calls};

use crate::world::catalog;

/// A market that leaves the description of `name` out, as it does with one that it cannot read.
fn without(name: &InstanceTypeName) -> RegionCatalog {
    let mut sold = RegionCatalog::clone(&catalog());
    assert!(sold.descriptions.remove(name).is_some());
    sold
}

/// The catalog that is stored after `market` was looked at, where the account had stored `before`.
fn looked_at(market: RegionCatalog, before: Option<&RegionCatalog>) -> RegionCatalog {
    let sim = Sim::new(WorldSettings::default().without_limits(), Arc::new(market));
    let now = sim.now();
    let past = |before: &RegionCatalog| StoredRegionCatalog {
        catalog: before.clone(),
        found_at: now.checked_sub(SignedDuration::from_hours(2)).expect("a time"),
    };
    let played = async {
        if let Some(before) = before {
            sim.put(&past(before)).await.expect("it is stored");
        }
        look(&sim).await.expect("it looks");
        sim.stored().await.expect("an answer").expect("it stored something").catalog
    };
    sim.block_on(played).expect("it ends")
}

/// One call of the function.
async fn look(sim: &Sim) -> Result<(), handlers::Error> {
    let settings = &Settings::default();
    let ports = CatalogPorts::<Sim> { market: sim, catalog_store: sim, settings };
    let (cluster, now) = (WorldSettings::default().cluster, sim.now());
    let deadline = now.checked_add(SignedDuration::from_mins(1)).expect("a time");
    let at = Invocation { id: "look".to_owned(), cluster, now, deadline };
    handlers::catalog(&ports, "us-west-2", &catalog(), &at).await
}

#[test]
fn a_type_that_is_sold_and_not_described_is_as_it_was_described_last() {
    let name: InstanceTypeName = "m7g.large".parse().expect("a name");
    let whole = looked_at(RegionCatalog::clone(&catalog()), None);
    let partial = looked_at(without(&name), Some(&whole));
    assert_eq!(partial.descriptions.get(&name), whole.descriptions.get(&name));
    let sold = |catalog: &RegionCatalog| {
        catalog.instance_types.iter().find(|known| known.name == name).cloned()
    };
    assert!(sold(&whole).is_some_and(|sold| !sold.offerings.is_empty()));
    assert_eq!(sold(&partial), sold(&whole), "its nodes do not drift");
    assert_eq!(looked_at(without(&name), None).descriptions.get(&name), None);
}

#[test]
fn a_type_that_is_not_sold_any_more_is_forgotten() {
    let name: InstanceTypeName = "m7g.large".parse().expect("a name");
    let whole = looked_at(RegionCatalog::clone(&catalog()), None);
    let mut market = without(&name);
    market.instance_types.retain(|sold| sold.name != name);
    assert_eq!(looked_at(market, Some(&whole)).descriptions.get(&name), None);
}

#[test]
fn whatever_the_market_refuses_nothing_that_is_known_is_lost() {
    let whole = looked_at(RegionCatalog::clone(&catalog()), None);
    for &call in handlers::calls(Function::Catalog) {
        let sim = Sim::new(WorldSettings::default().without_limits(), catalog());
        let found_at = sim.now().checked_sub(SignedDuration::from_hours(2)).expect("a time");
        let before = StoredRegionCatalog { catalog: whole.clone(), found_at };
        sim.block_on(sim.put(&before)).expect("it ends").expect("it is stored");
        sim.add_rule(first_calls(call, 1, Injection::FailBefore(Fault::Permanent)));
        // Prices that are not answered are those of the last time.
        let needs_none = ["Market.on_demand", "Market.spot"].contains(&call);
        let looked = sim.block_on(look(&sim)).expect("it ends");
        assert_eq!(looked.is_ok(), needs_none, "{call}");
        let stored = sim.block_on(sim.stored()).expect("it ends").expect("an answer").unwrap();
        assert_eq!(stored.catalog, whole, "{call}");
        sim.block_on(look(&sim)).expect("it ends").expect(call);
    }
}

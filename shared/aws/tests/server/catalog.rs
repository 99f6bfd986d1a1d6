//! What is sold, asked for over the wire: the whole catalog that comes with the program.

use std::sync::Arc;

use aws::Account;
use aws_server::{AwsServer, listen, serve};
use handlers::{CatalogPorts, Settings};
use jiff::SignedDuration;
use model::{RegionCatalog, instance_type_info::RegionMarket};
use ports::{CatalogStore as _, Fault, Invocation};
use simulator::{Injection, Sim, WorldSettings, first_calls};
use tokio::task::LocalSet;

use super::{
    figures::{present, report},
    world::World,
};

fn builtin() -> RegionCatalog {
    instance_catalog::builtin().unwrap()
}

fn sim() -> Sim {
    Sim::new(
        WorldSettings { has_schedules: false, ..WorldSettings::default().without_limits() },
        Arc::new(builtin()),
    )
}

fn at(sim: &Sim) -> Invocation {
    let (cluster, now) = (WorldSettings::default().cluster, sim.now());
    let deadline = now.checked_add(SignedDuration::from_secs(60)).unwrap();
    Invocation { id: "refresh".to_owned(), cluster, now, deadline }
}

/// Asks the simulated account by its ports.
async fn look(sim: &Sim) -> Result<(), handlers::Error> {
    let ports =
        CatalogPorts::<Sim> { market: sim, catalog_store: sim, settings: &Settings::default() };
    handlers::catalog(&ports, "us-west-2", &builtin(), &at(sim)).await
}

#[tokio::test]
async fn the_whole_catalog_is_asked_for_and_stored_as_it_is() {
    let play = async {
        let sim = sim();
        let server = std::rc::Rc::new(AwsServer::new(&sim).with_page_max(1_000));
        let (listener, url) = listen(0).await.unwrap();
        let serving = std::rc::Rc::clone(&server);
        tokio::task::spawn_local(async move { serve(serving, listener).await });
        let market = Account::emulated(&url, "us-west-2").unwrap().market();
        let ports = CatalogPorts::<World> {
            market: &market,
            catalog_store: &sim,
            settings: &Settings::default(),
        };
        let began = present();
        handlers::catalog(&ports, "us-west-2", &builtin(), &at(&sim)).await.unwrap();
        let requests = server.requests();
        let (took, calls) = (began.elapsed().as_millis(), requests.values().sum::<u64>());
        let stored = sim.stored().await.unwrap().unwrap().catalog;
        let (sold, known) = (RegionMarket::of(&stored), builtin());
        report(&format!(
            "{} types, {} prices on demand and {} spot: {calls} requests, {took} ms: {requests:?}",
            stored.descriptions.len(),
            sold.on_demand.len(),
            sold.spot.len(),
        ));
        // What the account sells is what the catalog that comes with the program says.
        let known_market = RegionMarket::of(&known);
        assert_eq!(stored.zones, known.zones);
        assert_eq!(sold.offered, known_market.offered);
        for (name, price) in &known_market.on_demand {
            assert_eq!(sold.on_demand.get(name), Some(price), "{name}");
        }
        assert_eq!(stored.descriptions.len(), known.descriptions.len());
        for (info, other) in stored.descriptions.values().zip(known.descriptions.values()) {
            assert_eq!(info, other);
        }
        // Soon after, nothing is asked for again.
        handlers::catalog(&ports, "us-west-2", &builtin(), &at(&sim)).await.unwrap();
        assert_eq!(server.requests().values().sum::<u64>(), calls);
    };
    LocalSet::new().run_until(play).await;
}

#[tokio::test]
async fn without_a_price_list_the_prices_that_come_with_the_program_serve() {
    let sim = sim();
    sim.add_rule(first_calls("Market.on_demand", 1, Injection::FailBefore(Fault::Permanent)));
    sim.add_rule(first_calls("Market.spot", 1, Injection::FailBefore(Fault::Transient)));
    look(&sim).await.unwrap();
    let sold = RegionMarket::of(&sim.stored().await.unwrap().unwrap().catalog);
    assert_eq!(sold.on_demand, RegionMarket::of(&builtin()).on_demand);
    for ((name, _), price) in &sold.spot {
        assert_eq!(sold.on_demand.get(name), Some(price), "spot costs what on-demand does");
    }
}

#[tokio::test]
async fn what_cannot_be_described_leaves_what_is_stored_alone() {
    let sim = sim();
    look(&sim).await.unwrap();
    let before = sim.stored().await.unwrap();
    sim.pass_until(sim.now().checked_add(SignedDuration::from_hours(2)).unwrap());
    sim.add_rule(first_calls("Market.offered", 1, Injection::FailBefore(Fault::Transient)));
    let again = look(&sim).await;
    assert!(again.is_err());
    assert_eq!(sim.stored().await.unwrap(), before);
}

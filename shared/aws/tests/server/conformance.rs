//! The suites that `tests/fast/conformance.rs` runs on the simulator's ports, on the adapters.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, HourlyPrice, OfferingKey};
use simulator::{Action, ReservationRecord, Sim, WorldSettings};
use testkit::{DiscoveryWorld, FleetWorld, MarketWorld, ReservationWorld, assert_kept, build};
use tokio::task::LocalSet;

use super::world::World;

fn settings() -> WorldSettings {
    WorldSettings { listing_lag: SignedDuration::from_secs(1), ..WorldSettings::default() }
}

#[tokio::test]
async fn fleet_and_templates_keep_their_contracts() {
    let play = async {
        for (page_max, capacity_type) in [(1, CapacityType::OnDemand), (1_000, CapacityType::Spot)]
        {
            let world = World::open(settings(), page_max).await;
            let wanted = fleet_world(capacity_type);
            let wait = async || world.pass(5);
            assert_kept(&testkit::fleet(&world.fleet, &world.templates, &wanted, &wait).await);
            assert!(world.requests("CreateFleet") > 5, "it was asked over the wire");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn forensics_keep_their_contract() {
    let play = async {
        let world = World::open(settings(), 2).await;
        let wanted = fleet_world(CapacityType::OnDemand);
        let wait = async || world.pass(5);
        let World { fleet, templates, forensics, .. } = &world;
        let cases = testkit::forensics(forensics, (fleet, templates), &wanted, &wait);
        assert_kept(&Box::pin(cases).await);
        assert!(world.requests("GetConsoleOutput") > 2, "it was asked over the wire");
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn discovery_keeps_its_contract() {
    let play = async {
        let world = World::open(settings(), 2).await;
        let wanted = DiscoveryWorld {
            cluster: WorldSettings::default().cluster,
            no_cluster: build::id("nowhere"),
            tags: BTreeMap::from([("karpenter.sh/discovery".to_owned(), "demo".to_owned())]),
            template: fleet_world(CapacityType::OnDemand).template,
        };
        assert_kept(&testkit::discovery(&world.discovery, &world.templates, &wanted).await);
        // What the adapters find is what the ports find.
        assert_kept(&testkit::discovery(&world.sim, &world.sim, &wanted).await);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn profiles_keep_their_contract() {
    let play = async {
        let world = World::open(settings(), 2).await;
        assert_kept(&testkit::profiles(&world.profiles, "profile-1").await);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

impl MarketWorld for World {
    async fn set_price(&self, offering: &OfferingKey, price: HourlyPrice) {
        self.sim.act(Action::SetPrice { offering: offering.clone(), price });
    }

    fn now(&self) -> Timestamp {
        self.sim.now()
    }

    async fn wait(&self) {
        self.pass(1);
    }
}

#[tokio::test]
async fn the_market_keeps_its_contract() {
    let play = async {
        // A price list without some kind of instance is none: the whole region's is asked for.
        let world = World::open_region(settings(), 1_000).await;
        assert_kept(&testkit::market(&world.market, &world).await);
        assert!(world.requests("DescribeSpotPriceHistory") > 3, "it was asked over the wire");
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

fn fleet_world(capacity_type: CapacityType) -> FleetWorld {
    FleetWorld::of(WorldSettings::default().cluster, capacity_type)
}

/// What reservations are tested with, bought in `sim`.
fn reservation_world(sim: &Sim) -> ReservationWorld {
    let world = ReservationWorld::of(WorldSettings::default().cluster);
    let tagged = [(&world.targeted, world.tags.clone()), (&world.open, BTreeMap::new())];
    for (capacity_reservation, tags) in tagged {
        let record = ReservationRecord::of(capacity_reservation, tags, sim.now());
        sim.act(Action::AddReservation(record));
    }
    world
}

#[tokio::test]
async fn reservations_keep_their_contract() {
    let play = async {
        for page_max in [1, 1_000] {
            let world = World::open(settings(), page_max).await;
            let wanted = reservation_world(&world.sim);
            let wait = async || world.pass(5);
            let cancel =
                async || world.sim.act(Action::CancelReservation(wanted.targeted.id.to_string()));
            let World { discovery, templates, fleet, .. } = &world;
            let cases = testkit::reservations(discovery, templates, fleet, &wanted, &wait, cancel);
            assert_kept(&Box::pin(cases).await);
            assert!(world.requests("DescribeCapacityReservations") > 5, "over the wire");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

//! The suites that `tests/fast/conformance.rs` runs on the simulator's ports, on the adapters.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, HourlyPrice, OfferingKey,
    labels::{CLUSTER_NAME_TAG, NODE_CLASS, NODE_POOL},
    launch::{FleetOverride, FleetRequest, FleetTemplate, ReservationMarket, TemplateVersion},
    node_class::MatchCriteria,
};
use simulator::{Action, ReservationRecord, Settings, Sim};
use testkit::{Case, DiscoveryWorld, FleetWorld, MarketWorld, ReservationWorld, build};
use tokio::task::LocalSet;

use super::world::World;

#[track_caller]
fn check(cases: &[Case]) {
    assert!(!cases.is_empty(), "the suite has no case");
    let failed: Vec<String> =
        cases.iter().filter(|case| case.outcome.is_err()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn settings() -> Settings {
    Settings { listing_lag: SignedDuration::from_secs(1), ..Settings::default() }
}

#[tokio::test]
async fn fleet_and_templates_keep_their_contracts() {
    let play = async {
        for (page_max, capacity_type) in [(1, CapacityType::OnDemand), (1_000, CapacityType::Spot)]
        {
            let world = World::open(settings(), page_max).await;
            let wanted = fleet_world(capacity_type);
            let wait = async || world.pass(5);
            check(&testkit::fleet(&world.fleet, &world.templates, &wanted, &wait).await);
            assert!(world.requests("CreateFleet") > 5, "it was asked over the wire");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn discovery_keeps_its_contract() {
    let play = async {
        let world = World::open(settings(), 2).await;
        let wanted = DiscoveryWorld {
            cluster: Settings::default().cluster,
            no_cluster: build::id("nowhere"),
            tags: BTreeMap::from([("karpenter.sh/discovery".to_owned(), "demo".to_owned())]),
            template: fleet_world(CapacityType::OnDemand).template,
        };
        check(&testkit::discovery(&world.discovery, &world.templates, &wanted).await);
        // What the adapters find is what the ports find.
        check(&testkit::discovery(&world.sim, &world.sim, &wanted).await);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn profiles_keep_their_contract() {
    let play = async {
        let world = World::open(settings(), 2).await;
        check(&testkit::profiles(&world.profiles, "profile-1").await);
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
        for page_max in [5, 1_000] {
            let world = World::open(settings(), page_max).await;
            check(&testkit::market(&world.market, &world).await);
            assert!(world.requests("DescribeSpotPriceHistory") > 3, "it was asked over the wire");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

fn fleet_world(capacity_type: CapacityType) -> FleetWorld {
    let cluster = Settings::default().cluster;
    let mut template = build::template("karpenter.k8s.aws/1");
    template.data.is_spot = capacity_type == CapacityType::Spot;
    let choice = FleetOverride {
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
        subnet: build::id("subnet-a"),
        image: template.data.image.clone(),
        price: build::price("0.04"),
    };
    let tags =
        [(CLUSTER_NAME_TAG, cluster.as_str()), (NODE_POOL, "general"), (NODE_CLASS, "default")];
    let request = FleetRequest {
        token: build::id("replaced"),
        count: 2,
        capacity_type,
        market: ReservationMarket::OnDemand,
        is_prioritized: false,
        context: None,
        templates: vec![FleetTemplate {
            template: template.name.clone(),
            version: TemplateVersion::Latest,
            overrides: vec![choice],
        }],
        tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    };
    FleetWorld { cluster, template, request, token_prefix: "suite".to_owned() }
}

/// What both doors' reservations are tested with, bought in `sim`.
fn reservation_world(sim: &Sim) -> ReservationWorld {
    let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let targeted = build::reservation("cr-0a", MatchCriteria::Targeted);
    let open = build::reservation("cr-0b", MatchCriteria::Open);
    for (one, tags) in [(&targeted, tags.clone()), (&open, BTreeMap::new())] {
        sim.act(Action::AddReservation(ReservationRecord {
            id: one.id.clone(),
            instance_type: one.instance_type.clone(),
            zone: one.zone.clone(),
            owner: one.owner.clone(),
            match_criteria: one.match_criteria,
            is_capacity_block: false,
            is_interruptible: false,
            tags,
            starts_at: sim.now(),
            ends_at: None,
            total_count: one.available_count,
        }));
    }
    let choice = FleetOverride {
        instance_type: targeted.instance_type.clone(),
        zone: targeted.zone.clone(),
        subnet: build::id("subnet-a"),
        image: build::id("ami-1"),
        price: build::price("0.04"),
    };
    let cluster = Settings::default().cluster;
    ReservationWorld { cluster, targeted, open, tags, choice, token_prefix: "suite".to_owned() }
}

#[tokio::test]
async fn reservations_keep_their_contract() {
    let play = async {
        for page_max in [1, 1_000] {
            let world = World::open(settings(), page_max).await;
            let wanted = reservation_world(&world.sim);
            let wait = async || world.pass(5);
            let cancel =
                async || world.sim.act(Action::CancelReservation(wanted.targeted.id.clone()));
            let World { discovery, templates, fleet, .. } = &world;
            let cases = testkit::reservations(discovery, templates, fleet, &wanted, &wait, cancel);
            check(&Box::pin(cases).await);
            assert!(world.requests("DescribeCapacityReservations") > 5, "over the wire");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

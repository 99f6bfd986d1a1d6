//! The ports' conformance suites on the simulator. `tests/live` runs them over the wire.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, and say what they played"
)]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::wake::WakeWebhooks;
use model::{
    CapacityType, HourlyPrice, NodeClaimName, OfferingKey, instance_type_info::StoredRegionCatalog,
};
use simulator::{Action, ReservationRecord, Sim, WorldSettings};
use testkit::{
    Clusters, DiscoveryWorld, FleetWorld, MarketWorld, NodeClaimWorld, ObservedNodeClaim,
    ReservationWorld, assert_kept, build,
};

#[path = "conformance/others.rs"]
mod others;
#[path = "conformance/statuses.rs"]
mod statuses;

use self::{
    others::Others,
    statuses::{OtherBuffers, OtherClasses, OtherOverlays, OtherPools},
};

fn sim() -> Sim {
    let settings = WorldSettings { listing_lag: SignedDuration::ZERO, ..WorldSettings::default() };
    let catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
    // A port behaves as it should whatever an account allows.
    Sim::new(settings.without_limits(), std::sync::Arc::new(catalog))
}

/// Lets listings catch up.
fn pass(sim: &Sim) {
    let later = sim.now().checked_add(SignedDuration::from_secs(5)).expect("a time of this year");
    sim.pass_until(later);
}

#[test]
fn the_ledger_keeps_its_contract() {
    let sim = sim();
    let clusters = Clusters {
        one: "one".parse().expect("a name"),
        other: "other".parse().expect("a name"),
        instance_prefix: "aa".to_owned(),
    };
    let wait = async || pass(&sim);
    assert_kept(&sim.block_on(testkit::ledger(&sim, &clusters, &wait)).expect("the suite ends"));
}

#[test]
fn decisions_keep_their_contract() {
    let sim = sim();
    let clusters = Clusters {
        one: "one".parse().expect("a name"),
        other: "other".parse().expect("a name"),
        instance_prefix: "ad".to_owned(),
    };
    assert_kept(&sim.block_on(testkit::decisions(&sim, &clusters)).expect("the suite ends"));
}

#[test]
fn leases_keep_their_contract() {
    let sim = sim();
    assert_kept(&sim.block_on(testkit::leases(&sim)).expect("the suite ends"));
}

impl testkit::WebhookWorld for Others {
    async fn install(&self, urls: &[(&str, &str)]) {
        let urls = urls.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned()));
        let (uid, version) = ("u1".to_owned(), "1".to_owned());
        self.0.set_webhooks(Some(WakeWebhooks { uid, version, urls: urls.collect() }));
    }

    async fn remove(&self) {
        self.0.set_webhooks(None);
    }
}

#[test]
fn webhooks_keep_their_contract() {
    let sim = sim();
    let others = Others(sim.clone());
    assert_kept(&sim.block_on(testkit::webhooks(&sim, &others)).expect("the suite ends"));
}

#[test]
fn events_keep_their_contract() {
    let sim = sim();
    let others = Others(sim.clone());
    assert_kept(&sim.block_on(testkit::events(&sim, &others)).expect("the suite ends"));
}

#[test]
fn the_mailbox_keeps_its_contract() {
    let sim = sim();
    let cluster = WorldSettings::default().cluster;
    assert_kept(&sim.block_on(testkit::mailbox(&sim, &cluster)).expect("the suite ends"));
}

#[test]
fn discovery_keeps_its_contract() {
    let sim = sim();
    let world = DiscoveryWorld {
        cluster: WorldSettings::default().cluster,
        no_cluster: "nowhere".parse().expect("a name"),
        tags: BTreeMap::from([("karpenter.sh/discovery".to_owned(), "demo".to_owned())]),
        template: build::template("karpenter.k8s.aws/1"),
    };
    assert_kept(&sim.block_on(testkit::discovery(&sim, &sim, &world)).expect("the suite ends"));
}

#[test]
fn profiles_keep_their_contract() {
    let sim = sim();
    assert_kept(&sim.block_on(testkit::profiles(&sim, "profile-1")).expect("the suite ends"));
}

impl NodeClaimWorld for Others {
    async fn seen(&self, name: &NodeClaimName) -> Option<ObservedNodeClaim> {
        let object = self.0.node_claim(name)?;
        let (revision, is_deleting) = (object.writes.to_string(), object.is_deleting);
        Some(ObservedNodeClaim { revision, labels: object.labels, is_deleting })
    }

    async fn make(&self, name: &NodeClaimName) {
        self.0.make_node_claim(name);
    }

    async fn make_standalone(&self, name: &NodeClaimName) {
        let claim = build::claim(name.as_str());
        let claim = model::NodeClaim { node_pool: model::NodePoolName::none(), ..claim };
        self.0.act(Action::AddForeignNodeClaim(Box::new(claim)));
    }

    async fn label(&self, name: &NodeClaimName, key: &str, value: &str) {
        self.0.label_node_claim(name, key, value);
    }

    async fn delete(&self, name: &NodeClaimName) {
        self.0.act(Action::DeleteNodeClaim(name.clone()));
    }
}

#[test]
fn node_claims_keep_their_contract() {
    let sim = sim();
    let cases = sim.block_on(testkit::node_claims(&sim, &Others(sim.clone()), "suite"));
    assert_kept(&cases.expect("the suite ends"));
}

#[test]
fn nodes_keep_their_contract() {
    let others = Others(sim());
    assert_kept(&others.0.block_on(testkit::nodes(&others.0, &others)).expect("the suite ends"));
}

#[test]
fn the_cluster_keeps_its_contract() {
    let others = Others(sim());
    assert_kept(&others.0.block_on(testkit::cluster(&others.0, &others)).expect("the suite ends"));
    let settings = WorldSettings { has_definitions: false, ..WorldSettings::default() };
    let bare = Sim::new(settings, std::sync::Arc::default());
    assert_kept(&bare.block_on(testkit::without_definitions(&bare)).expect("the suite ends"));
}

#[test]
fn the_catalog_keeps_its_contract() {
    let sim = sim();
    assert_kept(&sim.block_on(testkit::catalog(&sim)).expect("the suite ends"));
}

impl MarketWorld for Others {
    async fn set_price(&self, offering: &OfferingKey, price: HourlyPrice) {
        self.0.act(Action::SetPrice { offering: offering.clone(), price });
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn wait(&self) {
        self.pass(SignedDuration::from_secs(1));
    }
}

#[test]
fn the_market_keeps_its_contract() {
    let others = Others(sim());
    assert_kept(&others.0.block_on(testkit::market(&others.0, &others)).expect("the suite ends"));
}

#[test]
fn the_catalog_store_keeps_its_contract() {
    let sim = sim();
    let catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
    let first = StoredRegionCatalog {
        catalog: catalog.clone(),
        found_at: build::at("2026-08-01T12:00:00Z"),
    };
    let mut fewer = catalog;
    fewer.instance_types.truncate(3);
    let second =
        StoredRegionCatalog { catalog: fewer, found_at: build::at("2026-08-01T13:00:00Z") };
    assert_kept(
        &sim.block_on(testkit::catalog_store(&sim, &first, &second)).expect("the suite ends"),
    );
}

#[test]
fn node_classes_keep_their_contract() {
    let others = OtherClasses(sim());
    let cases = testkit::node_classes(&others.0, &others, "suite");
    assert_kept(&others.0.block_on(cases).expect("the suite ends"));
}

#[test]
fn node_pools_keep_their_contract() {
    let others = OtherPools(sim());
    let cases = testkit::node_pools(&others.0, &others, "suite");
    assert_kept(&others.0.block_on(cases).expect("the suite ends"));
}

#[test]
fn the_statuses_of_node_overlays_keep_their_contract() {
    let others = OtherOverlays(sim());
    let cases = testkit::node_overlays(&others.0, &others, "suite");
    assert_kept(&others.0.block_on(cases).expect("the suite ends"));
}

#[test]
fn the_statuses_of_capacity_buffers_keep_their_contract() {
    let others = OtherBuffers(sim());
    let cases = testkit::capacity_buffers(&others.0, &others, "suite");
    assert_kept(&others.0.block_on(cases).expect("the suite ends"));
}

#[test]
fn fleet_and_templates_keep_their_contracts() {
    let sim = sim();
    let world = FleetWorld::of(WorldSettings::default().cluster, CapacityType::OnDemand);
    let wait = async || pass(&sim);
    assert_kept(&sim.block_on(testkit::fleet(&sim, &sim, &world, &wait)).expect("the suite ends"));
}

#[test]
fn forensics_keep_their_contract() {
    let sim = sim();
    let world = FleetWorld::of(WorldSettings::default().cluster, CapacityType::OnDemand);
    let wait = async || pass(&sim);
    let cases = sim.block_on(testkit::forensics(&sim, (&sim, &sim), &world, &wait));
    assert_kept(&cases.expect("the suite ends"));
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

#[test]
fn reservations_keep_their_contract() {
    for listing_lag in [0, 2] {
        let listing_lag = SignedDuration::from_secs(listing_lag);
        let settings = WorldSettings { listing_lag, ..WorldSettings::default() };
        let catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
        let sim = Sim::new(settings, std::sync::Arc::new(catalog));
        let world = reservation_world(&sim);
        let wait = async || pass(&sim);
        let cancel = async || sim.act(Action::CancelReservation(world.targeted.id.to_string()));
        let cases = testkit::reservations(&sim, &sim, &sim, &world, &wait, cancel);
        assert_kept(&sim.block_on(cases).expect("the suite ends"));
        assert_eq!(sim.check_safety(), Vec::<String>::new());
    }
}

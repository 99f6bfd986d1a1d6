//! Every call that a function says it makes is made: nothing is granted in vain.
//!
//! That no other call is made is the compiler's part: see `shared/dispatch/src/only.rs`.

use std::sync::OnceLock;

use model::{
    Function,
    node_class::{BlockDevice, NodeClass, PlacementGroupTerm, ReservationTerm, TemplateSource},
    node_pool::NodePool,
    wake::{AdmissionRequest, WAKE_RULES},
};
use ports::{Fault, Invocation, NodeClasses as _, NodePools as _};
use simulator::{
    Action, ClusterObject, Injection, ReservationRecord, Sim, SpotTarget, WorldSettings,
    first_calls,
};

use crate::{
    buffers, deletion_costs, devices, overlays, repair, reservations,
    rights::Asked,
    settings::{settings, spread},
    standalone, storm, sweep_jobs, volumes, wake_health,
    world::{
        catalog, keep_authorizations, minute, play, runner, runner_with, scale, sell_none, sim,
    },
};

/// What was called, and who was sent messages, by function, and what IAM was asked.
type Seen = Asked;

impl Seen {
    fn add(&mut self, sim: &Sim) {
        for (function, calls) in sim.called() {
            self.called.entry(function).or_default().extend(calls);
        }
        for (function, receivers) in sim.sent() {
            self.sent.entry(function).or_default().extend(receivers);
        }
        self.authorizations.extend(sim.authorizations());
    }
}

/// The usual world, with a pool of its own for each of `classes` beside the usual one.
fn with_classes(sim: &Sim, classes: Vec<(&str, NodeClass)>) {
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let pool = pools.items.into_iter().map(|seen| seen.pool).next().expect("a pool");
    let objects = classes.into_iter().flat_map(|(name, class)| {
        let mut pool = NodePool { name: testkit::build::id(name), ..pool.clone() };
        pool.template.node_class = testkit::build::id(name);
        let class = NodeClass { name: testkit::build::id(name), ..class };
        [ClusterObject::NodeClass(class), ClusterObject::NodePool(pool)]
    });
    sim.act(Action::Add(objects.collect()));
}

fn usual_class(sim: &Sim) -> NodeClass {
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    seen.items.into_iter().map(|seen| seen.class).next().expect("a class")
}

/// The usual world with classes of every kind beside its own, and a reservation that comes to its end.
pub(crate) fn with_every_kind_of_class() -> Sim {
    let sim = sim(WorldSettings::default());
    let class = usual_class(&sim);
    let placed = PlacementGroupTerm::Name("close".to_owned());
    let template = TemplateSource::Named(testkit::build::id("MyLaunchTemplate"));
    let reserved = ReservationTerm::Id("cr-0a".parse().unwrap());
    let snapshot = BlockDevice {
        device_name: Some("/dev/xvda".to_owned()),
        snapshot_id: Some("snap-0a".to_owned()),
        ..BlockDevice::default()
    };
    with_classes(
        &sim,
        vec![
            ("restored", NodeClass { block_devices: vec![snapshot], ..class.clone() }),
            ("placed", NodeClass { placement_group: Some(placed), ..class.clone() }),
            ("own", NodeClass { launch_template: template, ..class.clone() }),
            ("reserved", NodeClass { reservation_terms: vec![reserved], ..class }),
        ],
    );
    let record = ReservationRecord { ends_at: Some(minute(20)), ..reservations::record(&sim) };
    sim.act(Action::AddReservation(record));
    sim
}

/// Classes of every kind, and a node that a user deletes; facts are kept, and devices are among them.
fn every_kind_of_class() -> Sim {
    let sim = with_every_kind_of_class();
    let parameters = [("Record", "facts"), ("IgnoreDraRequests", "false")];
    let (mut runner, _reports) = runner_with(&sim, settings(&parameters));
    sim.at(minute(6), Action::InterruptSpot(SpotTarget::Any));
    sim.at(minute(8), scale("web", 2));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    sim
}

/// Launches that bring less than they should: offerings without capacity, nodes that never join, and a
/// token that EC2 says was taken for another request.
fn unlucky() -> Sim {
    let sim = sim(WorldSettings { never_joins_per_mille: 500, ..WorldSettings::with_seed(3) });
    sell_none(&sim, |number, _| number % 2 == 0);
    sim.add_rule(first_calls("Fleet.launch", 1, Injection::FailBefore(Fault::Conflict)));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    sim
}

/// EC2 refuses every launch.
fn refused() -> Sim {
    let sim = sim(WorldSettings::default());
    sim.add_rule(first_calls("Fleet.launch", 1_000, Injection::FailBefore(Fault::Permanent)));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    sim
}

/// Enough nodes are deleted at once that everything is listed; one of them cannot be read at first.
fn many() -> Sim {
    let sim = sim(WorldSettings::default());
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let mut pool = pools.items.into_iter().map(|seen| seen.pool).next().expect("a pool");
    pool.limits = model::node_pool::Limits::default();
    sim.act(Action::Add(vec![ClusterObject::NodePool(pool.clone())]));
    sim.act(scale("web", 230));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    assert!(sim.claims().len() > 50, "{} claims", sim.claims().len());
    sim.act(Action::DeleteNodePool(pool.name));
    sim.add_rule(first_calls("Nodes.delete", 3, Injection::FailBefore(Fault::Transient)));
    runner.run_until(minute(9)).expect("nothing unsafe happens");
    sim
}

/// An instance of this ledger without a known claim.
fn stray() -> Sim {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let claim = sim.claims().into_iter().next().expect("a claim");
    let instance = claim.instance.as_ref().expect("an instance").id.clone();
    sim.act(Action::ForgetClaim(claim.name.clone()));
    sim.act(Action::DeleteNodePool(claim.node_pool));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert!(
        sim.claims().iter().all(|claim| {
            claim.instance.as_ref().is_none_or(|launched| launched.id != instance)
        })
    );
    sim
}

/// An instance ends, and no event comes.
fn unheard() -> Sim {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let failing = Injection::FailBefore(Fault::Transient);
    sim.add_rule(first_calls("Ledger.claims_of_instances", 1_000, failing));
    sim.act(Action::TerminateInstance(SpotTarget::Any));
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    sim
}

/// Instances that end before their nodes join, until something is mended.
fn short_lived() -> Sim {
    let sim = sim(WorldSettings::default());
    sim.act(Action::EndLaunches(Some("Client.InvalidKMSKey.InvalidState".to_owned())));
    sim.at(minute(5), Action::EndLaunches(None));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    sim
}

/// What is sold, asked for once.
fn catalog_is_asked_for() -> Sim {
    let sim = sim(WorldSettings { has_schedules: false, ..WorldSettings::default() });
    let (cluster, now) = (WorldSettings::default().cluster, sim.now());
    let at = Invocation { id: "refresh".to_owned(), cluster, now, deadline: minute(1) };
    let builtin = catalog();
    let asked = dispatch::catalog(&sim, "us-west-2", &builtin, &at);
    sim.block_on_as(Function::Catalog, asked).expect("it ends").expect("it works");
    sim
}

/// Requests of the API server that wake every function that `wake` can wake.
fn woken() -> Sim {
    let sim = sim(WorldSettings { has_schedules: false, ..WorldSettings::default() });
    let (cluster, now) = (WorldSettings::default().cluster, sim.now());
    let at = Invocation { id: "call".to_owned(), cluster, now, deadline: minute(1) };
    let memory = handlers::WakeMemory::default();
    for rule in &WAKE_RULES {
        let request = AdmissionRequest {
            uid: "1".to_owned(),
            group: rule.group.to_owned(),
            kind: rule.kind.to_owned(),
            operation: rule.operations.first().copied(),
            is_dry_run: false,
        };
        let woken = dispatch::wake(&sim, &memory, &request, &at);
        sim.block_on_as(Function::Wake, woken).expect("it ends").expect("it works");
    }
    sim
}

/// What was seen in all of these stories, which are played once.
pub(crate) fn seen() -> &'static Seen {
    static SEEN: OnceLock<Seen> = OnceLock::new();
    SEEN.get_or_init(|| {
        keep_authorizations(true);
        let seen = played();
        keep_authorizations(false);
        seen
    })
}

fn played() -> Seen {
    let mut seen = Seen::default();
    seen.add(&every_kind_of_class());
    seen.add(&unlucky());
    seen.add(&refused());
    seen.add(&many());
    seen.add(&stray());
    seen.add(&unheard());
    seen.add(&short_lived());
    seen.add(&standalone::played());
    seen.add(&volumes::staying());
    seen.add(&repair::rebooting());
    seen.add(&overlays::played());
    seen.add(&buffers::played());
    seen.add(&spread());
    seen.add(&deletion_costs::played());
    seen.add(&devices::played());
    seen.add(&wake_health::played());
    let outlived = reservations::ending();
    assert_eq!(play(&outlived, minute(64), minute(65)), Ok(()));
    seen.add(&outlived);
    let foreign = sim(WorldSettings { ledger_is_open: false, ..WorldSettings::default() });
    assert_eq!(play(&foreign, minute(10), minute(15)), Ok(()));
    foreign.act(Action::LoseLedger);
    assert_eq!(play(&foreign, minute(20), minute(25)), Ok(()));
    seen.add(&foreign);
    seen.add(&catalog_is_asked_for());
    seen.add(&woken());
    let neglected = sweep_jobs::neglected();
    let zone = catalog().zones.keys().next().cloned().expect("a zone");
    neglected.act(Action::ShiftZone(zone, jiff::Timestamp::MAX));
    assert_eq!(sweep_jobs::swept(&neglected), []);
    seen.add(&neglected);
    let stormy = storm::stormy(storm::settings(0));
    assert_eq!(play(&stormy, minute(16), minute(60)), Ok(()));
    seen.add(&stormy);
    seen
}

#[test]
fn every_call_that_a_function_may_make_is_made() {
    let seen = seen();
    for function in Function::ALL {
        let called: Vec<_> = seen.called.get(&function).into_iter().flatten().copied().collect();
        assert_eq!(called, handlers::calls(function), "calls of {function}");
        let sent: Vec<_> = seen.sent.get(&function).into_iter().flatten().copied().collect();
        assert_eq!(sent, handlers::receivers(function), "who is sent messages by {function}");
    }
}

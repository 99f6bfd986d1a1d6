//! Each call of a port is refused for ever, for one object of those that it is about: all others are served. What is
//! about everything is refused for a while: all is served afterwards.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
};

use dispatch::Settings;
use jiff::SignedDuration;
use model::{
    Function, PodKey,
    event::{EventObject, EventReason},
    node::Node,
};
use ports::Fault;
use simulator::{Action, Injection, Sim, SpotTarget, WakeFaults, WorldSettings};

use crate::{
    buffers,
    calls::with_every_kind_of_class,
    deletion_costs, devices,
    neighbour::{self, Neighbour},
    overlays, repair,
    settings::{SPREAD_ANYWAY, settings},
    storm::{play_seeds, strided},
    sweep_jobs, volumes, wake_health,
    world::{catalog, drift, minute, offerings, runner_with, scale, sell_none, sim},
};

/// Calls that a plain `cargo test` refuses; CI refuses each twice.
const SEEDS_DEFAULT: u64 = 6;
/// Neighbours in the list are of one port.
const STRIDE: u64 = 7;

/// No pod waits longer that has nothing to do with what is refused.
pub(crate) const PENDING_MAX: SignedDuration = SignedDuration::from_mins(3);

/// Those without which nothing can be decided or done: no object is at fault.
const OUTAGES: [&str; 24] = [
    "Catalog.catalog",
    "Cluster.daemon_sets",
    "Cluster.devices",
    "Cluster.node_classes",
    // Of claims that were planned with an overlay.
    "Cluster.node_overlays",
    "Cluster.node_pools",
    "Cluster.nodes",
    // A pod without its Service would be spread otherwise.
    "Cluster.pod_selectors",
    "Cluster.pods",
    "Cluster.surroundings",
    "Cluster.volume_attachments",
    "Discovery.cluster_settings",
    // EC2 has no rights for instances one by one: who may describe one may describe all.
    "Fleet.describe",
    "Fleet.of_batch",
    "Leases.hold",
    "Leases.leases",
    "Ledger.head",
    "Ledger.open",
    "Ledger.pulse",
    "Ledger.snapshot",
    // Of a batch. DynamoDB refuses no item by itself.
    "Ledger.withdraw_claims",
    "Ledger.write_claims",
    // Without it, no node with devices is initialized.
    "Nodes.resource_slices",
    "Nodes.uninitialized",
];

/// What the functions call but `catalog`, which works for the whole region: see `sold`.
fn operations() -> Vec<&'static str> {
    let functions = Function::ALL.into_iter().filter(|function| *function != Function::Catalog);
    let sorted: BTreeSet<&str> = functions.flat_map(handlers::calls).copied().collect();
    sorted.into_iter().collect()
}

/// A world in which an operation is called, and how the functions work there.
struct Story {
    sim: Sim,
    parameters: Vec<(&'static str, &'static str)>,
    /// What is done to it once its nodes have joined.
    joined: fn(&Sim),
    /// Whether the stack has `wake`.
    has_wake: bool,
    /// Whether pods wait long in it by themselves.
    is_hard: bool,
}

impl Story {
    fn of(sim: Sim) -> Self {
        Self { sim, parameters: Vec::new(), joined: |_| (), has_wake: false, is_hard: false }
    }
}

fn story_of(operation: &str) -> Story {
    let (port, _) = operation.split_once('.').expect("a port");
    match operation {
        "Cluster.volume_claim" => {
            Story { joined: volumes::delete_its_node, ..Story::of(volumes::tolerating()) }
        }
        "Cluster.pod_selectors" => Story {
            parameters: vec![("SchedulerConfig", SPREAD_ANYWAY)],
            ..Story::of(sim(WorldSettings::default()))
        },
        "Nodes.set_deletion_cost" => {
            Story { parameters: vec![deletion_costs::OPEN], ..Story::of(deletion_costs::world()) }
        }
        "Fleet.reboot" => Story {
            parameters: vec![("FeatureGates", repair::REBOOTS)],
            joined: repair::make_one_ill,
            ..Story::of(sim(WorldSettings::default()))
        },
        "Cluster.devices" => Story {
            parameters: vec![("IgnoreDraRequests", "false")],
            ..Story::of(sim(WorldSettings::default()))
        },
        "Mailbox.call" => {
            let wake = Some(WakeFaults::NONE);
            Story { has_wake: true, ..Story::of(sim(WorldSettings { wake, ..Default::default() })) }
        }
        "Webhooks.of_wake" | "Webhooks.set_urls" => Story {
            has_wake: true,
            joined: sweep_jobs::install_stale_webhooks,
            ..Story::of(sim(WorldSettings::default()))
        },
        "NodePools.probe_wake" => Story { has_wake: true, ..Story::of(wake_health::answering()) },
        "NodePools.update_wake_condition" => {
            let sim = wake_health::answering();
            sim.at(minute(55) + SignedDuration::from_secs(20), scale("web", 30));
            Story { has_wake: true, ..Story::of(sim) }
        }
        "Nodes.resource_slices" => Story {
            parameters: vec![devices::OPEN],
            joined: devices::train,
            ..Story::of(devices::world())
        },
        "AlphaStatuses.update_buffer_status" => Story {
            parameters: vec![("FeatureGates", "CapacityBuffer=true")],
            ..Story::of(buffers::beside_others())
        },
        "AlphaStatuses.observed_overlays"
        | "AlphaStatuses.update_overlay_status"
        | "Cluster.node_overlays" => Story {
            parameters: vec![("FeatureGates", "NodeOverlay=true")],
            ..Story::of(overlays::cheap())
        },
        "Ledger.open" | "NodeClaims.take_over" => {
            Story { joined: lose_ledger, is_hard: true, ..Story::of(sim(WorldSettings::default())) }
        }
        // A day of sweeps is queued when it begins: the first pods wait for three minutes.
        "Profiles.remove" | "Templates.remove" => {
            Story { is_hard: true, ..Story::of(sweep_jobs::with_leftovers()) }
        }
        "Ledger.put_facts" | "Ledger.put_shifted_zones" => classes(),
        "Fleet.of_batch" | "Ledger.mark_unavailable" | "Ledger.put_refusals" => failures(),
        // What is refused is a whole plan.
        "Ledger.commit" => Story { is_hard: true, ..Story::of(sim(WorldSettings::default())) },
        "Ledger.withdraw_claims" => Story {
            joined: sell_nothing,
            is_hard: true,
            ..Story::of(sim(WorldSettings::default()))
        },
        _ if port == "Discovery" => classes(),
        _ if port == "Forensics" => failures(),
        _ => Story::of(sim(WorldSettings::default())),
    }
}

/// With classes of every kind, of which facts are recorded.
fn classes() -> Story {
    let sim = with_every_kind_of_class();
    let zone = catalog().zones.keys().next().cloned().expect("a zone");
    sim.at(minute(10), Action::ShiftZone(zone, minute(20)));
    let parameters = vec![("Record", "facts"), ("EnableZonalShift", "true")];
    Story { parameters, ..Story::of(sim) }
}

/// With launches that bring nothing; the answer to the first after five minutes is lost.
fn failures() -> Story {
    let sim = sim(WorldSettings { never_joins_per_mille: 200, ..WorldSettings::with_seed(3) });
    sell_none(&sim, |number, _| number % 2 == 0);
    let is_over = Cell::new(false);
    sim.add_rule(Box::new(move |call, _| {
        let is_meant = call.operation == "Fleet.launch" && minute(5) <= call.now;
        let is_lost = is_meant && !is_over.replace(true);
        if is_lost { Injection::FailAfter(Fault::Unknown) } else { Injection::Pass }
    }));
    sim.at(minute(16), Action::EndLaunches(Some("Client.InternalError".to_owned())));
    sim.at(minute(34), Action::EndLaunches(None));
    Story { is_hard: true, ..Story::of(sim) }
}

/// For some minutes, EC2 has no instance of anything.
fn sell_nothing(sim: &Sim) {
    sell_none(sim, |_, _| true);
    for (_, offering) in offerings() {
        sim.at(minute(12), Action::SetCapacity { offering, instances: None });
    }
}

/// The table is lost; the NodeClaims are what Karpenter could have made.
fn lose_ledger(sim: &Sim) {
    let claims = sim.claims().into_iter().filter(|claim| claim.instance.is_some());
    let claims: Vec<_> = claims.collect();
    sim.act(Action::LoseLedger);
    for claim in claims {
        sim.act(Action::AddForeignNodeClaim(Box::new(claim)));
    }
}

/// Pods come and go, and so do nodes: by consolidation, by EC2, by a user's hand, by drift.
fn begin(sim: &Sim) {
    sim.at(minute(6), scale("web", 20));
    sim.at(minute(9), Action::InterruptSpot(SpotTarget::Any));
    sim.at(minute(12), Action::TerminateInstance(SpotTarget::Oldest));
    sim.at(minute(15), scale("web", 4));
    drift(sim, minute(22));
    sim.at(minute(30), scale("web", 24));
}

/// The names that `subject` has, without numbers and phases.
fn names(subject: &str) -> BTreeSet<&str> {
    let parts = subject.split([',', ' ', '/']).map(str::trim);
    parts.filter(|part| part.len() > 6).collect()
}

/// The name of an object that has the number of its own, before words, namespaces and reasons; empty without any.
fn one_of<'a>(names: &BTreeSet<&'a str>) -> &'a str {
    let is_numbered = |name: &&&str| name.contains(|character: char| character.is_ascii_digit());
    names.iter().find(is_numbered).or_else(|| names.first()).copied().unwrap_or("")
}

/// Refuses `operation` from minute four on: of the call after the first `skipped` ones on, for one of its names, and
/// whenever it is called where it is about none. What is refused, once it is.
fn refuse(sim: &Sim, operation: &'static str, skipped: u64) -> Rc<RefCell<Option<String>>> {
    let refused: Rc<RefCell<Option<String>>> = Rc::default();
    let noted = Rc::clone(&refused);
    let skips = Cell::new(skipped);
    sim.add_rule(Box::new(move |call, _| {
        if call.operation != operation || call.now < minute(4) {
            return Injection::Pass;
        }
        let mut noted = noted.borrow_mut();
        if noted.is_none() && skips.get() > 0 {
            skips.set(skips.get() - 1);
            return Injection::Pass;
        }
        let called = names(call.subject);
        let meant = noted.get_or_insert_with(|| one_of(&called).to_owned());
        let is_meant = meant.is_empty() || called.contains(meant.as_str());
        let is_over = OUTAGES.contains(&operation) && minute(25) <= call.now;
        if is_meant && !is_over { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    refused
}

/// What `refused` is about, under all of its names.
pub(crate) fn guilty(sim: &Sim, refused: &str) -> BTreeSet<String> {
    let mut guilty = BTreeSet::from([refused.to_owned()]);
    // A node that never registered is in no claim.
    let is_refused = |node: &Node| node.name.as_str() == refused;
    let its_instance = sim.nodes().into_iter().find(is_refused).and_then(|node| node.provider_id);
    let its_instance = its_instance.and_then(|id| id.instance()).map(|id| id.to_string());
    for claim in sim.claims() {
        let instance = claim.instance.as_ref().map(|instance| instance.id.to_string());
        let node = claim.node.as_ref().map(ToString::to_string);
        let batch = Some(claim.batch.to_string());
        let names = [Some(claim.name.to_string()), batch, instance, node];
        let pods = claim.pods.iter().map(ToString::to_string);
        let names: BTreeSet<String> = names.into_iter().flatten().chain(pods).collect();
        let is_its = |name: &String| name.contains(refused) || Some(name) == its_instance.as_ref();
        if names.iter().any(is_its) {
            guilty.extend(names);
        }
    }
    guilty
}

/// The pods that were told to wait for one of `named`.
fn waiting_for(sim: &Sim, named: &BTreeSet<String>) -> BTreeSet<PodKey> {
    let nominated = sim.told().into_iter().filter_map(|(_, event)| match event.about {
        EventObject::Pod(pod, _) if event.reason == EventReason::Nominated => {
            named.iter().any(|name| event.message.contains(name.as_str())).then_some(pod)
        }
        _ => None,
    });
    nominated.collect()
}

/// The operation of `seed`, and how many of its calls go through first.
fn chosen(seed: u64) -> (&'static str, u64) {
    let (operation, round) = strided(&operations(), STRIDE, seed);
    (operation, round * 3)
}

fn outcome(seed: u64) -> Result<(), String> {
    let (operation, skipped) = chosen(seed);
    let Story { sim, parameters, joined, has_wake, is_hard } = story_of(operation);
    begin(&sim);
    let neighbour = Neighbour::beside(&sim);
    let refused = refuse(&sim, operation, skipped);
    let wake_key = has_wake.then(sweep_jobs::wake_key);
    let settings = Settings { has_wake, wake_key, ..settings(&parameters) };
    let (mut runner, _reports) = runner_with(&sim, settings);
    let failed = |why: String| format!("{operation} after {skipped}: {why}");
    runner.run_until(minute(5)).map_err(|why| failed(why.to_string()))?;
    joined(&sim);
    // Claims, their names and events come and go.
    let (mut named, mut waiting, mut is_namesake) = (BTreeSet::new(), BTreeSet::new(), false);
    for minutes in 6..=75 {
        runner.run_until(minute(minutes)).map_err(|why| failed(why.to_string()))?;
        let mut claims = sim.claims().into_iter();
        is_namesake |= claims.any(|claim| claim.name.as_str().starts_with(neighbour::BATCH));
        if let Some(name) = refused.borrow().as_ref().filter(|name| !name.is_empty()) {
            named.extend(guilty(&sim, name));
            waiting.extend(waiting_for(&sim, &named));
        }
    }
    let refused = refused.borrow().clone();
    if skipped == 0 && refused.is_none() {
        return Err(failed("it is never called".to_owned()));
    }
    // Nothing can be launched from a class whose launch template is refused.
    let needs_it = |problem: &String| operation == "Templates.ensure" && problem.contains("waits");
    let is_innocent = |problem: &String| {
        !needs_it(problem) && !named.iter().any(|name| problem.contains(name.as_str()))
    };
    let mut problems: Vec<String> = sim.check_liveness().into_iter().filter(is_innocent).collect();
    problems.extend((!is_namesake).then(|| "the clusters have no name in common".to_owned()));
    problems.extend(neighbour.problems(&sim));
    if !OUTAGES.contains(&operation) && !is_hard {
        let waited = sim.summary().pending_times;
        let long = waited.into_iter().filter(|waited| PENDING_MAX < *waited).count();
        if waiting.len() < long {
            let waiting = waiting.len();
            problems.push(format!("{long} pods waited too long, {waiting} of them for it"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(failed(format!("about {named:?}: {}", problems.join("; "))))
}

#[test]
fn whatever_is_refused_for_ever_keeps_nothing_else() {
    play_seeds(SEEDS_DEFAULT, outcome);
}

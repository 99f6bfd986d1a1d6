//! The jobs of `sweep`: each does its work, and one that fails keeps no other from it.

use std::collections::BTreeMap;

use handlers::{Error, Job, ProcessMemory, Recorder, Settings, SweepPorts, sweep};
use jiff::SignedDuration;
use model::{
    CapacityType, DeletionReason, Function, InstanceId, LaunchTemplateName, NodeClaim,
    NodeClaimName, labels,
    node_class::{NodeClass, NodeIdentity},
    static_hash::NODE_CLASS,
    wake::{WakeKey, WakeWebhooks, with_path},
};
use ports::{Fault, Invocation, Ledger as _, NodeClaims, NodeClasses as _, Profiles, Templates};
use simulator::{
    Action, ApiAction, ClusterObject, Happening, Injection, Sim, SpotTarget, WorldSettings,
    first_calls,
};

use crate::world::{MANIFESTS, add_manifests, empty, minute, runner, sell_none, sim};

/// What is not used any more.
const PROFILE: &str = "simulated_unused";

fn template() -> LaunchTemplateName {
    testkit::build::id("karpenter.k8s.aws/17")
}

fn lost() -> NodeClaimName {
    testkit::build::id("general-0-0")
}

fn answer<T>(sim: &Sim, call: impl Future<Output = Result<T, ports::PortError>>) -> T {
    sim.block_on(call).expect("an answer").expect("it works")
}

fn tags<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// An unused instance profile.
fn leave_profile(sim: &Sim, name: &str) {
    let cluster = WorldSettings::default().cluster;
    let tags = tags([
        (labels::CLUSTER_NAME_TAG, cluster.as_str()),
        (labels::REGION, "us-west-2"),
        (labels::NODE_CLASS, "gone"),
    ]);
    let path = "/journeyman/us-west-2/simulated/gone/";
    answer(sim, Profiles::ensure(sim, path, name, "role", &tags));
}

/// An unused launch template.
fn leave_template(sim: &Sim, name: &LaunchTemplateName) {
    let cluster = WorldSettings::default().cluster;
    let tags = tags([(labels::CLUSTER_NAME_TAG, cluster.as_str()), (labels::NODE_POOL, "general")]);
    let made = testkit::build::template(name.as_str());
    answer(sim, Templates::ensure(sim, &model::launch::LaunchTemplate { tags, ..made }));
}

/// The usual world, with templates and profiles that are old enough to be removed after half an hour.
pub(crate) fn with_leftovers() -> Sim {
    let start = minute(30 - 24 * 60);
    let sim = empty(WorldSettings { start, ..WorldSettings::default() });
    for number in 0..3 {
        leave_template(&sim, &testkit::build::id(&format!("karpenter.k8s.aws/{number}")));
    }
    sim.pass_until(minute(-31));
    for number in 0..3 {
        leave_profile(&sim, &format!("{PROFILE}-{number}"));
    }
    sim.pass_until(minute(0));
    add_manifests(&sim, MANIFESTS);
    sim
}

/// Of what the paths of `wake` are made.
pub(crate) fn wake_key() -> WakeKey {
    WakeKey::new("0123456789abcdef0123456789abcdef").expect("a long one")
}

/// The URL of `wake` with the path that is its today.
fn wake_url(sim: &Sim) -> String {
    let path = wake_key().path(&WorldSettings::default().cluster, sim.now());
    with_path("https://wake.test", &path)
}

/// The webhooks of `wake`, with the path of now.
fn install_webhooks(sim: &Sim) {
    install_webhooks_with(sim, wake_url(sim));
}

/// The webhooks of `wake`, with the path of another day.
pub(crate) fn install_stale_webhooks(sim: &Sim) {
    install_webhooks_with(sim, with_path("https://wake.test", &"0".repeat(64)));
}

fn install_webhooks_with(sim: &Sim, url: String) {
    let urls = vec![("node-pools.wake.journeyman".to_owned(), url)];
    let (uid, version) = ("u1".to_owned(), "1".to_owned());
    sim.set_webhooks(Some(WakeWebhooks { uid, version, urls }));
}

/// A world with work for every job, a day after its nodes were launched on demand.
pub(crate) fn neglected() -> Sim {
    let sim = sim(WorldSettings::default());
    sell_none(&sim, |_, offering| offering.capacity_type == CapacityType::Spot);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    leave_profile(&sim, PROFILE);
    leave_template(&sim, &template());
    answer(&sim, sim.sync(&testkit::build::claim(lost().as_str())));
    install_webhooks(&sim);
    sim.pass_until(minute(26 * 60));
    let (cluster, claims) = (WorldSettings::default().cluster, sim.claims());
    let [reserved, old, drifted, ..] = claims.as_slice() else { panic!("three claims at least") };
    let mut reserved = NodeClaim { version: reserved.version + 1, ..reserved.clone() };
    reserved.instance.as_mut().expect("an instance").capacity_type = CapacityType::Reserved;
    answer(&sim, sim.write_claim(&cluster, &reserved));
    answer(&sim, sim.write_claim(&cluster, &aged(old)));
    let mut drifted = NodeClaim { version: drifted.version + 1, ..drifted.clone() };
    drifted.conditions.drifted = Some("SubnetDrift".to_owned());
    answer(&sim, sim.write_claim(&cluster, &drifted));
    sim
}

/// The next version of `claim`, with a drift hash of an older version.
fn aged(claim: &NodeClaim) -> NodeClaim {
    let mut aged = NodeClaim { version: claim.version + 1, ..claim.clone() };
    aged.annotations.insert(NODE_CLASS.version_key.to_owned(), "v5".to_owned());
    aged
}

/// One sweep, and the jobs that failed.
pub(crate) fn swept(sim: &Sim) -> Vec<Job> {
    swept_by(sim, &ProcessMemory::default())
}

/// The same by a process with `memory`.
fn swept_by(sim: &Sim, memory: &ProcessMemory) -> Vec<Job> {
    let now = sim.now();
    let deadline = now.checked_add(SignedDuration::from_secs(60)).expect("a time");
    let cluster = WorldSettings::default().cluster;
    let at = Invocation { id: "sweep".to_owned(), cluster, now, deadline };
    let ports = SweepPorts::<Sim> {
        cluster: sim,
        node_claims: sim,
        discovery: sim,
        profiles: sim,
        templates: sim,
        fleet: sim,
        ledger: sim,
        leases: sim,
        webhooks: sim,
        catalog: sim,
        mailbox: sim,
        nodes: sim,
        settings: &Settings {
            heeds_zonal_shifts: true,
            wake_key: Some(wake_key()),
            ..Settings::default()
        },
        memory,
        recorder: Recorder { events: sim, memory },
        clock: sim,
    };
    match sim.block_on_as(Function::Sweep, sweep(&ports, &at)).expect("it ends") {
        Ok(_) => Vec::new(),
        Err(Error::Jobs(failed)) => failed.into_iter().map(|failed| failed.job).collect(),
        Err(error) => panic!("{error}"),
    }
}

/// The jobs that have something to do.
pub(crate) fn open(sim: &Sim) -> Vec<Job> {
    let cluster = WorldSettings::default().cluster;
    let claims = sim.claims();
    let is_old = |claim: &NodeClaim| {
        claim.annotations.get(NODE_CLASS.version_key).is_some_and(|version| version == "v5")
    };
    let profiles = answer(sim, Profiles::list(sim, "/journeyman/"));
    let templates = answer(sim, Templates::list(sim, &cluster));
    let webhooks = sim.webhooks().map(|webhooks| webhooks.urls).unwrap_or_default();
    let today = wake_url(sim);
    [
        (Job::Webhooks, webhooks.iter().any(|(_, url)| *url != today)),
        (Job::NodeClaimObjects, sim.node_claim(&lost()).is_some()),
        (Job::Reservations, claims.iter().any(NodeClaim::is_reserved)),
        (Job::DriftHashes, claims.iter().any(is_old)),
        (Job::Drift, claims.iter().any(|claim| claim.conditions.drifted.is_some())),
        (Job::InstanceProfiles, profiles.iter().any(|profile| profile.name == PROFILE)),
        (Job::LaunchTemplates, templates.contains_key(&template())),
    ]
    .into_iter()
    .filter_map(|(job, is_open)| is_open.then_some(job))
    .collect()
}

const ALL: [Job; 7] = [
    Job::Webhooks,
    Job::NodeClaimObjects,
    Job::Reservations,
    Job::DriftHashes,
    Job::Drift,
    Job::InstanceProfiles,
    Job::LaunchTemplates,
];

/// While `call` fails, `failed` fail, are reported, and are made good once it works again; all others
/// do their work. Who is in charge, and which instances are there, is looked at by the same calls.
#[track_caller]
fn check(call: &'static str, failed: &[Job]) {
    check_undone(call, failed, failed);
}

/// The same where some of the jobs that are `undone` were not begun.
#[track_caller]
fn check_undone(call: &'static str, failed: &[Job], undone: &[Job]) {
    let sim = neglected();
    assert_eq!(open(&sim), ALL);
    sim.add_rule(first_calls(call, 100, Injection::FailBefore(Fault::Transient)));
    let mut reported = swept(&sim);
    reported.retain(|job| !matches!(job, Job::Guard | Job::Instances));
    sim.stop_faults();
    assert_eq!((reported.as_slice(), open(&sim).as_slice()), (failed, undone), "{call}");
    assert_eq!((swept(&sim), open(&sim)), (Vec::new(), Vec::new()), "{call}");
}

#[test]
fn a_job_that_fails_keeps_no_other_from_running() {
    check("Webhooks.of_wake", &[Job::Webhooks]);
    check("Webhooks.set_urls", &[Job::Webhooks]);
    check("NodeClaims.synced", &[Job::NodeClaimObjects]);
    check("NodeClaims.remove", &[Job::NodeClaimObjects]);
    check("Fleet.describe", &[Job::Reservations]);
    // So does the comparison of instances, of whose drift nothing is said.
    check_undone("Cluster.node_pools", &[Job::DriftHashes], &[Job::DriftHashes, Job::Drift]);
    check_undone("Fleet.impaired", &[Job::InstanceStatus], &[]);
    check_undone("Discovery.zonal_shifts", &[Job::ZonalShifts], &[]);
    check("Profiles.list", &[Job::InstanceProfiles]);
    check("Profiles.remove", &[Job::InstanceProfiles]);
    check("Templates.list", &[Job::LaunchTemplates]);
    check("Templates.remove", &[Job::LaunchTemplates]);
}

#[test]
fn what_several_jobs_need_fails_only_them() {
    check("Cluster.node_classes", &[Job::DriftHashes, Job::Drift, Job::InstanceProfiles]);
    check("Discovery.cluster_settings", &[Job::DriftHashes, Job::InstanceProfiles]);
    check("Ledger.write_claim", &[Job::Reservations, Job::DriftHashes, Job::Drift]);
    // Which instances there are is not known without the ledger, nor which of them drifted.
    let [_, others @ .., last] = &ALL;
    let told = others.iter().copied().filter(|job| *job != Job::Drift);
    let failed: Vec<Job> = std::iter::once(Job::InstanceStatus).chain(told).collect();
    check_undone("Ledger.snapshot", &failed, others);
    assert_eq!(*last, Job::LaunchTemplates);
}

#[test]
fn items_that_cannot_be_read_keep_their_own_profiles_and_no_others() {
    let sim = neglected();
    let profiles = || {
        let profiles = answer(&sim, Profiles::list(&sim, "/journeyman/"));
        profiles.into_iter().map(|profile| profile.name).collect::<Vec<_>>()
    };
    let used: Vec<String> = profiles().into_iter().filter(|name| name != PROFILE).collect();
    assert_eq!(used.len(), 1);
    // The class wants another profile from now on.
    let class = answer(&sim, sim.observed_classes()).items.remove(0).class;
    let identity = NodeIdentity::Role("another".to_owned());
    let class = ClusterObject::NodeClass(NodeClass { identity, ..class });
    sim.act(Action::Add(vec![class]));
    let claims = sim.claims().into_iter().map(|claim| claim.name);
    let claims: Vec<NodeClaimName> = claims.collect();
    let set_readable = |is_readable: bool| {
        for claim in claims.iter().cloned() {
            sim.act(Action::SetReadable { claim, is_readable });
        }
    };
    set_readable(false);
    swept(&sim);
    assert_eq!(profiles(), used);
    leave_profile(&sim, PROFILE);
    sim.pass_until(minute(28 * 60));
    answer(&sim, NodeClaims::remove(&sim, &claims[0]));
    swept(&sim);
    assert!(profiles().contains(&PROFILE.to_owned()), "the class of the claim is not known");
    set_readable(true);
    swept(&sim);
    assert_eq!(profiles(), used);
}

#[test]
fn where_it_is_not_known_for_long_who_is_in_charge_nothing_is_done() {
    let sim = neglected();
    sim.add_rule(first_calls("Leases.leases", 1, Injection::FailBefore(Fault::Transient)));
    // The path of `wake` does not depend on the guard.
    let [_, others @ ..] = ALL;
    assert_eq!((swept(&sim), open(&sim)), (vec![Job::Guard], others.to_vec()));
    assert_eq!((swept(&sim), open(&sim)), (Vec::new(), Vec::new()));
}

#[test]
fn a_claim_that_was_moved_on_meanwhile_is_left_to_the_next_sweep() {
    let sim = neglected();
    let reserved = sim.claims().into_iter().find(NodeClaim::is_reserved).expect("a claim");
    let old = aged(&reserved);
    answer(&sim, sim.write_claim(&WorldSettings::default().cluster, &old));
    // It is demoted, after which its version is not the one that was read.
    assert_eq!((swept(&sim), open(&sim)), (Vec::new(), vec![Job::DriftHashes]));
    assert_eq!((swept(&sim), open(&sim)), (Vec::new(), Vec::new()));
}

#[test]
fn webhooks_that_change_or_go_meanwhile_get_their_path_a_minute_later() {
    for fault in [Fault::Conflict, Fault::NotFound] {
        let sim = neglected();
        sim.add_rule(first_calls("Webhooks.set_urls", 1, Injection::FailBefore(fault)));
        assert_eq!((swept(&sim), open(&sim)), (Vec::new(), vec![Job::Webhooks]), "{fault:?}");
        assert_eq!((swept(&sim), open(&sim)), (Vec::new(), Vec::new()), "{fault:?}");
    }
    let without = neglected();
    without.set_webhooks(None);
    assert_eq!((swept(&without), without.webhooks()), (Vec::new(), None), "none are made");
}

/// The usual world once its nodes are there, and the instances of its claims.
fn settled() -> (Sim, BTreeMap<NodeClaimName, InstanceId>) {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let claims = sim.claims().into_iter();
    let instances: BTreeMap<_, _> =
        claims.filter_map(|claim| Some((claim.name, claim.instance?.id))).collect();
    assert!(instances.len() > 2, "{instances:?}");
    (sim, instances)
}

/// Which of `instances` are still there.
fn working(sim: &Sim, instances: &BTreeMap<NodeClaimName, InstanceId>) -> usize {
    let working = sim.working_instances();
    working.iter().filter(|instance| instances.values().any(|id| *id == instance.id)).count()
}

#[test]
fn instances_that_end_unheard_are_all_found() {
    let (sim, instances) = settled();
    let failing = Injection::FailBefore(Fault::Transient);
    sim.add_rule(first_calls("Ledger.claims_of_instances", 10_000, failing));
    for instance in instances.values() {
        sim.act(Action::TerminateInstance(SpotTarget::Instance(instance.clone())));
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let deleted: BTreeMap<NodeClaimName, DeletionReason> = sim
        .timeline(0)
        .into_iter()
        .filter_map(|event| match event.happening {
            Happening::ClaimDeleted { claim, reason } => Some((claim, reason)),
            _ => None,
        })
        .collect();
    for name in instances.keys() {
        assert_eq!(deleted.get(name), Some(&DeletionReason::InstanceEnded), "{name}");
        assert!(sim.claims().iter().all(|claim| claim.name != *name), "{name}");
    }
    assert_eq!(sim.summary().pods_waiting, 0);
}

#[test]
fn an_instance_without_a_known_claim_ends_and_its_node_goes() {
    let (sim, instances) = settled();
    let nodes = sim.nodes();
    assert!(!nodes.is_empty() && nodes.iter().all(|node| !node.finalizers.is_empty()));
    for name in instances.keys() {
        sim.act(Action::ForgetClaim(name.clone()));
    }
    sim.act(Action::DeleteNodePool(testkit::build::id("general")));
    assert_eq!(working(&sim, &instances), instances.len());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert_eq!(working(&sim, &instances), 0);
    assert_eq!(sim.nodes(), Vec::new());
}

#[test]
fn while_nothing_happens_a_process_reads_the_ledger_every_second_minute() {
    let (sim, instances) = settled();
    let memory = ProcessMemory::default();
    let mut pages_read = |after: i64| {
        sim.pass_until(minute(after));
        let before = sim.meter();
        assert_eq!(swept_by(&sim, &memory), []);
        sim.meter().since(&before).answered(ApiAction::dynamodb("Query"))
    };
    let pages: Vec<u64> = (7..=12).map(&mut pages_read).collect();
    let read = pages[0];
    assert!(read > 0);
    assert_eq!(pages, [read, 0, read, 0, read, 0]);
    // What differs from the ledger is made good all the same.
    let name = instances.into_keys().next().expect("a claim");
    answer(&sim, NodeClaims::remove(&sim, &name));
    assert_eq!((pages_read(13), sim.node_claim(&name).is_some()), (read, true));
    answer(&sim, NodeClaims::remove(&sim, &name));
    assert_eq!((pages_read(14), sim.node_claim(&name).is_some()), (0, true));
}

#[test]
fn claims_that_were_written_to_since_a_process_read_the_ledger_are_deleted_by_its_next_sweep() {
    let (sim, _) = settled();
    let memory = ProcessMemory::default();
    sim.act(Action::FailCheck { target: SpotTarget::Any, is_of_host: true });
    sim.pass_until(minute(7) + SignedDuration::from_secs(30));
    assert_eq!(swept_by(&sim, &memory), []);
    // No counter counts that.
    for claim in sim.claims() {
        answer(&sim, sim.write_claim(&WorldSettings::default().cluster, &claim.following()));
    }
    sim.pass_until(minute(8) + SignedDuration::from_secs(30));
    let deleting = || sim.claims().iter().filter(|claim| claim.is_deleting()).count();
    assert_eq!((swept_by(&sim, &memory), deleting()), (Vec::new(), 0));
    assert_eq!((swept_by(&sim, &memory), deleting()), (Vec::new(), 1));
}

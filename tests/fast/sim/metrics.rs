//! What a metered ledger counts: what the ledger took, each thing once.

use std::collections::BTreeMap;

use handlers::{Metered, Metrics, Reading};
use model::{
    ClaimPhase, ClusterName, DeletionReason, NodeClaim,
    claim::Reboot,
    disruption::{Command, DisruptionReason, Method, Progress},
    ledger::{Basis, Commit, CommitOutcome, Head, WriteOutcome},
};
use ports::Ledger as _;
use simulator::{Sim, WorldSettings};
use testkit::{Clusters, assert_kept, build};

use crate::world::catalog;

type Counted = BTreeMap<String, u64>;

struct World {
    sim: Sim,
    ledger: Metered<Sim, Sim>,
    metrics: Metrics,
    cluster: ClusterName,
}

impl World {
    fn new() -> Self {
        let sim = Sim::new(WorldSettings::default().without_limits(), catalog());
        let metrics = Metrics::default();
        let ledger = Metered::new(sim.clone(), sim.clone(), metrics.clone());
        Self { sim, ledger, metrics, cluster: "demo".parse().expect("a name") }
    }

    fn head(&self) -> Head {
        let opened = self.sim.block_on(self.ledger.open(&self.cluster, None));
        opened.expect("no fault").expect("a head")
    }

    fn look(&self) {
        let read = self.sim.block_on(self.ledger.snapshot(&self.cluster));
        read.expect("no fault").expect("a snapshot");
    }

    fn commit(&self, commit: &Commit) {
        let outcome = self.sim.block_on(self.ledger.commit(&self.cluster, commit));
        let outcome = outcome.expect("no fault").expect("an outcome");
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    }

    fn write(&self, claim: &NodeClaim) {
        let claims = std::slice::from_ref(claim);
        let outcome = self.sim.block_on(self.ledger.write_claims(&self.cluster, claims));
        assert_eq!(outcome.expect("no fault").expect("an outcome"), WriteOutcome::Written);
    }

    fn remove(&self, claim: &NodeClaim) {
        let outcome = self.sim.block_on(self.ledger.remove_claim(&self.cluster, claim));
        assert_eq!(outcome.expect("no fault").expect("an outcome"), WriteOutcome::Written);
    }

    /// Since the last time: counters, and how often something was observed.
    fn counted(&self) -> Counted {
        let samples = self.metrics.take().into_iter().map(|sample| {
            let name = sample.metric.name.trim_start_matches("karpenter_");
            let count = match sample.reading {
                Reading::Added(count) | Reading::Observed { count, .. } => count,
                Reading::Is(_) => panic!("a ledger has no gauges"),
            };
            assert_eq!(sample.labels.len(), sample.metric.labels.len(), "{name}");
            (format!("{name}{{{}}}", sample.labels.join(",")), count)
        });
        samples.collect()
    }
}

fn counted<const N: usize>(expected: [(&str, u64); N]) -> Counted {
    expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
fn a_metered_ledger_keeps_the_contract_of_ledgers() {
    let World { sim, ledger, .. } = World::new();
    let clusters = Clusters {
        one: "one".parse().expect("a name"),
        other: "other".parse().expect("a name"),
        instance_prefix: "aa".to_owned(),
    };
    let wait = async || {
        let later = sim.now().checked_add(jiff::SignedDuration::from_secs(5));
        sim.pass_until(later.expect("a time of this year"));
    };
    assert_kept(&sim.block_on(testkit::ledger(&ledger, &clusters, &wait)).expect("the suite ends"));
}

#[test]
fn the_life_of_a_claim_is_counted_step_by_step() {
    let world = World::new();
    let head = world.head();
    world.look();
    let (claim, without) = (build::claim("a"), build::claim("b"));
    world.commit(&build::commit("one", &head, vec![claim.clone(), without.clone()]));
    let created = "nodeclaims_created_total{provisioned,general,false}";
    assert_eq!(world.counted(), counted([(created, 2)]));
    let withdrawn = std::slice::from_ref(&without);
    let outcome = world.sim.block_on(world.ledger.withdraw_claims(&world.cluster, withdrawn));
    assert_eq!(outcome.expect("no fault").expect("an outcome"), WriteOutcome::Written);
    let disrupted = "nodeclaims_disrupted_total{insufficient_capacity,general,,graceful}";
    assert_eq!(world.counted(), counted([(disrupted, 1)]));

    let now = world.sim.now();
    let instance = Some(build::launched_instance("i-0123456789abcdef0"));
    let launched = NodeClaim { instance, ..claim.moved_to(ClaimPhase::Launched, now) };
    world.write(&launched);
    assert_eq!(world.counted(), Counted::new());
    let joined = launched.moved_to(ClaimPhase::Registered, now);
    let joined = NodeClaim { node: Some("node-a".parse().expect("a name")), ..joined };
    world.write(&joined);
    // The answer was lost, and it is done once more.
    world.write(&joined);
    assert_eq!(world.counted(), counted([("nodes_created_total{general,us-west-2a}", 1)]));

    let empty = DeletionReason::Disrupted(DisruptionReason::Empty);
    let deleted = joined.deleted(empty, now);
    let commit = Commit {
        basis: Basis::Claims,
        changed: vec![deleted.clone()],
        ..build::commit("two", &world.head(), Vec::new())
    };
    world.commit(&commit);
    world.commit(&commit);
    assert_eq!(
        world.counted(),
        counted([
            ("nodeclaims_disrupted_total{empty,general,on-demand,graceful}", 1),
            ("voluntary_disruption_decisions_total{delete,empty,}", 1),
        ])
    );
    let mut drained = deleted.following();
    drained.conditions.drained_since = Some(now);
    world.write(&drained);
    assert_eq!(world.counted(), counted([("nodes_drained_total{general}", 1)]));
    world.remove(&drained);
    world.remove(&drained);
    assert_eq!(
        world.counted(),
        counted([
            ("nodeclaims_terminated_total{general,on-demand,us-west-2a}", 1),
            ("nodeclaims_termination_duration_seconds{general}", 1),
            ("nodes_lifetime_duration_seconds{general}", 1),
            ("nodes_terminated_total{general,us-west-2a}", 1),
        ])
    );
}

#[test]
fn commands_are_counted_when_they_begin_and_when_they_fail() {
    let world = World::new();
    let head = world.head();
    world.look();
    let command = |progress| Command {
        method: Method::SingleNode,
        found_at: world.sim.now(),
        candidates: vec!["a".parse().expect("a name")],
        replacements: Vec::new(),
        drain: None,
        progress,
    };
    let step = |name: &str, progress: Option<Progress>, created: Vec<NodeClaim>| {
        let id: model::CommandId = "single-node-consolidation-a".parse().expect("an id");
        let counters = world.head().counters;
        let head = Head { counters, ..head.clone() };
        let mut commit = Commit { basis: Basis::Claims, ..build::commit(name, &head, created) };
        match progress {
            Some(progress) => drop(commit.started.insert(id, command(progress))),
            None => drop(commit.ended.insert(id)),
        }
        world.commit(&commit);
        world.counted()
    };
    let since = world.sim.now();
    assert_eq!(step("found", Some(Progress::Found), Vec::new()), Counted::new());
    let failed = counted([("voluntary_disruption_failed_validations_total{single}", 1)]);
    assert_eq!(step("dropped", None, Vec::new()), failed);
    step("again", Some(Progress::Found), Vec::new());
    let launching = Progress::Launching { since, claims: vec!["r".parse().expect("a name")] };
    assert_eq!(
        step("begun", Some(launching), vec![build::claim("r")]),
        counted([
            ("nodeclaims_created_total{underutilized,general,false}", 1),
            ("voluntary_disruption_decisions_total{replace,underutilized,single}", 1),
        ])
    );
    let back = Progress::RolledBack { why: "its replacement did not come".to_owned() };
    assert_eq!(
        step("back", Some(back), Vec::new()),
        counted([("voluntary_disruption_queue_failures_total{replace,underutilized,single}", 1)])
    );
    assert_eq!(step("freed", None, Vec::new()), Counted::new());
}

#[test]
fn what_a_claim_is_deleted_for_is_a_label() {
    let world = World::new();
    let head = world.head();
    world.look();
    let claims = ["a", "b", "c", "d"].map(build::claim);
    world.commit(&build::commit("one", &head, claims.to_vec()));
    world.counted();
    let now = world.sim.now();
    let hour = jiff::SignedDuration::from_hours(1);
    let cases = [
        (DeletionReason::Expired, None, Some("expired,general,,graceful")),
        (DeletionReason::NotRegistered, Some(hour), Some("registration_timeout,general,,eventual")),
        (
            DeletionReason::SpotInterrupted,
            Some(jiff::SignedDuration::ZERO),
            Some("spot_interrupted,general,,forceful"),
        ),
        // Who deletes it himself disrupts nothing.
        (DeletionReason::NodeClaimDeleted, None, None),
    ];
    for (claim, (reason, termination_grace_period, labels)) in claims.iter().zip(cases) {
        let launched = claim.moved_to(ClaimPhase::Launched, now);
        world.write(&launched);
        let launched = NodeClaim { termination_grace_period, ..launched };
        let commit = Commit {
            basis: Basis::Claims,
            changed: vec![launched.deleted(reason, now)],
            ..build::commit(reason.as_str(), &world.head(), Vec::new())
        };
        world.commit(&commit);
        let names = labels.map(|labels| (format!("nodeclaims_disrupted_total{{{labels}}}"), 1));
        assert_eq!(world.counted(), names.into_iter().collect::<Counted>(), "{reason}");
    }
}

#[test]
fn reboots_are_counted_when_they_succeed_or_fail() {
    let world = World::new();
    let head = world.head();
    world.look();
    let now = world.sim.now();
    let names = ["a", "b", "c"];
    let claims = names.map(|name| {
        let instance = Some(build::launched_instance(&format!("i-0123456789abcdef{name}")));
        NodeClaim { instance, ..build::claim(name) }
    });
    let command = |name: &str| Command {
        method: Method::Repair,
        found_at: now,
        candidates: vec![name.parse().expect("a name")],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Rebooting { since: now },
    };
    let id = |name: &str| -> model::CommandId { format!("repair-{name}").parse().expect("an id") };
    let started = names.iter().map(|name| (id(name), command(name))).collect();
    world.commit(&Commit { started, ..build::commit("one", &head, claims.to_vec()) });
    let decisions =
        world.counted().remove("voluntary_disruption_decisions_total{reboot,unhealthy,}");
    assert_eq!(decisions, Some(3));
    let rebooted = |claim: &NodeClaim, issued_at, ended_at| {
        let reboot = Reboot {
            requested_at: now,
            boot_id: "boot-1".to_owned(),
            drained_at: now,
            issued_at,
            ended_at,
        };
        NodeClaim { conditions: claim.conditions.with_reboot(reboot), ..claim.following() }
    };
    let issued = claims.each_ref().map(|claim| rebooted(claim, Some(now), None));
    world.write(&issued[0]);
    world.write(&issued[1]);
    assert_eq!(world.counted(), Counted::new());
    let back = rebooted(&issued[0], Some(now), Some(now));
    world.write(&back);
    // The next writes of the claim say the same reboot.
    world.write(&back.following());
    assert_eq!(
        world.counted(),
        counted([
            ("nodes_reboots_total{succeeded}", 1),
            ("nodes_reboot_duration_seconds{succeeded}", 1),
            ("nodes_reboot_recovery_duration_seconds{}", 1),
        ])
    );
    // EC2 took one request and not the other.
    let failing = [&issued[1], &claims[2]]
        .map(|claim| claim.deleted(DeletionReason::Disrupted(DisruptionReason::Unhealthy), now));
    let ended = ["b", "c"].map(id).into();
    let commit = build::commit("two", &world.head(), Vec::new());
    world.commit(&Commit { basis: Basis::Claims, changed: failing.into(), ended, ..commit });
    let failed = world.counted();
    for result in ["recovery_timeout", "provider_error"] {
        for metric in ["nodes_reboots_total", "nodes_reboot_duration_seconds"] {
            assert_eq!(failed.get(&format!("{metric}{{{result}}}")), Some(&1), "{failed:?}");
        }
    }
}

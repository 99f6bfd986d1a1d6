//! The ledger is lost, is old, or is not the only one: no instance is leaked, none is launched twice, and
//! nothing of anybody else is touched.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::{InstanceId, NodeClaim, ledger::Guard};
use ports::Ledger as _;
use simulator::{Action, Sim, WorldSettings};

use crate::world::{minute, runner, sim};

fn guard(sim: &Sim) -> Guard {
    let cluster = WorldSettings::default().cluster;
    sim.block_on(sim.head(&cluster)).expect("it ends").expect("it answers").guard
}

fn instances(sim: &Sim) -> BTreeSet<InstanceId> {
    let claims = sim.claims();
    claims.iter().filter_map(|claim| Some(claim.instance.as_ref()?.id.clone())).collect()
}

#[track_caller]
fn check(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.check_node_claims(), Vec::<String>::new());
}

#[test]
fn a_table_that_is_deleted_is_adopted_anew() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let before = instances(&sim);
    assert!(before.len() > 2, "{before:?}");
    sim.act(Action::LoseLedger);
    runner.run_until(minute(14)).expect("nothing unsafe happens");
    assert_eq!(instances(&sim), before, "every instance has a claim again, and none is new");
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 30 });
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn a_table_that_is_deleted_amid_a_launch_leaks_nothing() {
    for seconds in [6, 8, 10, 20, 40] {
        let sim = sim(WorldSettings { seed: 7, ..WorldSettings::default() });
        let lost_at = sim.now() + SignedDuration::from_secs(seconds);
        sim.at(lost_at, Action::LoseLedger);
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        check(&sim);
    }
}

#[test]
fn an_old_backup_that_is_restored_is_not_believed() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), Action::BackUpLedger);
    sim.at(minute(4), Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    let before = instances(&sim);
    sim.act(Action::RestoreLedger);
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert!(before.is_subset(&instances(&sim)), "what was launched since has a claim again");
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn beside_a_live_karpenter_nothing_is_written() {
    let sim = sim(WorldSettings::default());
    sim.act(Action::RunKarpenter(true));
    let (mut runner, _reports) = runner(&sim);
    // Until the first look, what was seen before the world began counts.
    runner.run_until(minute(1)).expect("nothing unsafe happens");
    let Guard::Held { by, .. } = guard(&sim) else { panic!("{:?}", guard(&sim)) };
    assert!(by.starts_with("Karpenter (karpenter-0"), "{by}");
    let from = sim.trace().len();
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let writes = ["Fleet.", "Templates.", "Nodes.", "NodeClaims.", "Ledger.commit", "Ledger.write"];
    let trace = sim.trace();
    let written = trace[from..].iter().find(|line| writes.iter().any(|write| line.contains(write)));
    assert_eq!(written, None);
    // Once it is gone, what it left is adopted and the work goes on.
    sim.act(Action::RunKarpenter(false));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn what_karpenter_left_is_taken_over_as_it_is() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    // As if Karpenter had made them: its objects, and no ledger.
    let claims = sim.claims();
    sim.act(Action::LoseLedger);
    for claim in &claims {
        sim.act(Action::AddForeignNodeClaim(Box::new(claim.clone())));
    }
    runner.run_until(minute(16)).expect("nothing unsafe happens");
    let names = |claims: &[NodeClaim]| -> BTreeSet<String> {
        claims.iter().map(|claim| claim.name.to_string()).collect()
    };
    assert_eq!(names(&sim.claims()), names(&claims));
    assert!(sim.claims().iter().all(|claim| !claim.is_deleting()));
    check(&sim);
}

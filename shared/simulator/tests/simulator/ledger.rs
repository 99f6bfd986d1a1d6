//! The simulated ledger's answers, and its index that lags.

use model::{
    ClaimPhase, DeletionReason, Function, NodeClaim,
    claim::LaunchedInstance,
    ledger::{Basis, Commit, CommitOutcome, Counters, Head, WriteOutcome},
    limits::ITEMS_PER_COMMIT_MAX,
    pulse::Pulse,
};
use ports::Ledger as _;
use simulator::{Sabotage, Sim, WorldSettings};

use crate::simulator::toy;

fn head(sim: &Sim) -> Head {
    let cluster = WorldSettings::default().cluster;
    sim.block_on(ports::Ledger::head(sim, &cluster)).unwrap().unwrap()
}

fn committed(arrivals: u64) -> CommitOutcome {
    CommitOutcome::Committed(Counters { arrivals, departures: 0 })
}

#[track_caller]
fn check(sim: &Sim, commit: &Commit, expected: CommitOutcome) {
    let cluster = WorldSettings::default().cluster;
    let outcome = sim.block_on(sim.commit(&cluster, commit)).unwrap().unwrap();
    assert_eq!(outcome, expected);
}

#[test]
fn of_two_commits_on_one_parent_one_wins_and_is_recognized_again() {
    let sim = toy::sim(WorldSettings::default());
    let first = toy::commit("a", &head(&sim), vec![toy::claim("x", "b1", sim.now())]);
    let second = toy::commit("b", &head(&sim), vec![toy::claim("y", "b2", sim.now())]);
    check(&sim, &first, committed(1));
    check(&sim, &second, CommitOutcome::Conflict);
    check(&sim, &first, committed(1));
    assert_eq!(sim.claims().len(), 1);
}

#[test]
fn without_the_comparison_both_win() {
    let sabotage = Sabotage { ignore_compare_and_set: true, ..Sabotage::default() };
    let sim = toy::sim(WorldSettings { sabotage, ..WorldSettings::default() });
    let claim = |name: &str| vec![toy::claim(name, name, sim.now())];
    let before = head(&sim);
    check(&sim, &toy::commit("a", &before, claim("x")), committed(1));
    check(&sim, &toy::commit("b", &before, claim("y")), committed(2));
}

#[test]
fn a_commit_of_too_many_items_does_nothing() {
    let sim = toy::sim(WorldSettings::default());
    let claims = (0..ITEMS_PER_COMMIT_MAX)
        .map(|n| toy::claim(&format!("c{n}"), &format!("b{n}"), sim.now()));
    let commit = toy::commit("a", &head(&sim), claims.collect());
    let items_max = ITEMS_PER_COMMIT_MAX;
    check(&sim, &commit, CommitOutcome::TooLarge { items: items_max + 1, items_max });
    assert!(sim.claims().is_empty());
}

#[test]
fn a_claim_is_written_only_on_the_version_below() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let claim = toy::claim("x", "b1", sim.now());
    check(&sim, &toy::commit("a", &head(&sim), vec![claim.clone()]), committed(1));
    let write = |claim: &NodeClaim| {
        let written = sim.write_claims(&cluster, std::slice::from_ref(claim));
        sim.block_on(written).unwrap().unwrap()
    };
    let remove = |claim: &NodeClaim| {
        let removed = sim.withdraw_claims(&cluster, std::slice::from_ref(claim));
        sim.block_on(removed).unwrap().unwrap()
    };
    let launched = claim.moved_to(ClaimPhase::Launched, sim.now());
    assert_eq!(write(&launched), WriteOutcome::Written);
    assert_eq!(write(&launched), WriteOutcome::Written);
    let other = NodeClaim { message: Some("other".into()), ..launched.clone() };
    assert_eq!(write(&other), WriteOutcome::Conflict);
    assert_eq!(remove(&claim), WriteOutcome::Conflict);
    assert_eq!(remove(&launched), WriteOutcome::Written);
    assert_eq!(remove(&launched), WriteOutcome::Written);
    assert_eq!(write(&launched), WriteOutcome::Conflict);
}

/// The NodeClaim x, created and then stored with the instance i-1.
fn launched(sim: &Sim) -> NodeClaim {
    let claim = toy::claim("x", "b1", sim.now());
    check(sim, &toy::commit("a", &head(sim), vec![claim.clone()]), committed(1));
    let offering = toy::offering(model::CapacityType::Spot, "m5.large", "us-west-2a");
    let mut launched = claim.moved_to(ClaimPhase::Launched, sim.now());
    launched.instance = Some(LaunchedInstance {
        id: model::InstanceId::new("i-1").unwrap(),
        instance_type: offering.instance_type,
        zone: offering.zone,
        capacity_type: offering.capacity_type,
        price: model::HourlyPrice::from_nanos(1),
        image: None,
        launched_at: sim.now(),
    });
    let cluster = WorldSettings::default().cluster;
    let stored = sim.write_claims(&cluster, std::slice::from_ref(&launched));
    sim.block_on(stored).unwrap().unwrap();
    launched
}

#[test]
fn the_index_is_written_when_a_claim_gets_its_instance_or_goes() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let written = || sim.meter().table_units().write;
    let launched = launched(&sim);
    let before = written();
    let next = launched.moved_to(ClaimPhase::Registered, sim.now());
    sim.block_on(sim.write_claim(&cluster, &next)).unwrap().unwrap();
    assert_eq!(written() - before, 1, "the item of the claim alone");
    sim.block_on(sim.remove_claim(&cluster, &next)).unwrap().unwrap();
    assert_eq!(written() - before, 3, "its item and its key in the index");
}

#[test]
fn the_index_by_instance_lags() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let launched = launched(&sim);
    let ids = [model::InstanceId::new("i-1").unwrap()];
    let owners = || sim.block_on(sim.claims_of_instances(&cluster, &ids)).unwrap().unwrap();
    assert_eq!(owners(), []);
    toy::pass(&sim, 1);
    assert_eq!(owners(), std::slice::from_ref(&launched));
    // The index only leads to the claim, which is as it stands.
    sim.block_on(sim.remove_claim(&cluster, &launched)).unwrap().unwrap();
    assert_eq!(owners(), []);
}

#[test]
fn a_pulse_is_written_once_per_sequence() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let pulse = |sequence, failures| Pulse { sequence, failures, ..Pulse::default() };
    let write = |from, pulse: Pulse| {
        let written = sim.write_pulse(&cluster, Function::Drain, from, &pulse);
        sim.block_on(written).unwrap().unwrap()
    };
    assert_eq!(write(0, pulse(1, 0)), WriteOutcome::Written);
    assert_eq!(write(0, pulse(1, 0)), WriteOutcome::Written);
    assert_eq!(write(0, pulse(1, 1)), WriteOutcome::Conflict);
    assert_eq!(write(1, pulse(2, 0)), WriteOutcome::Written);
    let read = |function| sim.block_on(sim.pulse(&cluster, function)).unwrap().unwrap();
    assert_eq!(read(Function::Drain), pulse(2, 0));
    assert_eq!(read(Function::Settle), Pulse::default());
}

#[test]
fn deletions_are_not_refused_for_arrivals() {
    let sim = toy::sim(WorldSettings::default());
    let before = head(&sim);
    check(&sim, &toy::commit("a", &before, vec![toy::claim("x", "x", sim.now())]), committed(1));
    let deleted = toy::claim("x", "x", sim.now()).deleted(DeletionReason::Expired, sim.now());
    let deleting = |id: &str, basis| Commit {
        basis,
        changed: vec![deleted.clone()],
        ..toy::commit(id, &before, Vec::new())
    };
    check(&sim, &deleting("b", Basis::Both), CommitOutcome::Conflict);
    check(&sim, &deleting("c", Basis::Arrivals), CommitOutcome::Conflict);
    let counters = Counters { arrivals: 1, departures: 1 };
    check(&sim, &deleting("d", Basis::Claims), CommitOutcome::Committed(counters));
    check(&sim, &deleting("e", Basis::Claims), CommitOutcome::Conflict);
}

#[test]
fn nothing_is_committed_to_another_ledger() {
    let sim = toy::sim(WorldSettings::default());
    let other = Head { ledger: None, ..head(&sim) };
    let commit = toy::commit("a", &other, vec![toy::claim("x", "x", sim.now())]);
    check(&sim, &commit, CommitOutcome::Conflict);
}

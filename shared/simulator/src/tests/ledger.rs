//! The simulated ledger's answers, and its index that lags.

use model::{
    ClaimPhase, NodeClaim,
    claim::LaunchedInstance,
    ledger::{CommitOutcome, Generation, WriteOutcome},
    limits::ITEMS_PER_COMMIT_MAX,
};
use ports::Ledger as _;

use super::toy;
use crate::{Sabotage, Sim, WorldSettings};

#[track_caller]
fn check(sim: &Sim, commit: &model::ledger::Commit, expected: CommitOutcome) {
    let cluster = WorldSettings::default().cluster;
    let outcome = sim.block_on(sim.commit(&cluster, commit)).unwrap().unwrap();
    assert_eq!(outcome, expected);
}

#[test]
fn of_two_commits_on_one_parent_one_wins_and_is_recognized_again() {
    let sim = toy::sim(WorldSettings::default());
    let first = toy::commit("a", 0, vec![toy::claim("x", "b1", sim.now())]);
    let second = toy::commit("b", 0, vec![toy::claim("y", "b2", sim.now())]);
    check(&sim, &first, CommitOutcome::Committed(Generation(1)));
    check(&sim, &second, CommitOutcome::Conflict);
    check(&sim, &first, CommitOutcome::Committed(Generation(1)));
    assert_eq!(sim.claims().len(), 1);
}

#[test]
fn without_the_comparison_both_win() {
    let sabotage = Sabotage { ignore_compare_and_set: true, ..Sabotage::default() };
    let sim = toy::sim(WorldSettings { sabotage, ..WorldSettings::default() });
    check(&sim, &toy::commit("a", 0, Vec::new()), CommitOutcome::Committed(Generation(1)));
    check(&sim, &toy::commit("b", 0, Vec::new()), CommitOutcome::Committed(Generation(2)));
}

#[test]
fn a_commit_of_too_many_items_does_nothing() {
    let sim = toy::sim(WorldSettings::default());
    let claims = (0..ITEMS_PER_COMMIT_MAX)
        .map(|n| toy::claim(&format!("c{n}"), &format!("b{n}"), sim.now()));
    let commit = toy::commit("a", 0, claims.collect());
    let items_max = ITEMS_PER_COMMIT_MAX;
    check(&sim, &commit, CommitOutcome::TooLarge { items: items_max + 1, items_max });
    assert!(sim.claims().is_empty());
}

#[test]
fn a_claim_is_written_only_on_the_version_below() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let claim = toy::claim("x", "b1", sim.now());
    check(&sim, &toy::commit("a", 0, vec![claim.clone()]), CommitOutcome::Committed(Generation(1)));
    let write = |claim: &NodeClaim| {
        let written = sim.write_claims(&cluster, std::slice::from_ref(claim));
        sim.block_on(written).unwrap().unwrap()
    };
    let remove = |claim: &NodeClaim| {
        let removed = sim.remove_claims(&cluster, std::slice::from_ref(claim));
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

#[test]
fn the_index_by_instance_lags() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let claim = toy::claim("x", "b1", sim.now());
    check(&sim, &toy::commit("a", 0, vec![claim.clone()]), CommitOutcome::Committed(Generation(1)));
    let id = model::InstanceId::new("i-1").unwrap();
    let offering = toy::offering(model::CapacityType::Spot, "m5.large", "us-west-2a");
    let mut launched = claim.moved_to(ClaimPhase::Launched, sim.now());
    launched.instance = Some(LaunchedInstance {
        id: id.clone(),
        instance_type: offering.instance_type,
        zone: offering.zone,
        capacity_type: offering.capacity_type,
        price: model::HourlyPrice(1),
        image: None,
        launched_at: sim.now(),
    });
    let stored = sim.write_claims(&cluster, std::slice::from_ref(&launched));
    sim.block_on(stored).unwrap().unwrap();
    let owner = || sim.block_on(sim.claim_of_instance(&id)).unwrap().unwrap();
    assert_eq!(owner(), None);
    toy::pass(&sim, 1);
    assert_eq!(owner(), Some((cluster.clone(), launched.clone())));
    sim.block_on(sim.remove_claim(&cluster, &launched)).unwrap().unwrap();
    assert_eq!(owner(), Some((cluster.clone(), launched)));
    toy::pass(&sim, 1);
    assert_eq!(owner(), None);
}

#[test]
fn a_poll_chain_does_not_fork() {
    let sim = toy::sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let advance = |from| {
        let now = sim.now();
        sim.block_on(sim.advance_tick(&cluster, "poll", from, now)).unwrap().unwrap()
    };
    assert_eq!(advance(None), WriteOutcome::Written);
    assert_eq!(advance(None), WriteOutcome::Conflict);
    assert_eq!(advance(Some(0)), WriteOutcome::Written);
    assert_eq!(advance(Some(0)), WriteOutcome::Conflict);
    let tick = sim.block_on(sim.tick(&cluster, "poll")).unwrap().unwrap();
    assert_eq!(tick, Some((1, sim.now())));
}

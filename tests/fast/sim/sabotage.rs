//! Storms and stories notice when what safety rests on is taken away. `tests/fast/sim/failures.md` names the seeds
//! and the stories.

use std::collections::BTreeSet;

use model::ledger::CommitOutcome;
use simulator::{Sabotage, WorldSettings};

use crate::{
    gates::{
        adopted_beside_a_refusal, ended_early, leases_of_anybody, strays_beside_a_protected_one,
        waiting_after_leases, with_an_unreadable_budget,
    },
    launch_faults::launched_beside_an_unsupported_class,
    ledger::deleted_table,
    limits::{
        critical::refused_terminations,
        high::{creation_after_a_departure, initialized_after_crashes, orderly_and_doubled},
        medium::deleted_beside_a_pod,
    },
    storm::{outcome, settings},
    unreadable,
};

/// Seeds that are tried until one notices.
const SEEDS_MAX: u64 = 1_000;

/// A storm notices `sabotage`: those from the seed `first` on are tried.
#[track_caller]
fn check(first: u64, sabotage: Sabotage) {
    let entry = (first..first + SEEDS_MAX).find_map(|seed| {
        let settings = WorldSettings { sabotage, ..settings(seed) };
        Some((seed, outcome(settings).err()?))
    });
    let (seed, problem) = entry.unwrap_or_else(|| panic!("{SEEDS_MAX} storms noticed nothing"));
    println!("noticed by seed {seed}: {problem}");
}

#[test]
fn commits_without_compare_and_set_are_noticed() {
    check(103, Sabotage { ignore_compare_and_set: true, ..Sabotage::default() });
}

#[test]
fn launches_without_client_tokens_are_noticed() {
    check(8, Sabotage { ignore_client_token: true, ..Sabotage::default() });
}

#[test]
fn plans_without_the_unlaunched_claims_are_noticed() {
    check(0, Sabotage { forget_unlaunched_claims: true, ..Sabotage::default() });
}

/// The default settings in a broken world.
fn broken(sabotage: Sabotage) -> WorldSettings {
    WorldSettings { sabotage, ..WorldSettings::default() }
}

#[test]
fn beats_without_a_sequence_are_noticed() {
    let sabotage = Sabotage { ignore_pulse_sequence: true, ..Sabotage::default() };
    let (orderly, doubled) = orderly_and_doubled(&broken(sabotage));
    assert!(doubled > orderly * 2, "{doubled} visits where {orderly} do");
}

#[test]
fn messages_that_are_deleted_before_the_pulse_is_armed_are_noticed() {
    let sabotage = Sabotage { delete_before_arming: true, ..Sabotage::default() };
    assert_eq!(initialized_after_crashes(broken(sabotage)), 1, "no chain goes on");
}

#[test]
fn a_single_counter_is_noticed() {
    let sabotage = Sabotage { one_counter: true, ..Sabotage::default() };
    let outcome = creation_after_a_departure(broken(sabotage));
    assert_eq!(outcome, CommitOutcome::Conflict);
}

#[test]
fn tokens_without_the_ledger_are_noticed() {
    let sabotage = Sabotage { forget_ledger_in_token: true, ..Sabotage::default() };
    let noticed = deleted_table(broken(sabotage));
    println!("noticed: {noticed:?}");
    assert!(noticed.is_err());
}

#[test]
fn visits_without_back_off_are_noticed() {
    let sabotage = Sabotage { forget_retries: true, ..Sabotage::default() };
    let asked = refused_terminations(broken(sabotage));
    assert!(asked > 100, "{asked} requests in ten minutes");
}

#[test]
fn that_what_cannot_be_read_counts_as_absent_is_noticed() {
    let sabotage = Sabotage { hide_unreadable: true, ..Sabotage::default() };
    assert_ne!(deleted_beside_a_pod(broken(sabotage)), []);
    let noticed = unreadable::outcome("nodeclaims", broken(sabotage));
    println!("noticed: {noticed:?}");
    assert!(noticed.is_err());
}

#[test]
fn adoption_that_waits_for_every_claim_is_noticed() {
    let sabotage = Sabotage { adopt_all_or_none: true, ..Sabotage::default() };
    assert_eq!(adopted_beside_a_refusal(broken(sabotage)), (false, 0));
}

#[test]
fn leases_that_count_everywhere_are_noticed() {
    let sabotage = Sabotage { count_every_lease: true, ..Sabotage::default() };
    for leases in leases_of_anybody() {
        let (_, _, waiting) = waiting_after_leases(broken(sabotage), leases.clone());
        assert_ne!(waiting, 0, "{leases:?}");
    }
}

#[test]
fn a_sweep_that_stops_at_its_first_refusal_is_noticed() {
    let sabotage = Sabotage { end_sweep_at_refusal: true, ..Sabotage::default() };
    let noticed = strays_beside_a_protected_one(broken(sabotage));
    println!("noticed: {noticed:?}");
    assert_ne!(noticed.ok(), Some(BTreeSet::new()));
}

#[test]
fn a_budget_that_closes_its_node_pool_is_noticed() {
    let sabotage = Sabotage { close_pool_for_budget: true, ..Sabotage::default() };
    let (_, there, waiting) = with_an_unreadable_budget(broken(sabotage));
    assert!(there.is_empty() && 0 < waiting, "{there:?}");
}

#[test]
fn claims_of_another_cluster_are_noticed() {
    check(0, Sabotage { mix_clusters: true, ..Sabotage::default() });
}

#[test]
fn what_one_class_is_short_of_and_all_leave_alone_is_noticed() {
    let sabotage = Sabotage { share_shortages: true, ..Sabotage::default() };
    assert_eq!(launched_beside_an_unsupported_class(broken(sabotage)), 0);
}

#[test]
fn instances_that_end_early_without_back_off_are_noticed() {
    let sabotage = Sabotage { forget_refusals: true, ..Sabotage::default() };
    let (_, _, launched) = ended_early(broken(sabotage));
    assert!(launched > 60, "{launched} instances in 70 minutes");
}

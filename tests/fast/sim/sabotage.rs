//! Storms and stories notice when what safety rests on is taken away. `docs/operations.md` names the seeds
//! and the stories.

use model::ledger::CommitOutcome;
use simulator::{Sabotage, WorldSettings};

use crate::{
    ledger::deleted_table,
    limits::{
        critical::refused_terminations,
        high::{initialized_after_crashes, orderly_and_doubled, promise_after_a_departure},
        medium::given_up_beside_a_pod,
    },
    storm::{outcome, settings},
};

/// Seeds that are tried until one notices.
const SEEDS_MAX: u64 = 1_000;

#[track_caller]
fn check(sabotage: Sabotage) {
    let entry = (0..SEEDS_MAX).find_map(|seed| {
        let settings = WorldSettings { sabotage, ..settings(seed) };
        Some((seed, outcome(settings).err()?))
    });
    let (seed, problem) = entry.unwrap_or_else(|| panic!("{SEEDS_MAX} storms noticed nothing"));
    println!("noticed by seed {seed}: {problem}");
}

#[test]
fn commits_without_compare_and_set_are_noticed() {
    check(Sabotage { ignore_compare_and_set: true, ..Sabotage::default() });
}

#[test]
fn launches_without_client_tokens_are_noticed() {
    check(Sabotage { ignore_client_token: true, ..Sabotage::default() });
}

#[test]
fn plans_without_the_open_promises_are_noticed() {
    check(Sabotage { forget_open_promises: true, ..Sabotage::default() });
}

/// The default settings in a broken world.
fn broken(sabotage: Sabotage) -> WorldSettings {
    WorldSettings { sabotage, ..WorldSettings::default() }
}

#[test]
fn beats_without_a_sequence_are_noticed() {
    let sabotage = Sabotage { ignore_pulse_sequence: true, ..Sabotage::default() };
    let (orderly, doubled) = orderly_and_doubled(&broken(sabotage));
    assert!(doubled > orderly * 3 / 2, "{doubled} visits where {orderly} do");
}

#[test]
fn messages_that_are_deleted_before_the_pulse_is_armed_are_noticed() {
    let sabotage = Sabotage { delete_before_arming: true, ..Sabotage::default() };
    assert_eq!(initialized_after_crashes(broken(sabotage)), 1, "no chain goes on");
}

#[test]
fn a_single_counter_is_noticed() {
    let sabotage = Sabotage { one_counter: true, ..Sabotage::default() };
    let outcome = promise_after_a_departure(broken(sabotage));
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
    assert_ne!(given_up_beside_a_pod(broken(sabotage)), []);
}

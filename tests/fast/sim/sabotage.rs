//! The storms notice when what safety rests on is taken away.

use simulator::{Sabotage, WorldSettings};

use crate::storm::{outcome, settings};

/// Seeds that are tried until one notices.
const SEEDS_MAX: u64 = 200;

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

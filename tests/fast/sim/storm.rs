//! Seeds with crashes, failures, duplicates and reordering: no double launch, no leaked instance,
//! no lost pod.

use std::{
    num::NonZero,
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::SignedDuration;
use model::OfferingKey;
use simulator::{Action, Chance, Disorder, Sim, SpotTarget, Storm, WorldSettings};
use tests::variable;

use crate::{
    judged::judged,
    neighbour::Neighbour,
    world::{catalog, minute, play, scale, sim},
};

/// Storms of a plain `cargo test`; CI plays more.
const SEEDS_DEFAULT: u64 = 12;

/// What a seed stands for.
pub(crate) fn settings(seed: u64) -> WorldSettings {
    let disorder = Disorder {
        duplicated_per_mille: 50,
        held_back_per_mille: 50,
        held_back_max: SignedDuration::from_secs(20),
    };
    // A dead letter waits for a person, and there is none here: of two thousand storms, two gave a
    // message up after five unlucky deliveries in a row, and its claim waited for ever.
    WorldSettings {
        disorder,
        never_joins_per_mille: 30,
        receives_max: 50,
        ..WorldSettings::with_seed(seed)
    }
}

/// A world in a storm.
pub(crate) fn stormy(settings: WorldSettings) -> Sim {
    let seed = settings.seed;
    let sim = sim(settings);
    begin(&sim, seed);
    sim
}

/// Things happen at random times within the first fifteen minutes.
pub(crate) fn begin(sim: &Sim, seed: u64) {
    let mut chance = Chance::new(seed).child("story");
    sim.add_rule(Storm::MODERATE.rule());
    let mut when = || {
        minute(0)
            .checked_add(SignedDuration::from_secs(i64::try_from(chance.below(900)).unwrap()))
            .unwrap()
    };
    sim.at(when(), Action::InterruptSpot(SpotTarget::Any));
    sim.at(when(), Action::InterruptSpot(SpotTarget::Oldest));
    sim.at(when(), Action::TerminateInstance(SpotTarget::Any));
    sim.at(when(), scale("web", 2));
    sim.at(when(), scale("web", 16));
    sim.at(when(), scale("store", 5));
    for instance_type in &catalog().instance_types {
        let (from, until) = (when(), when());
        for offering in instance_type.offerings.iter().step_by(3) {
            let offering: OfferingKey = instance_type.key_of(offering);
            sim.at(from, Action::SetCapacity { offering: offering.clone(), instances: Some(1) });
            sim.at(until.max(from), Action::SetCapacity { offering, instances: None });
        }
    }
}

/// One of `values`.
pub(crate) fn any_of<T: Copy>(values: &[T], chance: &mut Chance) -> T {
    *values.get(chance.index(values.len())).expect("there are some")
}

/// What is wrong after the storm of `settings`, if anything. Another cluster shares the table.
pub(crate) fn outcome(settings: WorldSettings) -> Result<(), String> {
    let seed = settings.seed;
    let sim = sim(settings);
    let neighbour = Neighbour::beside(&sim);
    begin(&sim, seed);
    play(&sim, minute(16), minute(60))?;
    neighbour.problems(&sim).map_or(Ok(()), Err)
}

/// Whether stories are played in worlds as large as production's, which takes minutes for each seed.
pub(crate) fn is_large() -> bool {
    variable("JOURNEYMAN_LARGE").is_some_and(|number| number != 0)
}

/// The one of `items` that `seed` stands for, and how many times the seeds before it went through all of them. Neighbours
/// in a list are alike: seeds step over them, by a `stride` that is a prime number.
pub(crate) fn strided<T: Copy>(items: &[T], stride: u64, seed: u64) -> (T, u64) {
    let count = u64::try_from(items.len()).expect("few");
    assert_ne!(count % stride, 0, "seeds would step over some for ever");
    let at = usize::try_from(seed * stride % count).expect("few");
    (items.get(at).copied().expect("one of them"), seed / count)
}

/// How many worlds are played for a line that says so.
const WORLDS_PER_LINE: u64 = 50;

/// Plays `seeds` worlds, or as many as the environment says, from the seed on that it says. What fails names its seed.
pub(crate) fn play_seeds(seeds: u64, outcome: impl Fn(u64) -> Result<(), String> + Sync) {
    if let Some(seed) = variable("JOURNEYMAN_SEED") {
        panic!("seed {seed}: {:?}", judged(|| outcome(seed)));
    }
    let seeds = variable("JOURNEYMAN_SEEDS").unwrap_or(seeds);
    let failures = failures(seeds, outcome);
    println!("{seeds} worlds played");
    let count = failures.len();
    assert!(failures.is_empty(), "{count} of {seeds} worlds failed:\n{}", failures.join("\n"));
}

/// Those of `seeds` seeds that failed, in order, with why. Worlds share nothing, so every core plays
/// its part of them. A run of hours says how far it is, and what failed so far.
fn failures(seeds: u64, outcome: impl Fn(u64) -> Result<(), String> + Sync) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let begin = variable("JOURNEYMAN_FIRST_SEED").unwrap_or(0);
    let played = AtomicU64::new(0);
    let play_one = |seed: u64| {
        let failure = judged(|| outcome(seed)).err();
        let number = 1 + played.fetch_add(1, Ordering::Relaxed);
        if failure.is_some() || number.is_multiple_of(WORLDS_PER_LINE) {
            println!("{number} of {seeds} worlds played; seed {seed}: {failure:?}");
        }
        Some((seed, failure?))
    };
    let play_every = |first: u64| -> Vec<(u64, String)> {
        (begin + first..begin + seeds).step_by(cores).filter_map(&play_one).collect()
    };
    let mut failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let play_every = &play_every;
        let started: Vec<_> =
            (0..).take(cores).map(|first| scope.spawn(move || play_every(first))).collect();
        started.into_iter().flat_map(|part| part.join().expect("a storm ends")).collect()
    });
    failures.sort();
    failures.into_iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect()
}

#[test]
fn storms_leak_nothing_and_lose_nothing() {
    if let Some(seed) = variable("JOURNEYMAN_SEED") {
        let sim = stormy(settings(seed));
        let outcome = play(&sim, minute(16), minute(60));
        panic!("{}\nseed {seed}: {outcome:?}", sim.trace().join("\n"));
    }
    play_seeds(SEEDS_DEFAULT, |seed| outcome(settings(seed)));
}

#[test]
fn a_seed_plays_the_same_twice_and_another_differs() {
    let trace = |seed| {
        let sim = stormy(settings(seed));
        // A failure would be found by the storms; here only the trace counts.
        drop(play(&sim, minute(16), minute(20)));
        sim.trace()
    };
    let first = trace(7);
    assert!(first.len() > 500, "a storm of {} lines is none", first.len());
    assert!(first == trace(7), "the same seed plays differently");
    assert!(first != trace(8), "another seed plays the same");
}

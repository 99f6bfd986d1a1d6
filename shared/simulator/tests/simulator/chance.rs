//! Chance: the simulator's own seeded numbers, the same on every machine and in every release.

use jiff::SignedDuration;
use simulator::chance::*;

#[test]
fn the_numbers_of_a_seed_never_change() {
    // The reference values of SplitMix64 for seed 1234567.
    let mut chance = Chance::new(1_234_567);
    let numbers = [chance.number(), chance.number(), chance.number()];
    let reference =
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!(numbers, reference);
}

#[test]
fn purposes_do_not_share_numbers() {
    let chance = Chance::new(7);
    assert_ne!(chance.child("mail").number(), chance.child("faults").number());
    assert_eq!(chance.child("mail").number(), chance.child("mail").number());
}

#[test]
fn a_time_stays_within_its_span() {
    let mut chance = Chance::new(1);
    let span = Span::from_secs(30, 60);
    assert!((0..1_000).map(|_| chance.within(span)).all(|d| span.min <= d && d <= span.max));
    assert_eq!(chance.within(Span::from_secs(3, 3)), SignedDuration::from_secs(3));
}

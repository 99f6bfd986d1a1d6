//! How the latest launches of a NodePool ended, as the ledger keeps it.

use jiff::Timestamp;
use model::{ConditionReason, NodeClaimName, node_pool::registrations::*};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// `+a1` joined, `-a1` did not; each a second after the one before.
fn outcomes(text: &str, first: i64) -> Vec<RegistrationOutcome> {
    let failure = || RegistrationFailure {
        reason: ConditionReason::RegistrationFailed,
        message: String::new(),
    };
    let outcome = |(seconds, word): (i64, &str)| {
        let (sign, name) = word.split_at(1);
        RegistrationOutcome {
            claim: NodeClaimName::new(name).unwrap(),
            at: at(seconds),
            failure: (sign == "-").then(failure),
        }
    };
    (first..).zip(text.split_whitespace()).map(outcome).collect()
}

#[track_caller]
fn check(text: &str, expected: Option<bool>) {
    let mut registrations = Registrations::default();
    for outcome in outcomes(text, 1) {
        registrations = registrations.after(&[outcome]).unwrap();
    }
    assert_eq!(registrations.are_healthy(), expected, "{text}");
    // In one pass as one by one.
    let together = Registrations::default().after(&outcomes(text, 1)).unwrap_or_default();
    assert_eq!(together.outcomes, registrations.outcomes, "{text}");
}

#[test]
fn two_of_the_latest_four_that_failed_are_too_many() {
    check("", None);
    check("+a", Some(true));
    // It changes nothing, and there is nothing yet.
    check("-a", None);
    check("-a +b", Some(true));
    check("+a -b", Some(true));
    check("-a -b", Some(false));
    check("+a +b +c -d", Some(true));
    check("+a +b -c -d", Some(false));
    // One success after two failures does not make up for them.
    check("-a -b +c", Some(false));
    check("-a -b +c +d", Some(false));
    check("-a -b +c +d +e", Some(true));
}

#[test]
fn a_launch_ends_once_however_often_it_is_reported() {
    let told = outcomes("+a -b +c +d", 1);
    let known = Registrations::default().after(&told).unwrap();
    assert_eq!((known.version, known.after(&told)), (1, None));
    assert_eq!(known.after(&outcomes("-b", 9)), None, "another pass told it later");
    // One that is older than all that are remembered says nothing.
    assert_eq!(known.after(&outcomes("-z", 0)), None);
    let after = known.after(&outcomes("+e", 5)).unwrap();
    assert_eq!(after.outcomes, outcomes("-b +c +d +e", 2));
    // Its deletion was overtaken: it did join.
    let joined = known.after(&outcomes("+b", 9)).unwrap();
    assert_eq!(joined.failures().count(), 0);
    assert_eq!(joined.after(&outcomes("-b", 10)), None);
}

#[test]
fn another_spec_of_the_pool_or_of_its_class_begins_anew() {
    let spec = |uid: &str, generation, class_generation| LaunchedSpec {
        uid: uid.to_owned(),
        generation,
        class_generation,
    };
    let known = Registrations::default().after(&outcomes("-a -b", 1)).unwrap();
    // The first sight of the pool forgets nothing.
    let about = known.renewed(&spec("u1", 1, None), at(3)).unwrap();
    assert_eq!((about.version, about.are_healthy()), (2, Some(false)));
    let about = about.renewed(&spec("u1", 1, Some(7)), at(3)).unwrap();
    assert_eq!((about.version, about.are_healthy()), (3, Some(false)));
    for same in [spec("u1", 1, Some(7)), spec("u1", 1, None)] {
        assert_eq!(about.renewed(&same, at(4)), None);
    }
    for other in [spec("u2", 1, Some(7)), spec("u1", 2, Some(7)), spec("u1", 1, Some(8))] {
        let renewed = about.renewed(&other, at(9)).unwrap();
        assert_eq!((renewed.version, renewed.are_healthy()), (4, None));
        assert_eq!(renewed.renewed(&other, at(10)), None);
        // What ended before is about the other one.
        assert_eq!(renewed.after(&outcomes("-c -d", 5)), None);
        let after = renewed.after(&outcomes("-c -d", 9)).unwrap();
        assert_eq!(after.are_healthy(), Some(false));
    }
}

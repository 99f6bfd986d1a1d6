//! the dry run of a class: what EC2 says to requests that it only checks.

use jiff::{SignedDuration, Timestamp};
use model::validation::*;

#[test]
fn a_validation_is_good_for_half_an_hour_and_kept_for_another() {
    let at = |minutes| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
    let passed = Validation::found("key", None, at(0));
    assert_eq!((passed.due_at, passed.kept_until()), (at(30), at(60)));
    let failure = (FailedCheck::RunInstances, "no profile".to_owned());
    assert_eq!(Validation::passing("key", failure, at(5)).due_at, at(5));
}

#[test]
fn every_check_is_known_by_its_reason() {
    for check in FailedCheck::ALL {
        assert_eq!(FailedCheck::parse(check.as_str()), Some(check));
    }
    assert_eq!(FailedCheck::parse("DryRunDisabled"), None);
}

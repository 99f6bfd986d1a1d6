//! Amounts and times in words, and steps of time.

use jiff::{SignedDuration, Timestamp};
use report::{
    output::{count, dollars, elapsed, seconds, thousands},
    series::Steps,
};

#[test]
fn amounts_are_shown_in_words() {
    let start = Timestamp::UNIX_EPOCH;
    let at = start.checked_add(SignedDuration::from_secs(3_725)).unwrap();
    assert_eq!(elapsed(start, at), "+01:02:05");
    assert_eq!(seconds(SignedDuration::from_millis(41_590)), "41.5s");
    assert_eq!(thousands(1_234_567), "1,234,567");
    assert_eq!((count(1, "pod"), count(2, "pod")), ("1 pod".into(), "2 pods".into()));
}

#[test]
fn d22_prices_are_rounded_and_not_cut() {
    let amounts = [
        (134_449_999, "$0.1344"),
        (134_450_000, "$0.1345"),
        (999_960_000, "$1.0000"),
        (1_234_567_890, "$1.23"),
        (98_112_000_000, "$98.11"),
        (794_494_000_000, "$794"),
        (12_345_600_000_000, "$12,346"),
    ];
    for (nanos, text) in amounts {
        assert_eq!(dollars(nanos), text);
    }
}

#[test]
fn there_are_never_too_many_points() {
    let start = Timestamp::UNIX_EPOCH;
    for (minutes, words) in
        [(1, "10 seconds"), (130, "30 seconds"), (48 * 60, "10 minutes"), (365 * 1_440, "2 days")]
    {
        let end = start.checked_add(SignedDuration::from_mins(minutes)).unwrap();
        let steps = Steps::of(start, end);
        assert_eq!(steps.in_words(), words);
        assert!(steps.place(end) <= 301, "{steps:?}");
        assert!(steps.end_of(steps.place(end)) > end);
    }
}
#[test]
fn numbers_in_names_are_ordered_by_their_value() {
    let mut names =
        ["node-10", "node-2", "b", "node-02", "node", "a10b2", "a10b10", "a2", "node-2-1"];
    names.sort_by(|a, b| report::output::natural(a, b));
    let ordered =
        ["a2", "a10b2", "a10b10", "b", "node", "node-02", "node-2", "node-2-1", "node-10"];
    assert_eq!(names, ordered);
    let long = ["9".repeat(40), format!("1{}", "0".repeat(40))];
    assert!(report::output::natural(&long[0], &long[1]).is_lt());
}

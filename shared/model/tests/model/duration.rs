//! Durations as Kubernetes and Karpenter write them: Go's grammar, and `Never`.

use jiff::SignedDuration;
use model::duration::*;
use proptest::prelude::*;

#[test]
fn go_durations() {
    for (text, nanos) in [
        ("720h", 2_592_000_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("100ms", 100_000_000),
        ("1µs", 1_000),
        ("2540400h10m10s", 9_145_440_610_000_000_000),
        ("0", 0),
        ("-1h", -3_600_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
    ] {
        assert_eq!(parse_go(text).unwrap().as_nanos(), nanos, "{text}");
    }
    for text in ["", "1d", "1h 30m", "h", "1", "Never", "1.2.3s", "1hh", "-", "9999999999h"] {
        assert!(parse_go(text).is_err(), "{text}");
    }
}

#[test]
fn pool_durations_are_stricter() {
    assert_eq!(parse_nillable("Never").unwrap(), None);
    assert_eq!(parse_nillable("1h30m").unwrap().unwrap().as_secs(), 5_400);
    for text in ["", "1.5h", "-1h", "never", "30", "1d", "100ms", "1m30"] {
        assert!(parse_nillable(text).is_err(), "{text}");
    }
    assert!(parse_groups("Never").is_err());
}

#[test]
fn shown_as_go_does() {
    for (text, shown) in [
        ("90s", "1m30s"),
        ("5400s", "1h30m0s"),
        ("1m", "1m0s"),
        ("1500ms", "1.5s"),
        ("1us", "1µs"),
        ("0", "0s"),
        ("-1h", "-1h0m0s"),
    ] {
        assert_eq!(format_go(parse_go(text).unwrap()), shown);
    }
}

proptest! {
    #[test]
    fn shown_reads_back(nanos in i64::MIN + 1..i64::MAX) {
        let duration = SignedDuration::from_nanos(nanos);
        prop_assert_eq!(parse_go(&format_go(duration)).unwrap(), duration);
    }
}

#[test]
fn pauses_double_and_never_fall_back() {
    let seconds = |count| doubled(60, count, 600).as_secs();
    assert_eq!([0, 1, 2, 3, 4, 5].map(seconds), [60, 60, 120, 240, 480, 600]);
    assert!((5..=200).chain([u32::MAX]).all(|count| seconds(count) == 600));
}

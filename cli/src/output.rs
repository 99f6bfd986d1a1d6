//! Words for amounts and times.

use jiff::{SignedDuration, Timestamp};

/// Time since the start as `+00:12:34`.
pub fn elapsed(start: Timestamp, at: Timestamp) -> String {
    let seconds = at.duration_since(start).as_secs().max(0);
    format!("+{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A duration in seconds with one digit: `41.5s`.
pub fn seconds(duration: SignedDuration) -> String {
    let millis = duration.as_millis().max(0);
    format!("{}.{}s", millis / 1_000, millis % 1_000 / 100)
}

/// Nano-dollars as dollars with four digits, rounded down.
pub fn dollars(nanos: u128) -> String {
    format!("${}.{:04}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 100_000)
}

/// `1 pod`, `2 pods`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_words() {
        let start = Timestamp::UNIX_EPOCH;
        let at = start.checked_add(SignedDuration::from_secs(3_725)).unwrap();
        assert_eq!(elapsed(start, at), "+01:02:05");
        assert_eq!(seconds(SignedDuration::from_millis(41_590)), "41.5s");
        assert_eq!(dollars(1_234_567_890), "$1.2345");
        assert_eq!((count(1, "pod"), count(2, "pod")), ("1 pod".into(), "2 pods".into()));
    }
}

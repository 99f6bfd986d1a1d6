//! Words for amounts and times, and the order of names.

use std::{cmp::Ordering, collections::BTreeMap};

use jiff::{SignedDuration, Timestamp};

pub use model::{
    HOURS_PER_MONTH,
    words::{many, thousands},
};

/// The order that people expect of names: numbers in names by their value, so `node-2` comes before `node-10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while !left.is_empty() && !right.is_empty() {
        let ((x, x_rest), (y, y_rest)) = (run(left), run(right));
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(x) && is_number(y) {
            let [x, y] = [x, y].map(|digits| digits.trim_start_matches('0'));
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            x.cmp(y)
        };
        if order.is_ne() {
            return order;
        }
        (left, right) = (x_rest, y_rest);
    }
    // Names that differ in zeros only are not equal.
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// `names` in the order of [`natural`].
pub fn in_order<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by(|a, b| natural(a, b));
    names
}

/// `a, b, c and 12 others`: at most `most` of `names`, in their order.
pub fn named(names: &[&str], most: usize) -> String {
    // One name is as short as "1 other".
    let most = if names.len() == most + 1 { names.len() } else { most };
    let first: Vec<&str> = names.iter().take(most).copied().collect();
    let more = match names.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {} others", many(more)),
    };
    format!("{}{more}", first.join(", "))
}

/// A line for all findings with the same words: `Pod a, b and 3 others: words`. Each is what kind of object it is about, the
/// words, and the object's name. Of equal ones, `most` are named.
pub fn alike<'k>(
    findings: impl IntoIterator<Item = (&'k str, String, String)>,
    most: usize,
) -> Vec<String> {
    let mut by_words: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for (kind, words, name) in findings {
        by_words.entry((kind, words)).or_default().push(name);
    }
    let line = |((kind, words), names): ((&str, String), Vec<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{kind} {}: {words}", named(&names, most))
    };
    by_words.into_iter().map(line).collect()
}

/// The digits or the other characters that `text` begins with, and the rest.
fn run(text: &str) -> (&str, &str) {
    let is_digit = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != is_digit);
    text.split_at(end.unwrap_or(text.len()))
}

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

/// Nano-dollars as dollars, rounded to the nearest: `$0.1344`, `$12.34`, `$1,234`.
///
/// Four digits below a dollar, two below a hundred, then none: what is left out is less than a part
/// in a thousand.
pub fn dollars(nanos: u128) -> String {
    rounded(nanos, 2)
}

/// The same, rounded down: what is said to be the least must not be more.
pub fn dollars_down(nanos: u128) -> String {
    rounded(nanos, u128::MAX)
}

/// Nano-dollars as dollars; one part in `half` of what the last digit counts is added before the rest is
/// left out.
fn rounded(nanos: u128, half: u128) -> String {
    const DOLLAR: u128 = 1_000_000_000;
    let digits = match nanos {
        0..DOLLAR => 4,
        DOLLAR..100_000_000_000 => 2,
        _ => 0,
    };
    let unit = DOLLAR / 10_u128.pow(digits);
    let rounded = (nanos + unit / half) / unit;
    let (whole, rest) = (rounded / 10_u128.pow(digits), rounded % 10_u128.pow(digits));
    match digits {
        0 => format!("${}", thousands(whole)),
        digits => {
            let width = usize::try_from(digits).unwrap_or_default();
            format!("${}.{rest:0width$}", thousands(whole))
        }
    }
}

/// Nano-dollars as exact dollars without a sign, such as `0.1344`.
pub fn exact_dollars(nanos: u128) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `1 pod`, `2 pods`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", thousands(number.into())) }
}

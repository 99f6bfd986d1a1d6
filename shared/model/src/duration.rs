//! Durations as Kubernetes and Karpenter write them: Go's grammar, and `Never`.
//!
//! <https://pkg.go.dev/time#ParseDuration>

use jiff::{SignedDuration, Timestamp};

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration: {rule}")]
pub struct InvalidDuration {
    /// The text as given.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

const RULE_GO: &str = "it must be numbers with units such as `1h30m`, `720h` or `1.5s` (units h, m, \
                       s, ms, us, ns; there is no unit for days)";
const RULE_POOL: &str = "it must be whole numbers with the units h, m, s such as `720h` or `1h30m`";
const RULE_RANGE: &str = "it must be below 292 years";

/// `time` with `duration` added, which may be negative; the far future if that does not fit.
#[must_use]
pub fn later(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// The pause before attempt `count`, counted from 1: `first` seconds, then twice as many each time, `most` at most.
#[must_use]
pub fn doubled(first: i64, count: u32, most: i64) -> SignedDuration {
    let times = 2_i64.saturating_pow(count.saturating_sub(1));
    SignedDuration::from_secs(first.saturating_mul(times).min(most))
}

/// Reads a Go duration: an optional sign, then decimal numbers each with a unit, or just `0`.
/// What is below a nanosecond is cut off.
pub fn parse_go(text: &str) -> Result<SignedDuration, InvalidDuration> {
    let refuse = |rule| InvalidDuration { text: text.to_owned(), rule };
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(refuse(RULE_GO));
    }
    let mut rest = unsigned;
    let mut nanos = 0_i128;
    while !rest.is_empty() {
        let (part, after) = leading_part(rest).ok_or_else(|| refuse(RULE_GO))?;
        nanos = part.and_then(|part| nanos.checked_add(part)).ok_or_else(|| refuse(RULE_RANGE))?;
        rest = after;
    }
    let nanos = i64::try_from(nanos).map_err(|_| refuse(RULE_RANGE))?;
    Ok(SignedDuration::from_nanos(if negative { -nanos } else { nanos }))
}

/// Reads what NodePools accept: groups of whole numbers with h, m or s. `None` means never. What is longer
/// than 292 years is 292 years.
///
/// Karpenter: `pkg/apis/v1/duration.go`, `NillableDuration`.
pub fn parse_nillable(text: &str) -> Result<Option<SignedDuration>, InvalidDuration> {
    if text == "Never" { Ok(None) } else { parse_groups(text).map(Some) }
}

/// Reads groups of whole numbers with h, m or s, as `terminationGracePeriod` wants them. What is longer than
/// 292 years is 292 years: the API server stores it, and nothing here lasts as long.
pub fn parse_groups(text: &str) -> Result<SignedDuration, InvalidDuration> {
    let mut digits = 0;
    let mut groups = 0;
    for c in text.chars() {
        match c {
            '0'..='9' => digits += 1,
            'h' | 'm' | 's' if digits > 0 => {
                digits = 0;
                groups += 1;
            }
            _ => return Err(InvalidDuration { text: text.to_owned(), rule: RULE_POOL }),
        }
    }
    if digits > 0 || groups == 0 {
        return Err(InvalidDuration { text: text.to_owned(), rule: RULE_POOL });
    }
    Ok(parse_go(text).unwrap_or(SignedDuration::from_nanos(i64::MAX)))
}

/// Shows a duration as Go does: `1h30m0s`, `1m0s`, `1.5s`, `100ms`, `0s`.
pub fn format_go(duration: SignedDuration) -> String {
    let nanos = duration.as_nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    if nanos == 0 {
        return "0s".to_owned();
    }
    for (unit_nanos, unit, limit) in
        [(1, "ns", 1_000), (1_000, "µs", 1_000_000), (1_000_000, "ms", 1_000_000_000)]
    {
        if nanos < limit {
            return format!("{sign}{}{unit}", with_fraction(nanos, unit_nanos));
        }
    }
    let seconds = format!("{}s", with_fraction(nanos % 60_000_000_000, 1_000_000_000));
    let minutes = nanos / 60_000_000_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
    }
}

fn with_fraction(nanos: u128, unit_nanos: u128) -> String {
    let (whole, part) = (nanos / unit_nanos, nanos % unit_nanos);
    if part == 0 {
        return whole.to_string();
    }
    let places = unit_nanos.to_string().len() - 1;
    let fraction = format!("{part:0places$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// The first number with its unit in nanoseconds (`None` when out of range) and what follows it.
fn leading_part(text: &str) -> Option<(Option<i128>, &str)> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at_checked(number_end)?;
    let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(unit_end)?;
    let unit_nanos = match unit {
        "ns" => 1_i128,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { Some(0) } else { whole.parse::<i128>().ok() };
    // Eighteen digits of fraction are finer than a nanosecond of an hour.
    let kept: String = fraction.chars().take(18).collect();
    let places = u32::try_from(kept.len()).ok()?;
    let part = kept.parse::<i128>().unwrap_or_default() * unit_nanos / 10_i128.pow(places);
    Some((whole.and_then(|n| n.checked_mul(unit_nanos)).and_then(|n| n.checked_add(part)), rest))
}

//! Kubernetes quantities, parsed exactly: no floats, every suffix, rounding up.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>

use std::fmt;

/// Billionths in one unit.
const NANOS: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// A quantity in billionths of its unit. Finer digits were rounded away from zero, and what is
/// beyond 2^63-1 was cut to it, both as in Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    /// At most 2^63-1 units.
    nanos: i128,
}

/// Thousandths of a CPU. Requests round up, what a node offers rounds down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millicores(pub u64);

/// Bytes of memory or disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a quantity: {rule}")]
pub struct InvalidQuantity {
    /// The text as given.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

const RULE_NUMBER: &str = "it must start with a decimal number such as `500` or `1.5`";
const RULE_SUFFIX: &str = "after the number only one of the suffixes n, u, m, k, M, G, T, P, E, Ki, \
                           Mi, Gi, Ti, Pi, Ei or an exponent such as e3 may stand";
/// The rule that requests and capacities follow.
pub const RULE_NEGATIVE: &str = "it must not be negative";

impl Quantity {
    /// The largest: 2^63-1 units.
    pub const MAX: Self = Self { nanos: i64::MAX as i128 * NANOS };

    /// A number of billionths, cut to [`Self::MAX`] and its opposite.
    pub fn from_nanos(nanos: i128) -> Self {
        Self { nanos: nanos.clamp(-Self::MAX.nanos, Self::MAX.nanos) }
    }

    /// A whole number of units.
    pub fn from_units(units: u64) -> Self {
        Self::from_nanos(i128::from(units) * NANOS)
    }

    /// Reads `text`. Digits that are lost are rounded away from zero.
    pub fn parse(text: &str) -> Result<Self, InvalidQuantity> {
        let refuse = |rule| InvalidQuantity { text: text.to_owned(), rule };
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end).ok_or_else(|| refuse(RULE_NUMBER))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(refuse(RULE_NUMBER));
        }
        let scale = Scale::parse(suffix).ok_or_else(|| refuse(RULE_SUFFIX))?;
        let magnitude = scale.nanos(whole, fraction);
        Ok(Self { nanos: if negative { -magnitude } else { magnitude } })
    }

    /// Reads `text`, refusing what is below zero.
    pub fn parse_unsigned(text: &str) -> Result<Self, InvalidQuantity> {
        let quantity = Self::parse(text)?;
        if quantity.nanos < 0 {
            return Err(InvalidQuantity { text: text.to_owned(), rule: RULE_NEGATIVE });
        }
        Ok(quantity)
    }

    /// Billionths of a unit, exactly, for sums; below zero when the quantity is.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// Thousandths, rounded up; 0 when negative.
    pub fn to_millis(self) -> u64 {
        Self::divide_up(self.nanos, NANOS_PER_MILLI)
    }

    /// Whole units, rounded up; 0 when negative.
    pub fn to_units(self) -> u64 {
        Self::divide_up(self.nanos, NANOS)
    }

    /// As bytes, rounded up: `100m` of memory is one byte.
    pub fn to_bytes(self) -> Bytes {
        Bytes(self.to_units())
    }

    fn divide_up(nanos: i128, divisor: i128) -> u64 {
        let nanos = nanos.max(0);
        let rounded = nanos / divisor + i128::from(nanos % divisor != 0);
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }
}

/// What a suffix multiplies with: a power of two or of ten.
enum Scale {
    Binary(u32),
    Decimal(i32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            exponent => {
                let digits = exponent.strip_prefix(['e', 'E'])?;
                let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
                if unsigned.is_empty() || !unsigned.chars().all(|c| c.is_ascii_digit()) {
                    return None;
                }
                // Beyond these every number is capped or rounded to one billionth anyway.
                let power = unsigned.parse::<i32>().unwrap_or(i32::MAX).min(1_000);
                Self::Decimal(if digits.starts_with('-') { -power } else { power })
            }
        })
    }

    /// `whole.fraction` times this scale in nanos, rounded up and cut at 2^63-1 units.
    ///
    /// Decimal scales only move the point. Binary ones multiply whole and fraction apart, so that
    /// no digit is lost before the one rounding at the end.
    fn nanos(&self, whole: &str, fraction: &str) -> i128 {
        let cap = Quantity::MAX.nanos;
        match *self {
            Self::Decimal(power) => shift(whole, fraction, power + 9).map_or(cap, |n| n.min(cap)),
            Self::Binary(power) => {
                let factor = 1_i128 << power;
                let units = shift(whole, "", 0).and_then(|n| n.checked_mul(factor * NANOS));
                let part = binary_fraction(fraction, factor);
                units.and_then(|n| n.checked_add(part)).map_or(cap, |n| n.min(cap))
            }
        }
    }
}

/// The number `whole.fraction` with its point moved `places` to the right, rounded up to a whole
/// one; `None` when it does not fit.
fn shift(whole: &str, fraction: &str, places: i32) -> Option<i128> {
    let digits = || whole.bytes().chain(fraction.bytes()).map(|b| i128::from(b - b'0'));
    let kept = i64::try_from(whole.len()).ok()? + i64::from(places);
    let mut number = 0_i128;
    let mut position = 0_i64;
    let mut lost = false;
    for digit in digits() {
        if position < kept {
            number = number.checked_mul(10)?.checked_add(digit)?;
        } else {
            lost |= digit != 0;
        }
        position += 1;
    }
    if number != 0 {
        for _ in position..kept {
            number = number.checked_mul(10)?;
        }
    }
    number.checked_add(i128::from(lost))
}

/// `0.fraction × factor` in nanos, rounded up. A binary fraction of more than 18 digits is cut
/// there and rounded up, which is far below one billionth of every factor's unit.
fn binary_fraction(fraction: &str, factor: i128) -> i128 {
    let kept: String = fraction.chars().take(9).collect();
    let rest: String = fraction.chars().skip(9).take(9).collect();
    let lost = fraction.bytes().skip(18).any(|b| b != b'0');
    let padded = |text: &str| format!("{text:0<9}").parse::<i128>().unwrap_or_default();
    let high = padded(&kept) * factor;
    let low = padded(&rest) * factor + i128::from(lost);
    high + low / NANOS + i128::from(low % NANOS != 0)
}

impl fmt::Display for Quantity {
    /// Kubernetes' decimal form: whole units, or the coarsest of `m`, `u`, `n` that is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (divisor, suffix) in [(NANOS, ""), (NANOS_PER_MILLI, "m"), (1_000, "u"), (1, "n")] {
            if self.nanos % divisor == 0 {
                return write!(f, "{}{suffix}", self.nanos / divisor);
            }
        }
        Ok(())
    }
}

impl fmt::Display for Millicores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1_000) {
            write!(f, "{}", self.0 / 1_000)
        } else {
            write!(f, "{}m", self.0)
        }
    }
}

impl Bytes {
    /// A number of mebibytes (2^20).
    pub const fn from_mebibytes(count: u64) -> Self {
        Self(count << 20)
    }

    /// A number of gibibytes (2^30).
    pub const fn from_gibibytes(count: u64) -> Self {
        Self(count << 30)
    }
}

impl fmt::Display for Bytes {
    /// The coarsest binary suffix that is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffixes = [(50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];
        for (power, suffix) in suffixes {
            if self.0 != 0 && self.0.is_multiple_of(1 << power) {
                return write!(f, "{}{suffix}", self.0 >> power);
            }
        }
        write!(f, "{}", self.0)
    }
}

//! Money: parts of a dollar for one hour, exactly. Sums are checked; nothing is ever a float.

use std::fmt;

/// A price for one hour.
///
/// It is kept in ten-millionths of a nano-dollar: AWS's prices are nano-dollars at most, and an
/// instance of a reservation costs a ten-millionth of the on-demand price, for which a whole
/// nano-dollar is too coarse to compare by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HourlyPrice(u128);

/// Hours of a month, as AWS's calculator reckons.
pub const HOURS_PER_MONTH: u128 = 730;

/// Parts of a nano-dollar.
const PARTS: u128 = 10_000_000;
/// Parts of a dollar.
const WHOLE: u128 = 1_000_000_000 * PARTS;
/// Digits after the point that count.
const DIGITS: usize = 16;

/// Why a text is not a price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a price: it must be an unsigned decimal number of dollars below 18,446,744,073"
)]
pub struct InvalidPrice {
    /// The text as given.
    pub text: String,
}

impl HourlyPrice {
    /// More than anything costs.
    pub const MAX: Self = Self::from_nanos(u64::MAX);

    /// A price in nano-dollars.
    #[expect(clippy::as_conversions, reason = "`u128::from` is not const yet")]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos as u128 * PARTS)
    }

    /// In nano-dollars, rounded half up: for storing and showing it, not for comparing.
    pub fn nanos(self) -> u64 {
        u64::try_from((self.0 + PARTS / 2) / PARTS).unwrap_or(u64::MAX)
    }

    /// In nano-dollars, rounded up: what is spent, where it must not be understated.
    pub fn nanos_at_least(self) -> u64 {
        u64::try_from(self.0.div_ceil(PARTS)).unwrap_or(u64::MAX)
    }

    /// In nano-dollars, rounded down: what may be spent, where it must not be overstated.
    pub fn whole_nanos(self) -> u64 {
        u64::try_from(self.0 / PARTS).unwrap_or(u64::MAX)
    }

    /// In ten-millionths of a nano-dollar.
    pub const fn parts(self) -> u128 {
        self.0
    }

    /// A price in ten-millionths of a nano-dollar; at most [`HourlyPrice::MAX`].
    pub fn from_parts(parts: u128) -> Self {
        Self(parts).min(Self::MAX)
    }

    /// Reads dollars such as `0.0816`; digits beyond the sixteenth are rounded half up.
    pub fn parse_dollars(text: &str) -> Result<Self, InvalidPrice> {
        Self::parse(text).ok_or_else(|| InvalidPrice { text: text.to_owned() })
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return None;
        }
        let dollars: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut parts = 0_u128;
        let mut place = WHOLE / 10;
        let mut rounds_up = false;
        for (index, digit) in fraction.chars().enumerate() {
            let digit = u128::from(digit.to_digit(10)?);
            if index < DIGITS {
                parts += digit * place;
                place /= 10;
            } else if index == DIGITS {
                rounds_up = 5 <= digit;
            }
        }
        let parts = dollars.checked_mul(WHOLE)?.checked_add(parts + u128::from(rounds_up))?;
        Some(Self(parts)).filter(|price| *price <= Self::MAX)
    }

    /// The sum, or `None` when it does not fit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self(self.0 + other.0)).filter(|sum| *sum <= Self::MAX)
    }

    /// The sum, or the largest price when it does not fit.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self::from_parts(self.0 + other.0)
    }

    /// What is left without `other`; nothing if that is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// One of `count` equal parts; of none, all of it.
    #[must_use]
    pub fn divided_by(self, count: u64) -> Self {
        Self(self.0.checked_div(u128::from(count)).unwrap_or(self.0))
    }
}

impl HourlyPrice {
    /// For sentences: `$0.0816`, with four to six digits after the point, as many as AWS's prices have. Rounded half up.
    #[must_use]
    pub fn in_words(self) -> String {
        const UNIT: u128 = WHOLE / 1_000_000;
        format!("${}", Self((self.0 + UNIT / 2) / UNIT * UNIT))
    }
}

impl fmt::Display for HourlyPrice {
    /// Dollars with at least four digits after the point, and all that it has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:016}", self.0 % WHOLE);
        let kept = fraction.trim_end_matches('0').len().max(4);
        let fraction: String = fraction.chars().take(kept).collect();
        write!(f, "{}.{fraction}", self.0 / WHOLE)
    }
}

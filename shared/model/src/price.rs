//! Money: nano-dollars for one hour. Sums are checked; nothing is ever a float.

use std::fmt;

/// A price in nano-dollars for one hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HourlyPrice(pub u64);

const NANOS: u64 = 1_000_000_000;

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
    pub const MAX: Self = Self(u64::MAX);

    /// Reads dollars such as `0.0816`; digits beyond the ninth are rounded half up.
    pub fn parse_dollars(text: &str) -> Result<Self, InvalidPrice> {
        Self::parse(text).ok_or_else(|| InvalidPrice { text: text.to_owned() })
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return None;
        }
        let dollars: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut nanos = 0_u64;
        let mut place = NANOS / 10;
        let mut round_up = false;
        for (index, digit) in fraction.chars().enumerate() {
            let digit = u64::from(digit.to_digit(10)?);
            if index < 9 {
                nanos += digit * place;
                place /= 10;
            } else {
                round_up = index == 9 && digit >= 5 || index > 9 && round_up;
            }
        }
        let nanos = nanos + u64::from(round_up);
        dollars.checked_mul(NANOS)?.checked_add(nanos).map(Self)
    }

    /// The sum, or `None` when it does not fit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The sum, or the largest price when it does not fit.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for HourlyPrice {
    /// Dollars with at least four and at most nine digits after the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.0 % NANOS);
        let kept = fraction.trim_end_matches('0').len().max(4);
        let fraction: String = fraction.chars().take(kept).collect();
        write!(f, "{}.{fraction}", self.0 / NANOS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_prices_are_exact() {
        for (text, nanos, shown) in [
            ("0.0816", 81_600_000, "0.0816"),
            ("0.033747", 33_747_000, "0.033747"),
            ("3", 3_000_000_000, "3.0000"),
            (".5", 500_000_000, "0.5000"),
            ("0.0000000004", 0, "0.0000"),
            ("0.0000000005", 1, "0.000000001"),
            ("0.00000000049", 0, "0.0000"),
            ("0.9999999999", 1_000_000_000, "1.0000"),
        ] {
            let price = HourlyPrice::parse_dollars(text).unwrap();
            assert_eq!(price.0, nanos, "{text}");
            assert_eq!(price.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_price_is_refused() {
        for text in ["", ".", "-1", "1e3", "$1", "1.2.3", "18446744074"] {
            assert!(HourlyPrice::parse_dollars(text).is_err(), "{text}");
        }
    }
}

//! Settings that concern all nodes of a cluster.
//!
//! <https://karpenter.sh/docs/reference/settings/>

/// Karpenter's settings of these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `RESERVED_ENIS`: network interfaces of each node that are not for pods.
    pub reserved_enis: u32,
    /// `VM_MEMORY_OVERHEAD_PERCENT`
    pub memory_overhead: Share,
    /// The feature gate `ReservedCapacity`.
    pub reserved_capacity: bool,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            reserved_enis: 0,
            memory_overhead: Share { millionths: 75_000 },
            reserved_capacity: true,
        }
    }
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    millionths: u64,
}

impl Share {
    /// Reads a decimal such as `0.075`; digits beyond the sixth do not count.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(6).collect();
        let millionths = whole.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?)?;
        Some(Self { millionths })
    }

    /// Whether it is no more than the whole.
    pub fn is_at_most_all(self) -> bool {
        self.millionths <= 1_000_000
    }

    /// How many millionths it is.
    pub const fn millionths(self) -> u64 {
        self.millionths
    }

    /// This part of `amount`, rounded up.
    pub(crate) fn of_rounded_up(self, amount: u64) -> u64 {
        let share = (u128::from(amount) * u128::from(self.millionths)).div_ceil(1_000_000);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_from_a_decimal() {
        for (text, of_a_thousand) in [
            ("0.075", Some(75)),
            (".1", Some(100)),
            ("0", Some(0)),
            ("1", Some(1_000)),
            ("0.0751", Some(76)),
        ] {
            assert_eq!(Share::parse(text).map(|share| share.of_rounded_up(1_000)), of_a_thousand);
        }
        for text in ["", ".", "-1", "7,5", "1e3", "5%"] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }
}

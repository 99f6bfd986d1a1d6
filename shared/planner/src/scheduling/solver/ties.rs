//! Which of equally good domains a pod takes: any of them is one of Karpenter's answers, which come in
//! the order of Go's maps.

use super::Run;

/// Which of equally good domains is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ties {
    /// The one that is cheapest for the pod.
    #[default]
    Cheapest,
    /// That one every other time, and else another: a way of its own for each number.
    Varied(u64),
}

impl Run<'_, '_> {
    /// Which of `count` equally good domains is taken, the cheapest being the first.
    pub(super) fn shift(&mut self, count: usize) -> usize {
        self.ties += 1;
        let Ties::Varied(way) = self.options.ties else { return 0 };
        let scattered = scattered(way.wrapping_mul(1 << 32).wrapping_add(self.ties));
        if scattered & 1 == 0 {
            return 0;
        }
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        usize::try_from((scattered >> 1) % count).unwrap_or_default()
    }
}

/// A number that looks like no other's: the finalizer of SplitMix64.
///
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
const fn scattered(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

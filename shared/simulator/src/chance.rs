//! Chance: the simulator's own seeded numbers, the same on every machine and in every release.
//!
//! Each purpose draws from a generator of its own, so that one more draw for one purpose does not
//! change what happens for another.

use jiff::SignedDuration;

/// A generator of numbers (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance(u64);

/// A time between two bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// At least.
    pub min: SignedDuration,
    /// At most.
    pub max: SignedDuration,
}

impl Span {
    /// A minimum and a maximum in milliseconds.
    pub const fn from_millis(min: i64, max: i64) -> Self {
        Self { min: SignedDuration::from_millis(min), max: SignedDuration::from_millis(max) }
    }

    /// A minimum and a maximum in seconds.
    pub const fn from_secs(min: i64, max: i64) -> Self {
        Self { min: SignedDuration::from_secs(min), max: SignedDuration::from_secs(max) }
    }
}

impl Chance {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for `purpose` alone.
    #[must_use]
    pub fn child(&self, purpose: &str) -> Self {
        let mut child = Self(self.0 ^ model::ledger::digest(purpose.as_bytes()));
        child.number();
        child
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when the bound is 0. The bias of the remainder does no harm here.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.number() % bound }
    }

    /// An index of a list of `length` items.
    pub fn index(&mut self, length: usize) -> usize {
        let bound = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or_default()
    }

    /// Whether something that happens this number of times in a thousand happens now. A zero draws no
    /// number.
    pub fn per_mille(&mut self, share: u32) -> bool {
        share > 0 && self.below(1_000) < u64::from(share)
    }

    /// A time within `span`, in whole milliseconds.
    pub fn within(&mut self, span: Span) -> SignedDuration {
        let min = span.min.as_millis();
        let width = u64::try_from(span.max.as_millis().saturating_sub(min)).unwrap_or_default();
        if width == 0 {
            return span.min;
        }
        let extra = i64::try_from(self.below(width.saturating_add(1))).unwrap_or_default();
        span.min.saturating_add(SignedDuration::from_millis(extra))
    }

    /// A text of `length` letters and digits, as Kubernetes appends to generated names.
    pub fn suffix(&mut self, length: usize) -> String {
        self.text(length, b"bcdfghjklmnpqrstvwxz2456789")
    }

    /// The hash of a pod template, as Kubernetes puts it into the names of ReplicaSets and pods: a number
    /// of nine digits, each written as one of ten letters and digits.
    ///
    /// <https://github.com/kubernetes/apimachinery/blob/master/pkg/util/rand/rand.go>, `SafeEncodeString`.
    pub fn template_hash(&mut self) -> String {
        self.text(9, b"456789bcdf")
    }

    fn text(&mut self, length: usize, letters: &[u8]) -> String {
        (0..length)
            .filter_map(|_| letters.get(self.index(letters.len())))
            .map(|byte| char::from(*byte))
            .collect()
    }
}

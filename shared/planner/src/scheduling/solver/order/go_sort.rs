//! Go's `sort.Slice`, step by step: the order that it leaves claims in.
//!
//! Karpenter sorts its in-flight claims by their number of pods with `sort.Slice`, which is not
//! stable. It is a pattern-defeating quicksort whose every step follows from the numbers alone, so what
//! it does to claims with equally many pods can be told, and pods go onto the same claims as Karpenter's.
//! A stable sort would give other placements, as cheap as these: of the conformance scenarios those with
//! more than twelve claims would differ. It is for this order only: to sort something, use the standard
//! library.
//!
//! It may go when Karpenter sorts those claims by a stable sort (or no longer before each pod): then
//! [`super::Order`] without the calls of [`sort`] is all that is needed.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToInflightNode`; Go 1.24:
//! `src/sort/zsortfunc.go`, `pdqsort_func`; <https://arxiv.org/abs/2106.05123>.

use crate::index::id::ClaimId;

/// A claim with its number of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// How many pods the claim has.
    pub pods: usize,
    /// The claim.
    pub claim: ClaimId,
}

/// What is no longer is sorted by insertion, which is stable.
pub const INSERTION_MAX: usize = 12;

/// What is at least so long is looked at in nine places to choose a pivot, and a few claims that
/// stand wrong are put right without partitioning.
pub const LONG_MIN: usize = 50;

/// As many pairs may stand wrong for that.
const STEPS_MAX: usize = 5;

/// With this number of exchanges among the nine, the whole seems to be in reverse.
const EXCHANGES_MAX: usize = 12;

/// Sorts by the number of pods.
pub fn sort(counteds: &mut [Counted]) {
    let (len, bad_pivots_max) = (counteds.len(), usize::BITS - counteds.len().leading_zeros());
    Sorting { all: counteds }.sort(0, len, bad_pivots_max);
}

/// The places between which a pivot is chosen: a quarter, a half and three quarters of the way.
pub(super) fn probes(len: usize) -> [usize; 3] {
    [1, 2, 3].map(|quarters| len / 4 * quarters)
}

struct Sorting<'c> {
    all: &'c mut [Counted],
}

impl Sorting<'_> {
    fn pods(&self, place: usize) -> usize {
        self.all.get(place).map_or(0, |counted| counted.pods)
    }

    fn is_less(&self, a: usize, b: usize) -> bool {
        self.pods(a) < self.pods(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.all.swap(a, b);
    }

    fn sort(&mut self, mut from: usize, mut to: usize, mut bad_pivots_left: u32) {
        let (mut was_balanced, mut was_partitioned) = (true, true);
        loop {
            let len = to - from;
            if len <= INSERTION_MAX {
                return self.insert(from, to);
            }
            if bad_pivots_left == 0 {
                return self.heap(from, to);
            }
            if !was_balanced {
                self.break_patterns(from, to);
                bad_pivots_left -= 1;
            }
            let (mut pivot, mut exchanges) = self.pivot(from, to);
            if exchanges == EXCHANGES_MAX {
                if let Some(part) = self.all.get_mut(from..to) {
                    part.reverse();
                }
                pivot = (to - 1) - (pivot - from);
                exchanges = 0;
            }
            let seems_sorted = was_balanced && was_partitioned && exchanges == 0;
            if seems_sorted && self.insert_few(from, to) {
                return;
            }
            if 0 < from && !self.is_less(from - 1, pivot) {
                from = self.partition_equal(from, to, pivot);
                continue;
            }
            let middle;
            (middle, was_partitioned) = self.partition(from, to, pivot);
            let (left, right) = (middle - from, to - middle);
            was_balanced = len / 8 <= left.min(right);
            if left < right {
                self.sort(from, middle, bad_pivots_left);
                from = middle + 1;
            } else {
                self.sort(middle + 1, to, bad_pivots_left);
                to = middle;
            }
        }
    }

    fn insert(&mut self, from: usize, to: usize) {
        for next in from + 1..to {
            let mut place = next;
            while from < place && self.is_less(place, place - 1) {
                self.swap(place, place - 1);
                place -= 1;
            }
        }
    }

    /// Puts a few right that stand wrong; whether all are right then.
    fn insert_few(&mut self, from: usize, to: usize) -> bool {
        let mut next = from + 1;
        for _ in 0..STEPS_MAX {
            while next < to && !self.is_less(next, next - 1) {
                next += 1;
            }
            if next == to {
                return true;
            }
            if to - from < LONG_MIN {
                return false;
            }
            self.swap(next, next - 1);
            if 2 <= next - from {
                let wrong = |sorting: &Self, place: usize| sorting.is_less(place, place - 1);
                let mut place = next - 1;
                while 1 <= place && wrong(self, place) {
                    self.swap(place, place - 1);
                    place -= 1;
                }
            }
            if 2 <= to - next {
                let mut place = next + 1;
                while place < to && self.is_less(place, place - 1) {
                    self.swap(place, place - 1);
                    place += 1;
                }
            }
        }
        false
    }

    /// The smaller ones than the pivot before it, the others behind. Where it is then, and whether
    /// they were there already.
    fn partition(&mut self, from: usize, to: usize, pivot: usize) -> (usize, bool) {
        self.swap(from, pivot);
        let pivot = self.pods(from);
        let (mut low, mut high) = (from + 1, to - 1);
        let mut is_first = true;
        loop {
            while low <= high && self.pods(low) < pivot {
                low += 1;
            }
            while low <= high && pivot <= self.pods(high) {
                high -= 1;
            }
            if high < low {
                self.swap(high, from);
                return (high, is_first);
            }
            self.swap(low, high);
            low += 1;
            high -= 1;
            is_first = false;
        }
    }

    /// Those equal to the pivot first, where none is smaller. Where the others begin.
    fn partition_equal(&mut self, from: usize, to: usize, pivot: usize) -> usize {
        self.swap(from, pivot);
        let pivot = self.pods(from);
        let (mut low, mut high) = (from + 1, to - 1);
        loop {
            while low <= high && self.pods(low) <= pivot {
                low += 1;
            }
            while low <= high && pivot < self.pods(high) {
                high -= 1;
            }
            if high < low {
                return low;
            }
            self.swap(low, high);
            low += 1;
            high -= 1;
        }
    }

    /// Exchanges three in the middle for others, chosen by numbers that follow from the length.
    fn break_patterns(&mut self, from: usize, to: usize) {
        let len = to - from;
        let mut random = u64::try_from(len).unwrap_or(u64::MAX);
        let mask = (1_u64 << (u64::BITS - random.leading_zeros())) - 1;
        let middle = from + len / 4 * 2;
        for place in middle - 1..=middle + 1 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let other = usize::try_from(random & mask).unwrap_or_default();
            let other = if len <= other { other - len } else { other };
            self.swap(place, from + other);
        }
    }

    /// The median of three places, each the median of its neighbours where there are many; and how
    /// often two of those stood in the wrong order.
    fn pivot(&self, from: usize, to: usize) -> (usize, usize) {
        let len = to - from;
        let mut exchanges = 0;
        let mut places = probes(len).map(|place| from + place);
        if LONG_MIN <= len {
            places = places.map(|place| self.median([place - 1, place, place + 1], &mut exchanges));
        }
        (self.median(places, &mut exchanges), exchanges)
    }

    fn median(&self, [a, b, c]: [usize; 3], exchanges: &mut usize) -> usize {
        let mut sorted = |a: usize, b: usize| {
            let is_wrong = self.is_less(b, a);
            *exchanges += usize::from(is_wrong);
            if is_wrong { (b, a) } else { (a, b) }
        };
        let (a, b) = sorted(a, b);
        let (b, _) = sorted(b, c);
        sorted(a, b).1
    }

    fn heap(&mut self, from: usize, to: usize) {
        let len = to - from;
        for root in (0..=(len - 1) / 2).rev() {
            self.sift(from, root, len);
        }
        for last in (0..len).rev() {
            self.swap(from, from + last);
            self.sift(from, 0, last);
        }
    }

    fn sift(&mut self, from: usize, mut root: usize, len: usize) {
        loop {
            let mut child = 2 * root + 1;
            if len <= child {
                return;
            }
            if child + 1 < len && self.is_less(from + child, from + child + 1) {
                child += 1;
            }
            if !self.is_less(from + root, from + child) {
                return;
            }
            self.swap(from + root, from + child);
            root = child;
        }
    }
}

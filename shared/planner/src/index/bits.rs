//! Sets of small numbers, a bit each: instance types, claims.

/// A set of numbers below a length that is fixed when it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

const BITS: usize = 64;

impl BitSet {
    /// The empty set of numbers below `len`.
    pub(crate) fn empty(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(BITS)] }
    }

    /// The set of the numbers below `len` that `holds` is true for.
    pub(crate) fn of(len: usize, holds: impl Fn(usize) -> bool) -> Self {
        let mut all = Self::empty(len);
        for number in (0..len).filter(|number| holds(*number)) {
            all.insert(number);
        }
        all
    }

    /// Adds `number`, making room for it if it is beyond the length.
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / BITS;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (number % BITS);
        }
    }

    /// Adds all of `numbers`.
    pub(crate) fn extend(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.insert(number);
        }
    }

    /// Whether `number` is in it.
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.words.get(number / BITS).is_some_and(|word| word >> (number % BITS) & 1 == 1)
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The set of all numbers below `len`.
    pub(crate) fn full(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(BITS)];
        if let Some(last) = words.last_mut().filter(|_| !len.is_multiple_of(BITS)) {
            *last = (1 << (len % BITS)) - 1;
        }
        Self { words }
    }

    /// Takes `number` out.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / BITS) {
            *word &= !(1 << (number % BITS));
        }
    }

    /// Takes out what is in `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        for (word, others) in self.words.iter_mut().zip(&other.words) {
            *word &= !others;
        }
    }

    /// How many numbers are in it.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| ones(*word)).sum()
    }

    /// How many numbers both have in common.
    pub(crate) fn count_common(&self, other: &Self) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| ones(a & b)).sum()
    }

    /// The numbers that both have in common, ascending.
    pub(crate) fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let words = self.words.iter().zip(&other.words).enumerate();
        words.flat_map(|(index, (a, b))| in_word(index, a & b))
    }

    /// The smallest number in it that is at least `from`.
    pub(crate) fn first_from(&self, from: usize) -> Option<usize> {
        let start = from / BITS;
        let mut mask = u64::MAX << (from % BITS);
        for (index, word) in self.words.iter().enumerate().skip(start) {
            let word = word & mask;
            if word != 0 {
                return Some(index * BITS + trailing_zeros(word));
            }
            mask = u64::MAX;
        }
        None
    }

    /// Whether `other` has every number of it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(others).all(|(word, other)| word & !other == 0)
    }

    /// Takes out what is not in `other`.
    pub(crate) fn keep(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or_default();
        }
    }

    /// Adds what is in `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, others) in self.words.iter_mut().zip(&other.words) {
            *word |= others;
        }
    }

    /// Becomes a copy of `other` without a new allocation.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether both have a number in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Its numbers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, word)| in_word(index, *word))
    }
}

fn in_word(index: usize, word: u64) -> impl Iterator<Item = usize> {
    let rest = |word: &u64| Some(word & word.wrapping_sub(1)).filter(|word| *word != 0);
    std::iter::successors(Some(word).filter(|word| *word != 0), rest)
        .map(move |word| index * BITS + trailing_zeros(word))
}

fn trailing_zeros(word: u64) -> usize {
    usize::try_from(word.trailing_zeros()).unwrap_or_default()
}

fn ones(word: u64) -> usize {
    usize::try_from(word.count_ones()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(numbers: &BTreeSet<usize>) -> BitSet {
        BitSet::of(200, |number| numbers.contains(&number))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bits_are_a_set(
            a in proptest::collection::btree_set(0_usize..200, 0..40),
            b in proptest::collection::btree_set(0_usize..200, 0..40),
        ) {
            let (bits_a, bits_b) = (set(&a), set(&b));
            prop_assert_eq!(bits_a.iter().collect::<BTreeSet<_>>(), a.clone());
            prop_assert_eq!(bits_a.is_empty(), a.is_empty());
            prop_assert_eq!(bits_a.meets(&bits_b), !a.is_disjoint(&b));
            let mut kept = bits_a.clone();
            kept.keep(&bits_b);
            prop_assert_eq!(kept.iter().collect::<BTreeSet<_>>(), &a & &b);
            let mut both = bits_a.clone();
            both.add(&bits_b);
            prop_assert_eq!(both.iter().collect::<BTreeSet<_>>(), &a | &b);
            let mut rest = bits_a.clone();
            rest.subtract(&bits_b);
            prop_assert_eq!(rest.iter().collect::<BTreeSet<_>>(), &a - &b);
            prop_assert_eq!(bits_a.common(&bits_b).collect::<BTreeSet<_>>(), &a & &b);
            prop_assert_eq!(bits_a.count_common(&bits_b), (&a & &b).len());
            prop_assert_eq!(bits_a.count(), a.len());
            prop_assert_eq!(bits_a.first_from(70), a.range(70..).next().copied());
            prop_assert_eq!(bits_a.is_within(&bits_b), a.is_subset(&b));
            prop_assert_eq!(BitSet::full(a.len()).count(), a.len());
        }
    }
}

//! Sets of numbers, a bit each: instance types, claims, domains.

use std::{iter, marker::PhantomData};

use super::id::Id;

/// A set of numbers of the kind `K`. Of the first 64 numbers it takes no allocation: most sets of
/// domains have no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitSet<K> {
    first: u64,
    rest: Vec<u64>,
    kind: PhantomData<K>,
}

const BITS: usize = 64;

impl<K> BitSet<K> {
    /// The empty set, with room for the first `len` numbers.
    pub(crate) fn empty(len: usize) -> Self {
        Self::of_words(0, vec![0; len.div_ceil(BITS).saturating_sub(1)])
    }

    fn of_words(first: u64, rest: Vec<u64>) -> Self {
        Self { first, rest, kind: PhantomData }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        iter::once(self.first).chain(self.rest.iter().copied())
    }

    fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.first,
            Some(index) => self.rest.get(index).copied().unwrap_or_default(),
        }
    }

    fn word_mut(&mut self, index: usize) -> Option<&mut u64> {
        match index.checked_sub(1) {
            None => Some(&mut self.first),
            Some(index) => self.rest.get_mut(index),
        }
    }

    /// The set of the first `len` numbers, as far as `holds` is true for them.
    pub fn of(len: usize, holds: impl Fn(Id<K>) -> bool) -> Self {
        let mut ids = Self::empty(len);
        for id in (0..len).map(Id::at).filter(|id| holds(*id)) {
            ids.insert(id);
        }
        ids
    }

    /// Adds `id`, making room for it if need be.
    pub(crate) fn insert(&mut self, id: Id<K>) {
        let number = id.place();
        let index = number / BITS;
        if self.rest.len() < index {
            self.rest.resize(index, 0);
        }
        if let Some(word) = self.word_mut(index) {
            *word |= 1 << (number % BITS);
        }
    }

    /// Adds all of `ids`.
    pub(crate) fn extend(&mut self, ids: impl IntoIterator<Item = Id<K>>) {
        for id in ids {
            self.insert(id);
        }
    }

    /// Whether `id` is in it.
    pub(crate) fn contains(&self, id: Id<K>) -> bool {
        let number = id.place();
        self.word(number / BITS) >> (number % BITS) & 1 == 1
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|word| *word == 0)
    }

    /// The set of the first `len` numbers.
    pub fn full(len: usize) -> Self {
        let mut set = Self::of_words(u64::MAX, vec![u64::MAX; (len / BITS).saturating_sub(1)]);
        match (len / BITS, (1 << (len % BITS)) - 1) {
            (0, last) => set.first = last,
            (_, 0) => {}
            (_, last) => set.rest.push(last),
        }
        set
    }

    /// Takes `id` out.
    pub fn remove(&mut self, id: Id<K>) {
        let number = id.place();
        if let Some(word) = self.word_mut(number / BITS) {
            *word &= !(1 << (number % BITS));
        }
    }

    /// Takes out what is in `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.first &= !other.first;
        for (word, others) in self.rest.iter_mut().zip(&other.rest) {
            *word &= !others;
        }
    }

    /// How many numbers are in it.
    pub fn count(&self) -> usize {
        self.words().map(ones).sum()
    }

    /// How many numbers both have in common.
    pub fn count_common(&self, other: &Self) -> usize {
        let rest: usize = self.rest.iter().zip(&other.rest).map(|(a, b)| ones(a & b)).sum();
        ones(self.first & other.first) + rest
    }

    /// The numbers that both have in common, ascending.
    pub fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Id<K>> + 'a {
        let words = self.words().zip(other.words()).enumerate();
        words.flat_map(|(index, (a, b))| in_word(index, a & b))
    }

    /// The smallest number in it that is at least `from`.
    pub fn first_from(&self, from: Id<K>) -> Option<Id<K>> {
        let from = from.place();
        let start = from / BITS;
        let mut mask = u64::MAX << (from % BITS);
        for (index, word) in self.words().enumerate().skip(start) {
            let word = word & mask;
            if word != 0 {
                return Some(in_place(index, word));
            }
            mask = u64::MAX;
        }
        None
    }

    /// Whether `other` has every number of it.
    pub fn is_within(&self, other: &Self) -> bool {
        let others = other.rest.iter().copied().chain(iter::repeat(0));
        self.first & !other.first == 0
            && self.rest.iter().zip(others).all(|(word, other)| word & !other == 0)
    }

    /// Takes out what is not in `other`.
    pub fn keep(&mut self, other: &Self) {
        self.keep_words(other.first, &other.rest);
    }

    fn keep_words(&mut self, first: u64, rest: &[u64]) {
        self.first &= first;
        self.rest.iter_mut().zip(rest).for_each(|(word, other)| *word &= other);
        self.rest.iter_mut().skip(rest.len()).for_each(|word| *word = 0);
    }

    /// Adds what is in `other`.
    pub fn add(&mut self, other: &Self) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (word, others) in self.rest.iter_mut().zip(&other.rest) {
            *word |= others;
        }
    }

    /// Becomes a copy of `other` without a new allocation.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.first = other.first;
        self.rest.clone_from(&other.rest);
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.rest.fill(0);
    }

    /// Whether both have a number in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.first & other.first != 0 || self.rest.iter().zip(&other.rest).any(|(a, b)| a & b != 0)
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Id<K>> {
        self.words().enumerate().flat_map(|(index, word)| in_word(index, word))
    }
}

/// Sets of numbers of one range, one after the other in one allocation.
#[derive(Debug)]
pub struct BitRows<K> {
    words: Vec<u64>,
    words_per_row: usize,
    kind: PhantomData<K>,
}

impl<K> BitRows<K> {
    /// No sets yet, of the first `len` numbers, with room for `rows` of them.
    pub fn with_capacity(len: usize, rows: usize) -> Self {
        let words_per_row = len.div_ceil(BITS);
        let words = Vec::with_capacity(words_per_row.saturating_mul(rows));
        Self { words, words_per_row, kind: PhantomData }
    }

    /// Adds as the next set what is in the last one, and `more`.
    pub fn push_with(&mut self, more: impl Iterator<Item = Id<K>>) {
        let from = self.words.len();
        match from.checked_sub(self.words_per_row) {
            Some(last) => self.words.extend_from_within(last..),
            None => self.words.resize(self.words_per_row, 0),
        }
        for number in more.map(Id::place) {
            if let Some(word) = self.words.get_mut(from + number / BITS) {
                *word |= 1 << (number % BITS);
            }
        }
    }

    /// The first word of the set at `row`, and the others.
    fn row(&self, row: usize) -> (u64, &[u64]) {
        let from = row.saturating_mul(self.words_per_row);
        let words = self.words.get(from..from.saturating_add(self.words_per_row));
        let (first, rest) = words.and_then(<[u64]>::split_first).unwrap_or((&0, &[]));
        (*first, rest)
    }

    /// Takes out of `ids` what is not in the set at `row`.
    pub fn keep(&self, row: usize, ids: &mut BitSet<K>) {
        let (first, rest) = self.row(row);
        ids.keep_words(first, rest);
    }

    /// Whether the set at `row` has every number of `ids`.
    pub fn has_all(&self, row: usize, ids: &BitSet<K>) -> bool {
        let (first, rest) = self.row(row);
        let others = rest.iter().copied().chain(iter::repeat(0));
        ids.first & !first == 0
            && ids.rest.iter().zip(others).all(|(word, other)| word & !other == 0)
    }
}

fn in_word<K>(index: usize, mut word: u64) -> impl Iterator<Item = Id<K>> {
    iter::from_fn(move || {
        let smallest = (word != 0).then(|| in_place(index, word));
        word &= word.wrapping_sub(1);
        smallest
    })
}

/// The smallest number in a word.
fn in_place<K>(index: usize, word: u64) -> Id<K> {
    Id::at(index * BITS + usize::try_from(word.trailing_zeros()).unwrap_or_default())
}

fn ones(word: u64) -> usize {
    usize::try_from(word.count_ones()).unwrap_or_default()
}

//! A list of things that have numbers.

use std::ops::{Index, IndexMut};

/// Things by number. Numbers are handed out by [`Table::push`] and never come from outside.
#[derive(Clone, Debug)]
pub(crate) struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// Adds one; its number.
    pub(crate) fn push(&mut self, one: T) -> usize {
        self.0.push(one);
        self.0.len() - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of numbers.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.0
    }

    /// Makes it `len` long if it is shorter.
    pub(crate) fn grow(&mut self, len: usize, with: impl FnMut() -> T) {
        if self.0.len() < len {
            self.0.resize_with(len, with);
        }
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        #[expect(clippy::indexing_slicing, reason = "the number was handed out by this table")]
        &self.0[number]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        #[expect(clippy::indexing_slicing, reason = "the number was handed out by this table")]
        &mut self.0[number]
    }
}

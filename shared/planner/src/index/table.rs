//! A list of things that have numbers.

use std::{
    marker::PhantomData,
    ops::{Index, IndexMut},
};

use super::id::Id;

/// Things `T`, one for each number of the kind `K`. Numbers are handed out by `Table::push` and
/// never come from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K, T> {
    all: Vec<T>,
    kind: PhantomData<K>,
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Self { all: Vec::new(), kind: PhantomData }
    }
}

impl<K, T> Table<K, T> {
    /// Adds a thing; its number.
    pub(crate) fn push(&mut self, thing: T) -> Id<K> {
        let id = self.next_id();
        self.all.push(thing);
        id
    }

    /// Makes room for `more` things, and no others.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        self.all.reserve_exact(more);
    }

    /// The number that the next thing will have.
    pub(crate) fn next_id(&self) -> Id<K> {
        Id::at(self.all.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The thing with the number `id`, if there is one already.
    pub(crate) fn known(&self, id: Id<K>) -> Option<&T> {
        self.all.get(id.place())
    }

    pub(crate) fn known_mut(&mut self, id: Id<K>) -> Option<&mut T> {
        self.all.get_mut(id.place())
    }

    /// Things in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.all.iter_mut()
    }

    /// All numbers, ascending.
    pub(crate) fn ids(
        &self,
    ) -> impl ExactSizeIterator<Item = Id<K>> + DoubleEndedIterator + use<K, T> {
        (0..self.all.len()).map(Id::at)
    }

    /// Things with their numbers, ascending.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = (Id<K>, &T)> {
        self.all.iter().enumerate().map(|(place, thing)| (Id::at(place), thing))
    }

    /// Another thing for each of these.
    pub(crate) fn map<U>(&self, with: impl FnMut(&T) -> U) -> Table<K, U> {
        self.all.iter().map(with).collect()
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.all
    }

    /// Makes room for the number `id`: what is not there yet is made `with`.
    pub(crate) fn grow(&mut self, id: Id<K>, with: impl FnMut() -> T) {
        if self.all.len() <= id.place() {
            self.all.resize_with(id.place() + 1, with);
        }
    }
}

impl<K, T> FromIterator<T> for Table<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(item: I) -> Self {
        Self { all: item.into_iter().collect(), kind: PhantomData }
    }
}

impl<K, T> Index<Id<K>> for Table<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: Id<K>) -> &T {
        #[expect(clippy::indexing_slicing, reason = "the number was handed out by this table")]
        &self.all[id.place()]
    }
}

impl<K, T> IndexMut<Id<K>> for Table<K, T> {
    #[inline]
    fn index_mut(&mut self, id: Id<K>) -> &mut T {
        #[expect(clippy::indexing_slicing, reason = "the number was handed out by this table")]
        &mut self.all[id.place()]
    }
}

impl<'t, K, T> IntoIterator for &'t Table<K, T> {
    type Item = &'t T;
    type IntoIter = std::slice::Iter<'t, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<'t, K, T> IntoIterator for &'t mut Table<K, T> {
    type Item = &'t mut T;
    type IntoIter = std::slice::IterMut<'t, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter_mut()
    }
}

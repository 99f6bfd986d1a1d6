//! Moving parts of trees.

use crate::document::tree::{Entry, Tree, TreeValue};

/// A text at a line.
pub(super) fn text(line: u32, text: &str) -> Tree {
    Tree::new(line, TreeValue::Text(text.to_owned()))
}

/// A number at a line.
pub(super) fn number(line: u32, number: u32) -> Tree {
    Tree::new(line, TreeValue::Number(number.to_string()))
}

/// A list at a line.
pub(super) fn list(line: u32, items: Vec<Tree>) -> Tree {
    Tree::new(line, TreeValue::List(items))
}

/// A map at a line.
pub(super) fn map<const N: usize>(line: u32, entries: [(&str, Tree); N]) -> Tree {
    let entry = |(key, value): (&str, Tree)| Entry { key: key.to_owned(), line, value };
    Tree::new(line, TreeValue::Map(entries.into_iter().map(entry).collect()))
}

impl Tree {
    /// The value of `key`, if this is a map that has it.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let TreeValue::Map(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    /// Removes `key` and returns its value; null is as good as absent.
    pub(super) fn take(&mut self, key: &str) -> Option<Self> {
        let TreeValue::Map(entries) = &mut self.value else { return None };
        let place = entries.iter().position(|entry| entry.key == key)?;
        let value = entries.remove(place).value;
        (!value.is_null()).then_some(value)
    }

    /// Sets `key`, in its place or at the end.
    pub(super) fn put(&mut self, key: &str, value: Self) {
        if let Some(place) = self.get_mut(key) {
            *place = value;
        } else if let TreeValue::Map(entries) = &mut self.value {
            entries.push(Entry { key: key.to_owned(), line: value.line, value });
        }
    }

    /// The map at `key`, an empty one if there is none.
    pub(super) fn child(&mut self, key: &str) -> Option<&mut Self> {
        if self.get(key).is_none_or(Self::is_null) {
            let line = self.line;
            self.put(key, map(line, []));
        }
        self.get_mut(key)
    }

    /// Whether `key` is there and not null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    /// The items, if this is a list.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            TreeValue::List(items) => items,
            _ => &[],
        }
    }
}

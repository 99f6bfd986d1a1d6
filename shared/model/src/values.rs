//! The values of a requirement: few, sorted, and shared by their copies.

use std::{collections::BTreeSet, fmt, ops::Deref, sync::Arc};

use crate::requirement::Value;

/// Distinct values of a label in the order of their texts. A copy shares them.
///
/// It is read as a slice. A sorted slice takes one allocation where a tree takes one for each dozen of
/// values, and is made of sorted values without looking at them again.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Values(Arc<[Value]>);

impl Values {
    /// Whether `value` is one of them.
    pub fn contains(&self, value: &str) -> bool {
        match &*self.0 {
            [] => false,
            [only] => **only == *value,
            several => several.binary_search_by(|known| (**known).cmp(value)).is_ok(),
        }
    }

    /// The values of `sorted`, which are distinct and in the order of their texts, as the caller knows.
    pub fn of_sorted(sorted: Vec<Value>) -> Self {
        let values = Self(sorted.into());
        debug_assert!(values.is_sorted_by(|value, next| value < next), "{values:?}");
        values
    }
}

impl Deref for Values {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl From<BTreeSet<Value>> for Values {
    fn from(values: BTreeSet<Value>) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<const N: usize> From<[Value; N]> for Values {
    fn from(values: [Value; N]) -> Self {
        values.into_iter().collect()
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let values: Vec<Value> = values.into_iter().collect();
        if values.is_sorted_by(|value, next| value < next) {
            return Self(values.into());
        }
        values.into_iter().collect::<BTreeSet<Value>>().into()
    }
}

impl<'v> IntoIterator for &'v Values {
    type Item = &'v Value;
    type IntoIter = std::slice::Iter<'v, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

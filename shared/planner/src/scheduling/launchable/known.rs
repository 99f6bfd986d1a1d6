//! What was worked out about instance types is kept, so that the next plan need not do it again.
//!
//! It decides nothing: an answer is only given again when everything that it was made of is the same.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::Arc};

use model::InstanceType;

use super::type_index::TypeIndex;

/// Lists of types that are kept at once: those of some EC2NodeClasses, each as it was lately. They take a
/// megabyte each.
const LISTS_MAX: usize = 16;

/// What plans worked out about the instance types of their facts, for as long as the caller holds it.
///
/// Some 1,300 types with some 30 labels each have to be read to make a plan, and between two plans
/// most often none of them changed. Copies share what they know. A plan is the same with it and
/// without: types count as known only when they are the very same objects.
#[derive(Clone, Debug, Default)]
pub struct KnownTypes(Rc<RefCell<VecDeque<Rc<TypeIndex>>>>);

impl KnownTypes {
    /// The index of `types`, which are sorted by name.
    pub(crate) fn index(&self, types: &[Arc<InstanceType>], buys_reserved: bool) -> Rc<TypeIndex> {
        let mut known = self.0.borrow_mut();
        let place = known.iter().position(|index| index.is_of(types, buys_reserved));
        let index = place
            .and_then(|place| known.remove(place))
            .unwrap_or_else(|| Rc::new(TypeIndex::of(types, buys_reserved)));
        known.truncate(LISTS_MAX - 1);
        known.push_front(Rc::clone(&index));
        index
    }
}

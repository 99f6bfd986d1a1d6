//! Lists of instance types, each once for all claims that may become those.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use model::{InstanceTypeName, Resources, Values, requirement::Value};

use super::Draft;
use crate::{
    index::id::{OfferId, TypeId},
    scheduling::launchable::{offer::Types, type_index::TypeIndex},
};

/// What claims share that may become the same types, whatever their requirements.
#[derive(Debug)]
pub(super) struct SharedTypes {
    pub(super) kept: Arc<[InstanceTypeName]>,
    /// The names of `kept` as values of the label.
    pub(super) values: Values,
    pub(super) possible: Arc<[InstanceTypeName]>,
    pub(super) capacity: Resources,
    pub(super) allocatable: Resources,
}

impl SharedTypes {
    /// Those that are kept are the first of those that are possible.
    fn of(index: &TypeIndex, draft: &Draft) -> Self {
        let names = |types: &[TypeId]| -> Arc<[InstanceTypeName]> {
            types.iter().map(|id| index.names[*id].1.clone()).collect()
        };
        let possible = names(&draft.possible);
        let kept = if draft.kept.len() == draft.possible.len() {
            Arc::clone(&possible)
        } else {
            names(&draft.kept)
        };
        let mut bits = Types::empty(index.types.len());
        bits.extend(draft.kept.iter().copied());
        Self {
            kept,
            values: bits.iter().map(|id| Value::clone(&index.names[id].0)).collect(),
            possible,
            capacity: index.capacity_whole.smallest(&draft.kept),
            allocatable: index.allocatable_whole.smallest(&draft.kept),
        }
    }
}

/// Lists so far: by the types that are possible, cheapest first, and how many of them are kept.
#[derive(Debug, Default)]
pub(super) struct SharedTypesTable(BTreeMap<(OfferId, Vec<TypeId>, usize), Rc<SharedTypes>>);

impl SharedTypesTable {
    /// What claims share that are as `draft` says, of the offer with this number and its types.
    pub(super) fn of(
        &mut self,
        (offer, index): (OfferId, &TypeIndex),
        draft: &Draft,
    ) -> Rc<SharedTypes> {
        let key = (offer, draft.possible.clone(), draft.kept.len());
        Rc::clone(self.0.entry(key).or_insert_with(|| Rc::new(SharedTypes::of(index, draft))))
    }
}

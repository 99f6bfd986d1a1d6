//! Lists of instance types, each once for all claims that may become those.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use model::{InstanceTypeName, Resources, Values, requirement::Value};

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
    /// Of the types that are `possible`, of which the first are `kept`.
    fn of(index: &TypeIndex, possible: &[TypeId], kept: &Types) -> Self {
        let names = |types: &[TypeId]| -> Arc<[InstanceTypeName]> {
            types.iter().map(|id| index.names[*id].1.clone()).collect()
        };
        let first = super::kept(possible);
        let possible_names = names(possible);
        let is_all = first.len() == possible.len();
        let mut values = Vec::with_capacity(first.len());
        values.extend(kept.iter().map(|id| Value::clone(&index.names[id].0)));
        Self {
            kept: if is_all { Arc::clone(&possible_names) } else { names(first) },
            values: Values::of_sorted(values),
            possible: possible_names,
            capacity: index.capacity_whole.smallest(kept),
            allocatable: index.allocatable_whole.smallest(kept),
        }
    }
}

/// Lists so far, by the types that are possible, cheapest first.
#[derive(Debug, Default)]
pub(super) struct SharedTypesTable(BTreeMap<(OfferId, Vec<TypeId>), Rc<SharedTypes>>);

impl SharedTypesTable {
    /// What claims share that may become the types that are `possible`, of which the first are `kept`, of
    /// the offer with this number and its types.
    pub(super) fn of(
        &mut self,
        (offer, index): (OfferId, &TypeIndex),
        possible: Vec<TypeId>,
        kept: &Types,
    ) -> Rc<SharedTypes> {
        let known = self.0.entry((offer, possible));
        let of_key = |(_, possible): &(OfferId, Vec<TypeId>)| {
            Rc::new(SharedTypes::of(index, possible, kept))
        };
        Rc::clone(known.or_insert_with_key(of_key))
    }
}

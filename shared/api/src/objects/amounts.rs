//! Maps of quantities in Karpenter's own kinds. Their definitions let names and amounts through that no
//! resource can have.

use std::collections::BTreeMap;

use model::{ResourceName, quantity::Quantity, resources};

use crate::document::field::Field;

/// The amounts in base units of the map at `field`. Of an object that a server stored, a name that no
/// resource has is left out, as nothing has such a resource; an amount below zero is zero; and what is no
/// quantity is left out and makes the object unusable.
pub(crate) fn read(field: &Field<'_>) -> BTreeMap<ResourceName, u64> {
    read_whole(&field.beyond_definition())
}

/// The same where nothing may be left out: the object of what is no quantity is not read.
pub(crate) fn read_whole(field: &Field<'_>) -> BTreeMap<ResourceName, u64> {
    let mut amounts = BTreeMap::new();
    for (key, value) in field.entries().unwrap_or_default() {
        let name = match ResourceName::new(key) {
            Ok(name) => name,
            Err(error) => {
                value.complain_if_written(error.to_string());
                continue;
            }
        };
        let Some(text) = value.quantity() else { continue };
        let quantity = match Quantity::parse_unsigned(text) {
            Err(error) if Quantity::parse(text).is_ok() => {
                value.complain_if_written(error.to_string());
                Some(Quantity::default())
            }
            quantity => value.accept(quantity),
        };
        if let Some(quantity) = quantity {
            amounts.insert(name.clone(), resources::base_units(name.as_str(), quantity));
        }
    }
    amounts
}

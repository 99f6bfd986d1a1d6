//! What was worked out for a class is kept, so that the next look need not do it again.
//!
//! It decides nothing: an answer is only given again when everything that it was made of is equal.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    Bytes, InstanceType, NodeClassName, RegionCatalog,
    ledger::{MeasuredKey, Snapshot},
    node_class::ResolvedNodeClass,
};

use super::{leave_zones, mark_unavailable, short::leave_short, types_of};
use crate::{NodeSettings, measured};

/// Classes whose types are kept at once. Each takes megabytes; one more, and all are forgotten and
/// worked out anew as they are asked for.
const CLASSES_MAX: usize = 16;

/// [`offer`](super::offer) that remembers, for as long as a process lives, what it said last of
/// each class. Types that nothing changed about are the very same from one answer to the next.
///
/// A look at a region is some 1,300 types with some 30 labels each; what is new between two looks
/// is at most which offerings are unavailable.
#[derive(Debug, Default)]
pub struct Offers {
    settings: NodeSettings,
    kept: RefCell<BTreeMap<NodeClassName, Kept>>,
}

#[derive(Debug)]
struct Kept {
    catalog: Arc<RegionCatalog>,
    class: ResolvedNodeClass,
    /// As if nothing became unavailable and nothing were measured.
    estimated: Vec<Arc<InstanceType>>,
    measured: BTreeMap<MeasuredKey, Bytes>,
    /// As if nothing became unavailable.
    types: Vec<Arc<InstanceType>>,
}

/// What of `class` decides about types: how many addresses are free in its subnets does not, and
/// changes with every launch.
fn without_addresses(class: &ResolvedNodeClass) -> ResolvedNodeClass {
    let mut class = class.clone();
    for subnet in &mut class.subnets {
        subnet.available_ip_address_count = 0;
    }
    class
}

impl Offers {
    /// Nothing yet; nodes have `settings`.
    #[must_use]
    pub fn with(settings: NodeSettings) -> Self {
        Self { settings, kept: RefCell::default() }
    }

    /// What [`offer`](super::offer) says about what is unavailable in the `ledger`, with the memory that
    /// was measured in place of the estimate.
    pub fn offer(
        &self,
        catalog: &Arc<RegionCatalog>,
        class: &ResolvedNodeClass,
        ledger: &Snapshot,
        now: Timestamp,
    ) -> Vec<Arc<InstanceType>> {
        let mut kept = self.kept.borrow_mut();
        let (name, same) = (&class.class.name, without_addresses(class));
        // A catalog that is another object counts as another: comparing it is the long work.
        let is_kept = |kept: &Kept| Arc::ptr_eq(&kept.catalog, catalog) && kept.class == same;
        if !kept.get(name).is_some_and(is_kept) {
            if !kept.contains_key(name) && kept.len() >= CLASSES_MAX {
                kept.clear();
            }
            let (catalog, estimated) =
                (Arc::clone(catalog), types_of(catalog, class, &self.settings));
            let (measured, types) = (BTreeMap::new(), estimated.clone());
            kept.insert(name.clone(), Kept { catalog, class: same, estimated, measured, types });
        }
        let Some(kept) = kept.get_mut(name) else { return Vec::new() };
        if kept.measured != ledger.measured {
            kept.types.clone_from(&kept.estimated);
            measured::apply(&mut kept.types, &class.images, &ledger.measured);
            kept.measured.clone_from(&ledger.measured);
        }
        let mut types = kept.types.clone();
        mark_unavailable(&mut types, &ledger.unavailable_offerings, now);
        leave_short(&mut types, class, &ledger.shortages, now);
        leave_zones(&mut types, &ledger.head, now);
        types
    }
}

#[cfg(test)]
mod tests;

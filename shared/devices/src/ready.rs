//! Whether drivers have published the devices of a node.

use std::collections::BTreeMap;

use model::{
    NodeClaim, NodeName,
    dynamic_resources::{ResourceSlice, SliceAccess},
    labels,
};

/// The drivers whose devices the pods of `claim` claim, by name.
pub fn requested_drivers(claim: &NodeClaim) -> impl Iterator<Item = &str> {
    let drivers = claim.annotations.get(labels::REQUESTED_DRA_DRIVERS);
    let drivers = drivers.into_iter().flat_map(|drivers| drivers.split(','));
    drivers.map(str::trim).filter(|driver| !driver.is_empty())
}

/// Whether `driver` has published a complete pool of devices of `node`.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/initialization.go`.
pub fn has_published(slices: &[ResourceSlice], node: &NodeName, driver: &str) -> bool {
    let is_of_node = |slice: &&ResourceSlice| {
        slice.owner.as_ref() == Some(node)
            || matches!(&slice.access, SliceAccess::Node(name) if name == node)
    };
    let of_driver = slices.iter().filter(|slice| &*slice.driver == driver).filter(is_of_node);
    let mut pools: BTreeMap<&str, (i64, i64, i64)> = BTreeMap::new();
    for slice in of_driver {
        let pool = &slice.pool;
        let first = (pool.generation, 0, pool.slice_count);
        let (generation, count, wanted) = pools.entry(&*pool.name).or_insert(first);
        if *generation < pool.generation {
            (*generation, *count, *wanted) = first;
        }
        *count += i64::from(*generation == pool.generation);
    }
    pools.values().any(|(_, count, wanted)| 0 < *wanted && count == wanted)
}

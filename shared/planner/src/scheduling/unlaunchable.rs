//! NodePools whose requirements leave no instance type, whether or not pods wait for them.

use std::collections::BTreeMap;

use model::{NodePoolName, facts::ClassOffer, facts::Facts};

use super::{facts::overlay, launchable::known::KnownTypes, problem::Problem};

/// Why the NodePools of `facts` can launch nothing that their EC2NodeClass offers, by the name of the NodePool.
///
/// Static NodePools count. NodePools that are being deleted or have problems, and those whose class is missing or not
/// ready, are left out: that is said elsewhere. What is `known` about types is not worked out again.
#[must_use]
pub fn pools_without_types(facts: &Facts, known: &KnownTypes) -> BTreeMap<NodePoolName, String> {
    let mut problem = Problem::without_facts(facts);
    let overlays = overlay::overlays(facts);
    for pool in &facts.node_pools {
        let class = facts.classes.as_ref().and_then(|offers| offers.get(&pool.template.node_class));
        let (Some(ClassOffer::Ready(types)), false) = (class, pool.is_deleting) else { continue };
        if pool.problems.is_empty() {
            let types = overlays.pools.get(&pool.name).map_or(types, |overlaid| &overlaid.types);
            let offer = problem.offer(types, known);
            problem.open_pool(pool, offer, &[], &overlays);
        }
    }
    problem.closed.into_iter().map(|(pool, why)| (pool.clone(), why)).collect()
}

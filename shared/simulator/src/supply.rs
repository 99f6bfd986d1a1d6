//! What could be bought for the pods of a world, and what was paid, seen from outside: it counts as no call.

use std::sync::Arc;

use model::{
    InstanceId, RegionCatalog, facts::DaemonSet, node_class::ListedNodeClass, node_pool::NodePool,
};

use crate::Sim;

/// Everything that says which nodes there could be.
#[derive(Clone, Debug)]
pub struct Supply {
    /// What the region sells at present.
    pub catalog: Arc<RegionCatalog>,
    /// NodePools, by name.
    pub node_pools: Vec<NodePool>,
    /// EC2NodeClasses with their status, by name.
    pub node_classes: Vec<ListedNodeClass>,
    /// DaemonSets, by namespace and name.
    pub daemon_sets: Vec<DaemonSet>,
}

impl Sim {
    /// What each instance that was ever launched cost until now, in nano-dollars. The sum is
    /// [`Summary::spent_nanos`](crate::Summary::spent_nanos).
    pub fn spent(&self) -> Vec<(InstanceId, u128)> {
        self.with(|world| world.account.spent(world.now))
    }

    /// What could be bought now.
    pub fn supply(&self) -> Supply {
        self.with(|world| {
            let cluster = &world.cluster;
            let classes = cluster.node_classes.values().map(|class| cluster.listed(class));
            Supply {
                catalog: Arc::clone(&world.catalog),
                node_pools: cluster.node_pools.values().cloned().collect(),
                node_classes: classes.collect(),
                daemon_sets: cluster.daemon_sets.values().cloned().collect(),
            }
        })
    }
}

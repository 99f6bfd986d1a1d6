//! What is told about NodePools: their drift hash, and their subresource `status`.

use api::karpenter::node_pool_patch::status_patch;
use model::{
    node_pool::{NodePoolStatus, ObservedNodePool},
    static_hash::NODE_POOL,
};
use ports::{Listing, NodePools, PortError};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, NODE_POOLS_PATH, or_not_installed},
    status::StatusUpdate,
};

const SEEN: Kind<ObservedNodePool> = Kind {
    operation: "list NodePools",
    path: NODE_POOLS_PATH,
    read: api::lists::observed_node_pool_list,
    at_most: AtMost::Unlimited,
};

impl NodePools for KubeCluster {
    async fn observed_pools(&self) -> Result<Listing<ObservedNodePool>, PortError> {
        let listing = self.list(&SEEN, None).await;
        or_not_installed(listing, "NodePool", "karpenter.sh/v1")
    }

    async fn update_pool_status(
        &self,
        seen: &ObservedNodePool,
        status: &NodePoolStatus,
    ) -> Result<(), PortError> {
        let update = StatusUpdate {
            operation: "tell of a NodePool",
            path: NODE_POOLS_PATH,
            name: seen.pool.name.as_str(),
            uid: &seen.uid,
            generation: seen.generation,
        };
        let hash = seen.pool.annotations.get(NODE_POOL.key);
        let annotations = hash.into_iter().flat_map(|hash| NODE_POOL.annotations(hash));
        let annotations = annotations.map(|(key, value)| (key, Some(value)));
        self.update_status(update, annotations, |stored| status_patch(stored, seen, status)).await
    }
}

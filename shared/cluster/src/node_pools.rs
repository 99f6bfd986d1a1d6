//! What is told about NodePools: their drift hash, and their subresource `status`.

use api::karpenter::node_pool_patch::status_patch;
use model::{
    node_pool::{NodePoolStatus, SeenNodePool},
    static_hash::NODE_POOL,
};
use ports::{Listing, NodePools, PortError};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, NODE_POOLS_PATH, or_not_installed},
    tell::Told,
};

const SEEN: Kind<SeenNodePool> = Kind {
    operation: "list NodePools",
    path: NODE_POOLS_PATH,
    read: api::lists::seen_node_pool_list,
    at_most: AtMost::Unlimited,
};

impl NodePools for KubeCluster {
    async fn seen_pools(&self) -> Result<Listing<SeenNodePool>, PortError> {
        let listing = self.list(&SEEN, None).await;
        or_not_installed(listing, "NodePool", "karpenter.sh/v1")
    }

    async fn tell_pool(
        &self,
        seen: &SeenNodePool,
        status: &NodePoolStatus,
    ) -> Result<(), PortError> {
        let told = Told {
            operation: "tell of a NodePool",
            path: NODE_POOLS_PATH,
            name: seen.pool.name.as_str(),
            uid: &seen.uid,
            generation: seen.generation,
        };
        let hash = seen.pool.annotations.get(NODE_POOL.key);
        let annotations = hash.into_iter().flat_map(|hash| NODE_POOL.annotations(hash));
        let annotations = annotations.map(|(key, value)| (key, Some(value)));
        self.tell_of(told, annotations, |stored| status_patch(stored, seen, status)).await
    }
}

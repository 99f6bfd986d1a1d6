//! What Journeyman writes on NodePools: their drift hash, and their subresource `status`.

use api::karpenter::node_pool_patch::{status_patch, wake_patch};
use jiff::Timestamp;
use model::{
    api_version,
    node_pool::{NodePoolStatus, ObservedNodePool},
    static_hash::NODE_POOL,
    wake::{ProbeAnswer, WakeFinding},
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
        let listing = self.list(&SEEN).await;
        or_not_installed(listing, "NodePool", api_version::KARPENTER_V1)
    }

    async fn update_pool_status(
        &self,
        observed: &ObservedNodePool,
        status: &NodePoolStatus,
    ) -> Result<(), PortError> {
        let hash = observed.pool.annotations.get(NODE_POOL.key);
        let annotations = hash
            .into_iter()
            .flat_map(|hash| NODE_POOL.annotations(hash))
            .map(|(key, value)| (key, Some(value)));
        let status = |stored: &[u8]| status_patch(stored, observed, status);
        self.update_status(update(observed), annotations, status).await
    }

    async fn update_wake_condition(
        &self,
        observed: &ObservedNodePool,
        finding: &WakeFinding,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let status = |stored: &[u8]| wake_patch(stored, observed, finding, now);
        self.update_status(update(observed), [], status).await
    }

    async fn probe_wake(&self) -> Result<ProbeAnswer, PortError> {
        self.probe().await
    }
}

fn update(observed: &ObservedNodePool) -> StatusUpdate<'_> {
    StatusUpdate {
        operation: "tell of a NodePool",
        path: NODE_POOLS_PATH,
        name: observed.pool.name.as_str(),
        uid: &observed.uid,
        generation: observed.generation,
    }
}

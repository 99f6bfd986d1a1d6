//! What Journeyman writes on EC2NodeClasses: annotations, the drift hash among them, and their subresource
//! `status`. The annotations come first: a status that says of a generation that it was looked at has them.

use api::karpenter::node_class_patch::status_patch;
use model::{
    api_version,
    node_class::{NodeClassStatus, ObservedNodeClass},
};
use ports::{Listing, NodeClasses, PortError};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, NODE_CLASSES_PATH, or_not_installed},
    status::StatusUpdate,
};

const SEEN: Kind<ObservedNodeClass> = Kind {
    operation: "list EC2NodeClasses",
    path: NODE_CLASSES_PATH,
    read: api::lists::observed_node_class_list,
    at_most: AtMost::Unlimited,
};

impl NodeClasses for KubeCluster {
    async fn observed_classes(&self) -> Result<Listing<ObservedNodeClass>, PortError> {
        let listing = self.list(&SEEN).await;
        or_not_installed(listing, "EC2NodeClass", api_version::AWS_V1)
    }

    async fn update_class_status(
        &self,
        observed: &ObservedNodeClass,
        status: &NodeClassStatus,
    ) -> Result<(), PortError> {
        let update = StatusUpdate {
            operation: "tell of an EC2NodeClass",
            path: NODE_CLASSES_PATH,
            name: observed.class.name.as_str(),
            uid: &observed.uid,
            generation: observed.generation,
        };
        self.update_status(update, status.annotations(), |stored| {
            status_patch(stored, observed, status)
        })
        .await
    }
}

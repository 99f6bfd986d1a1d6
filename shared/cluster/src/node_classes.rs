//! What is told about EC2NodeClasses: their drift hash, and their subresource `status`.

use api::karpenter::node_class_patch::status_patch;
use model::{
    node_class::{NodeClassStatus, SeenNodeClass},
    static_hash::NODE_CLASS,
};
use ports::{Listing, NodeClasses, PortError};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, NODE_CLASSES_PATH, or_not_installed},
    tell::Told,
};

const SEEN: Kind<SeenNodeClass> = Kind {
    operation: "list EC2NodeClasses",
    path: NODE_CLASSES_PATH,
    read: api::lists::seen_node_class_list,
    at_most: AtMost::Unlimited,
};

impl NodeClasses for KubeCluster {
    async fn seen(&self) -> Result<Listing<SeenNodeClass>, PortError> {
        let listing = self.list(&SEEN, None).await;
        or_not_installed(listing, "EC2NodeClass", "karpenter.k8s.aws/v1")
    }

    async fn tell(&self, seen: &SeenNodeClass, status: &NodeClassStatus) -> Result<(), PortError> {
        let told = Told {
            operation: "tell of an EC2NodeClass",
            path: NODE_CLASSES_PATH,
            name: seen.class.name.as_str(),
            uid: &seen.uid,
            generation: seen.generation,
        };
        let hash = status.hash.map(|hash| NODE_CLASS.annotations(&hash.to_string()));
        let annotations = hash.into_iter().flatten();
        self.tell_of(told, annotations, |stored| status_patch(stored, seen, status)).await
    }
}

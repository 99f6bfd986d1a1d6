//! What is told about EC2NodeClasses: their subresource `status`.

use api::karpenter::{node_class_patch::status_patch, status_patch::StatusPatch};
use kube::{
    api::{GetParams, Patch, PatchParams},
    core::Request,
};
use model::node_class::{NodeClassStatus, SeenNodeClass};
use ports::{Fault, Listing, NodeClasses, PortError};

use crate::{
    KubeCluster,
    call::{CallError, Effect},
    list::{AtMost, Kind, NODE_CLASSES_PATH, or_not_installed},
};

const TELL: &str = "tell of an EC2NodeClass";
/// Whose writes these are, in `metadata.managedFields`.
const FIELD_MANAGER: &str = "journeyman";

const SEEN: Kind<SeenNodeClass> = Kind {
    operation: "list EC2NodeClasses",
    path: NODE_CLASSES_PATH,
    read: api::kubernetes::seen_node_class_list,
    at_most: AtMost::Unlimited,
};

impl NodeClasses for KubeCluster {
    async fn seen(&self) -> Result<Listing<SeenNodeClass>, PortError> {
        let listing = self.list(&SEEN, None).await;
        or_not_installed(listing, "EC2NodeClass", "karpenter.k8s.aws/v1")
    }

    async fn tell(&self, seen: &SeenNodeClass, status: &NodeClassStatus) -> Result<(), PortError> {
        let name = seen.class.name.as_str();
        let request = Request::new(NODE_CLASSES_PATH)
            .get(name, &GetParams::default())
            .map_err(kube::Error::BuildRequest);
        let stored = match request {
            Ok(request) => self.call(request).await,
            Err(error) => Err(error.into()),
        };
        let stored = stored.map_err(|error| error.into_port_error(TELL, Effect::Reads))?;
        let patch = status_patch(stored.as_bytes(), seen, status).map_err(|error| {
            CallError::Unreadable(error.into()).into_port_error(TELL, Effect::Reads)
        })?;
        let body = match patch {
            StatusPatch::Nothing => return Ok(()),
            StatusPatch::Moved => return Err(PortError::new(TELL, Fault::Conflict)),
            StatusPatch::Merge(body) => body,
        };
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = Request::new(NODE_CLASSES_PATH)
            .patch_subresource("status", name, &params, &Patch::Merge(body))
            .map_err(kube::Error::BuildRequest);
        match request {
            Ok(request) => self.call(request).await,
            Err(error) => Err(error.into()),
        }
        .map(drop)
        .map_err(|error| error.into_port_error(TELL, Effect::Writes))
    }
}

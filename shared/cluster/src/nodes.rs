//! What is done to one node and to the pods on it.

use api::lists;
use kube::{
    api::{DeleteParams, GetParams, Patch, Preconditions},
    core::Request,
};
use model::{
    NodeName, Pod,
    dynamic_resources::ResourceSlice,
    labels,
    node::{Eviction, EvictionRequest, Node, NodePatch},
    pod::DeletionCost,
};
use ports::{Cluster as _, Listing, Nodes, PodSelection, PortError};
use serde::Deserialize;
use serde_json::json;

use crate::{
    KubeCluster,
    call::{CallError, Effect, patch_params},
    devices,
    eviction::{self, Refusal},
    list::NODES,
    node_patch::{NodeDocument, merge_patch},
};

const NODES_PATH: &str = "/api/v1/nodes";

const GET_NODE: &str = "get a node";
const PATCH_NODE: &str = "patch a node";
const EVICT_POD: &str = "evict a pod";
const PATCH_POD: &str = "patch a pod";
const DELETE_NODE: &str = "delete a node";

/// What is looked at of a pod that may be a namesake.
#[derive(Deserialize)]
struct PartialPod {
    metadata: PartialMetadata,
}

#[derive(Deserialize)]
struct PartialMetadata {
    uid: String,
}

impl Nodes for KubeCluster {
    async fn node(&self, name: &NodeName) -> Result<Option<Node>, PortError> {
        let request = Request::new(NODES_PATH).get(name.as_str(), &GetParams::default());
        let read = match self.call(request).await {
            Ok(body) => {
                lists::node(body.as_bytes()).map_err(|error| CallError::Unreadable(error.into()))
            }
            Err(error) if error.code() == Some(404) => return Ok(None),
            Err(error) => Err(error),
        };
        read.map(Some).map_err(|error| error.into_port_error(GET_NODE, Effect::Reads))
    }

    /// The API server selects, so that only what is listed is sent.
    async fn uninitialized(&self) -> Result<Listing<Node>, PortError> {
        let selector = format!("{}!=true", labels::INITIALIZED);
        self.list_labeled(&NODES, &selector).await
    }

    async fn resource_slices(&self) -> Result<Listing<ResourceSlice>, PortError> {
        devices::slices(self).await
    }

    async fn pods_on(&self, node: &NodeName) -> Result<Listing<Pod>, PortError> {
        self.pods(&PodSelection::OnNode(node.clone())).await
    }

    async fn patch(&self, node: &NodeName, patch: &NodePatch) -> Result<(), PortError> {
        let document = self
            .node_document(node)
            .await
            .map_err(|error| error.into_port_error(PATCH_NODE, Effect::Reads))?;
        let Some(body) = merge_patch(&document, patch) else { return Ok(()) };
        let patch = Patch::Merge(body);
        let request = Request::new(NODES_PATH).patch(node.as_str(), &patch_params(), &patch);
        let answer = self.call(request).await;
        answer.map(drop).map_err(|error| error.into_port_error(PATCH_NODE, Effect::Writes))
    }

    async fn evict(&self, eviction: &EvictionRequest) -> Result<Eviction, PortError> {
        let request = eviction::request(eviction)
            .map_err(|error| error.into_port_error(EVICT_POD, Effect::Reads))?;
        let Err(error) = self.call(Ok(request)).await else { return Ok(Eviction::Accepted) };
        let refusal = match &error {
            CallError::Refused(status) => eviction::refusal(status),
            CallError::Token(_) | CallError::Failed(_) | CallError::Unreadable(_) => {
                Refusal::Failure
            }
        };
        match refusal {
            Refusal::Answer(answer) => Ok(answer),
            Refusal::Look if !self.is_there(eviction).await? => Ok(Eviction::Gone),
            Refusal::Look | Refusal::Failure => {
                Err(error.into_port_error(EVICT_POD, Effect::Writes))
            }
        }
    }

    async fn set_deletion_cost(&self, cost: &DeletionCost) -> Result<(), PortError> {
        let text = cost.cost.map(|cost| cost.to_string());
        let body = json!({ "metadata": { "annotations": { labels::POD_DELETION_COST: text } } });
        let path = format!("/api/v1/namespaces/{}/pods", cost.pod.namespace);
        let request =
            Request::new(path).patch(cost.pod.name.as_str(), &patch_params(), &Patch::Merge(body));
        let answer = self.call(request).await;
        answer.map(drop).map_err(|error| error.into_port_error(PATCH_POD, Effect::Writes))
    }

    async fn delete(&self, node: &Node) -> Result<(), PortError> {
        let name = node.name.as_str();
        let stored = match self.node_document(&node.name).await {
            Ok(stored) => stored,
            Err(error) if error.code() == Some(404) => return Ok(()),
            Err(error) => return Err(error.into_port_error(DELETE_NODE, Effect::Reads)),
        };
        let Some(uid) = stored.uid_if_of(node.provider_id.as_ref()) else { return Ok(()) };
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.call(Request::new(NODES_PATH).delete(name, &params)).await {
            Ok(_) => Ok(()),
            // Gone, or another one has its name by now.
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(()),
            Err(error) => Err(error.into_port_error(DELETE_NODE, Effect::Writes)),
        }
    }
}

impl KubeCluster {
    async fn node_document(&self, node: &NodeName) -> Result<NodeDocument, CallError> {
        let request = Request::new(NODES_PATH).get(node.as_str(), &GetParams::default());
        let body = self.call(request).await?;
        serde_json::from_str(&body).map_err(|error| CallError::Unreadable(error.into()))
    }

    /// Whether the very pod of `eviction` is still there.
    async fn is_there(&self, eviction: &EvictionRequest) -> Result<bool, PortError> {
        match self.pod_uid(eviction).await {
            Ok(uid) => Ok(uid == eviction.uid.as_str()),
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) => Err(error.into_port_error(EVICT_POD, Effect::Reads)),
        }
    }

    async fn pod_uid(&self, eviction: &EvictionRequest) -> Result<String, CallError> {
        // The parent's path and a name: `eviction::pod_path` has checked it.
        let path = eviction::pod_path(&eviction.pod)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or((&path, ""));
        let request = Request::new(parent).get_metadata(name, &GetParams::default());
        let body = self.call(request).await?;
        let pod: PartialPod =
            serde_json::from_str(&body).map_err(|error| CallError::Unreadable(error.into()))?;
        Ok(pod.metadata.uid)
    }
}

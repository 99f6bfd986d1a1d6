//! An eviction: the request, and what the API server's answers to it mean. Pure.

use http::{Request, header::CONTENT_TYPE};
use kube::core::Status;
use model::{
    PodKey,
    node::{Eviction, EvictionRequest},
};
use serde_json::json;

use crate::call::{CallError, has_cause};

/// What a refused eviction means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is an answer.
    Answer(Eviction),
    /// There may be a namesake, or another writer was first: one look at the pod shows which.
    Look,
    /// It is a failure like any other.
    Failure,
}

/// Where the API server has a pod, unless its name would lead elsewhere.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names>
pub(crate) fn pod_path(pod: &PodKey) -> Result<String, CallError> {
    let name = pod.name.as_str();
    if matches!(name, "." | "..") || name.contains(['/', '%', '?', '#']) {
        let why = format!("pod {pod}: its name cannot be part of a path");
        return Err(CallError::Unreadable(why.into()));
    }
    Ok(format!("/api/v1/namespaces/{}/pods/{name}", pod.namespace))
}

/// The request for `eviction`. Its uid is a precondition: a namesake stays.
///
/// With a grace period of ours it is no eviction but a deletion: the node ends whatever a
/// PodDisruptionBudget says, and what is left of its time is the pod's.
///
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>
/// Karpenter: `pkg/controllers/node/termination/terminator/eviction.go`.
pub(crate) fn request(eviction: &EvictionRequest) -> Result<Request<Vec<u8>>, CallError> {
    let pod = &eviction.pod;
    let path = pod_path(pod)?;
    let preconditions = json!({ "uid": eviction.uid.as_str() });
    let (request, body) = match eviction.grace_seconds {
        None => (
            Request::post(format!("{path}/eviction")),
            json!({
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": { "name": pod.name.as_str(), "namespace": pod.namespace.as_str() },
                "deleteOptions": { "preconditions": preconditions },
            }),
        ),
        Some(seconds) => (
            Request::delete(path),
            json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": preconditions,
                // Never 0: that erases the pod while its processes may live.
                "gracePeriodSeconds": seconds.max(1),
            }),
        ),
    };
    request
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(|error| CallError::Failed(kube::Error::HttpError(error)))
}

/// What `status` means for an eviction.
pub(crate) fn refusal(status: &Status) -> Refusal {
    match status.code {
        404 => Refusal::Answer(Eviction::Gone),
        409 => Refusal::Look,
        // The other 429 is about the load of the API server.
        429 if has_cause(status, "DisruptionBudget") => Refusal::Answer(Eviction::Blocked),
        // Two budgets for one pod block it for good. The API server says so in words only.
        500 if status.message.contains("more than one PodDisruptionBudget") => {
            Refusal::Answer(Eviction::Blocked)
        }
        _ => Refusal::Failure,
    }
}

//! Events of Kubernetes, published as Karpenter's recorder does.
//!
//! An event is named after what it says and the stretch of time in which that is said once: a second one is
//! there already. <https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/>

use jiff::Timestamp;
use kube::{
    api::{GetParams, PostParams},
    core::Request,
};
use model::{
    api_version,
    event::{COMPONENT, EventObject, ObjectEvent},
    labels::MANAGER,
    ledger::digest,
};
use ports::{Events, PortError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    KubeCluster,
    call::{CallError, Effect},
};

const PUBLISH: &str = "publish an event";
/// Where events are of objects that have no namespace.
///
/// Kubernetes: `k8s.io/client-go/tools/record`, `makeEvent`.
const DEFAULT_NAMESPACE: &str = "default";
/// Of the name of an object, as much as leaves room for the rest of an event's name.
const NAME_CHARS_MAX: usize = 230;

#[derive(Deserialize)]
struct PartialObject {
    metadata: PartialMetadata,
}

#[derive(Deserialize)]
struct PartialMetadata {
    uid: String,
}

/// How an object is referred to.
struct Referred<'a> {
    kind: &'static str,
    api_version: &'static str,
    /// Where objects of its kind are, if it has to be asked who it is.
    path: String,
    name: &'a str,
}

impl<'a> Referred<'a> {
    fn of(object: &'a EventObject) -> Self {
        let (kind, api_version, path, name) = match object {
            EventObject::Node(name) => ("Node", "v1", "/api/v1/nodes".to_owned(), name.as_str()),
            EventObject::NodeClaim(name) => {
                let path = "/apis/karpenter.sh/v1/nodeclaims".to_owned();
                ("NodeClaim", api_version::KARPENTER_V1, path, name.as_str())
            }
            EventObject::NodePool(name) => {
                let path = "/apis/karpenter.sh/v1/nodepools".to_owned();
                ("NodePool", api_version::KARPENTER_V1, path, name.as_str())
            }
            EventObject::Pod(key, _) => {
                let path = format!("/api/v1/namespaces/{}/pods", key.namespace);
                ("Pod", "v1", path, key.name.as_str())
            }
        };
        Self { kind, api_version, path, name }
    }
}

impl Events for KubeCluster {
    async fn publish(&self, event: &ObjectEvent, now: Timestamp) -> Result<(), PortError> {
        let referred = Referred::of(&event.about);
        let (namespace, known) = match &event.about {
            EventObject::Pod(key, uid) => (key.namespace.as_str(), uid.as_ref()),
            EventObject::Node(_) | EventObject::NodeClaim(_) | EventObject::NodePool(_) => {
                (DEFAULT_NAMESPACE, None)
            }
        };
        let uid = if let Some(uid) = known {
            uid.to_string()
        } else {
            let asked = self.uid_of_referred(&referred).await;
            asked.map_err(|error| error.into_port_error(PUBLISH, Effect::Reads))?
        };
        let body = document(event, &referred, (namespace, &uid), now);
        let body = serde_json::to_vec(&body)
            .map_err(|error| PortError::because(PUBLISH, ports::Fault::Permanent, error))?;
        let path = format!("/api/v1/namespaces/{namespace}/events");
        let params =
            PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let request = Request::new(path).create(&params, body);
        match self.call(request).await {
            Ok(_) => Ok(()),
            // It was published before, by this process or by another.
            Err(error) if error.code() == Some(409) => Ok(()),
            Err(error) => Err(error.into_port_error(PUBLISH, Effect::Writes)),
        }
    }
}

impl KubeCluster {
    /// Who the object is: `kubectl describe` shows the events of the very object.
    async fn uid_of_referred(&self, referred: &Referred<'_>) -> Result<String, CallError> {
        let request =
            Request::new(referred.path.as_str()).get_metadata(referred.name, &GetParams::default());
        let body = self.call(request).await?;
        let object: PartialObject =
            serde_json::from_str(&body).map_err(|error| CallError::Unreadable(error.into()))?;
        Ok(object.metadata.uid)
    }
}

/// The event about the object with this namespace and uid.
fn document(
    event: &ObjectEvent,
    referred: &Referred<'_>,
    (namespace, uid): (&str, &str),
    now: Timestamp,
) -> Value {
    let said_for = event.reason.said_for().as_secs().max(1);
    let stretch = now.as_second().div_euclid(said_for);
    let id = digest(format!("{uid} {} {stretch}", event.reason).as_bytes());
    let name: String = referred.name.chars().take(NAME_CHARS_MAX).collect();
    let name = format!("{}.{id:016x}", name.trim_end_matches(['.', '-']));
    let seconds = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    let mut about = json!({
        "kind": referred.kind,
        "apiVersion": referred.api_version,
        "name": referred.name,
        "uid": uid,
    });
    if let (EventObject::Pod(..), Value::Object(about)) = (&event.about, &mut about) {
        about.insert("namespace".to_owned(), namespace.into());
    }
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace },
        "involvedObject": about,
        "reason": event.reason.as_str(),
        "message": event.message,
        "type": if event.reason.is_warning() { "Warning" } else { "Normal" },
        "source": { "component": COMPONENT },
        "reportingComponent": COMPONENT,
        "reportingInstance": MANAGER,
        "firstTimestamp": seconds,
        "lastTimestamp": seconds,
        "count": 1,
    })
}

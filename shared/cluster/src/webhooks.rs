//! The webhooks by which the API server calls `wake`. `journeyman install` makes them; here only their URLs change.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/>

use kube::{
    api::{GetParams, Patch},
    core::Request,
};
use model::wake::{WEBHOOKS, WakeWebhooks};
use ports::{PortError, Webhooks};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    KubeCluster,
    call::{CallError, Effect, patch_params},
};

const PATH: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

const READ: &str = "read the webhooks of wake";
const SET: &str = "set the URLs of wake";

#[derive(Deserialize)]
struct Configuration {
    metadata: Metadata,
    #[serde(default)]
    webhooks: Vec<Webhook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    name: String,
    client_config: ClientConfig,
}

#[derive(Deserialize)]
struct ClientConfig {
    url: Option<String>,
}

impl From<Configuration> for WakeWebhooks {
    fn from(Configuration { metadata, webhooks }: Configuration) -> Self {
        let urls = webhooks
            .into_iter()
            .filter_map(|Webhook { name, client_config }| Some((name, client_config.url?)));
        Self { uid: metadata.uid, version: metadata.resource_version, urls: urls.collect() }
    }
}

impl Webhooks for KubeCluster {
    async fn of_wake(&self) -> Result<Option<WakeWebhooks>, PortError> {
        let failed = |error: CallError| error.into_port_error(READ, Effect::Reads);
        let request = Request::new(PATH).get(WEBHOOKS, &GetParams::default());
        let body = match self.call(request).await {
            Ok(body) => body,
            Err(error) if error.code() == Some(404) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let read: Result<Configuration, _> = serde_json::from_str(&body);
        read.map(|read| Some(read.into()))
            .map_err(|error| failed(CallError::Unreadable(error.into())))
    }

    /// Webhooks are merged by their names.
    async fn set_urls(&self, changed: &WakeWebhooks) -> Result<(), PortError> {
        let webhooks: Vec<Value> = changed
            .urls
            .iter()
            .map(|(name, url)| json!({ "name": name, "clientConfig": { "url": url } }))
            .collect();
        let metadata = json!({ "uid": changed.uid, "resourceVersion": changed.version });
        let patch = Patch::Strategic(json!({ "metadata": metadata, "webhooks": webhooks }));
        let request = Request::new(PATH).patch(WEBHOOKS, &patch_params(), &patch);
        let answer = self.call(request).await;
        answer.map(drop).map_err(|error| error.into_port_error(SET, Effect::Writes))
    }
}

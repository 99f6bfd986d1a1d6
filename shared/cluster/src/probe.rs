//! Whether the API server calls `wake`: an event of a scheduler, created by a dry run.
//!
//! `wake` answers a dry run with a warning, which the API server hands to the client in a header.
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response>

use http::{HeaderMap, header::WARNING};
use kube::{api::PostParams, core::Request};
use model::{
    event::EventReason,
    labels::MANAGER,
    wake::{PROBE_REPORTER, PROBE_WARNING, ProbeAnswer},
};
use ports::PortError;
use serde_json::{Value, json};

use crate::{KubeCluster, call::Effect};

const PROBE: &str = "probe wake";
/// Where the event would be.
const PATH: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

impl KubeCluster {
    /// Tries to create the event. It changes nothing, so that what is lost on the way may be tried again.
    pub(crate) async fn probe(&self) -> Result<ProbeAnswer, PortError> {
        let params = PostParams { dry_run: true, field_manager: Some(MANAGER.to_owned()) };
        let request = Request::new(PATH).create(&params, event().to_string().into_bytes());
        match self.headers(request).await {
            Ok(headers) if has_warning(&headers) => Ok(ProbeAnswer::Answered),
            Ok(_) => Ok(ProbeAnswer::Silent),
            Err(error) => Err(error.into_port_error(PROBE, Effect::Reads)),
        }
    }
}

/// An event that the rule `unschedulable-pods` of [`model::wake::WAKE_RULES`] is about. Its name and its time are the
/// same in each probe, since it is never stored.
fn event() -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": PROBE_REPORTER, "namespace": "default" },
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "action": "Scheduling",
        "reason": EventReason::FailedScheduling.as_str(),
        "regarding": { "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": PROBE_REPORTER },
        "note": "a dry run by which Journeyman sees whether the API server calls wake",
        "type": "Warning",
        "reportingController": PROBE_REPORTER,
        "reportingInstance": MANAGER,
    })
}

/// Whether a header `Warning: 299 - "…"` is the one of `wake`. Other webhooks and the API server warn, too, also in the
/// same header.
fn has_warning(headers: &HeaderMap) -> bool {
    let wanted = format!("\"{PROBE_WARNING}\"");
    let texts = headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok());
    texts.into_iter().any(|text| text.contains(&wanted))
}

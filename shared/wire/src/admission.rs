//! Calls of the URL of `wake`: AdmissionReviews of the API server in, answers out.
//!
//! They come by a function URL (format 2.0 of payloads), or by a REST API of API Gateway or a load balancer (format 1.0).
//! The URL needs no signature, because an API server cannot sign. So everything in a call is untrusted: without the
//! secret path nothing of it is read, and of an AdmissionReview only uid, kind, operation and `dryRun`.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads>
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format>
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-alb.html>
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response>

use std::hint::black_box;

use model::wake::{AdmissionOperation, AdmissionRequest, PROBE_WARNING};
use serde::Deserialize;
use serde_json::json;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// Bytes of a `uid` at most; the API server sends 36.
const UID_BYTES_MAX: usize = 128;

/// What a call of the URL asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlCall {
    /// An AdmissionReview.
    Review(AdmissionRequest),
    /// The path is not taken, or the call is no POST.
    NotFound,
    /// What is wrong with the body.
    Malformed(String),
}

/// Of both formats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    /// `rawPath` in format 2.0.
    #[serde(alias = "rawPath")]
    path: String,
    /// In format 1.0.
    http_method: Option<String>,
    request_context: Option<Context>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Deserialize)]
struct Context {
    /// In format 2.0.
    http: Option<Http>,
}

#[derive(Deserialize)]
struct Http {
    method: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Request,
}

/// Its objects are skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    kind: Kind,
    operation: String,
    #[serde(default)]
    dry_run: Option<bool>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    kind: String,
}

/// Reads the event of a call. `paths`: those of which the path has to be one, without the leading `/`.
pub fn url_call(event: &str, paths: &[impl AsRef<str>]) -> UrlCall {
    let event: Event = match serde_json::from_str(event) {
        Ok(event) => event,
        Err(error) => return UrlCall::Malformed(format!("call of the URL: {error}")),
    };
    let http = event.request_context.and_then(|context| context.http);
    let method = http.map(|http| http.method).or(event.http_method);
    let path = event.path.strip_prefix('/').unwrap_or_default();
    // Each is compared, whichever fits.
    let fitting = paths.iter().filter(|taken| opens(taken.as_ref(), path)).count();
    if fitting == 0 || method.as_deref() != Some("POST") {
        return UrlCall::NotFound;
    }
    if event.is_base64_encoded {
        return UrlCall::Malformed(
            "body: it is not JSON: send content-type application/json".to_owned(),
        );
    }
    review(&event.body.unwrap_or_default()).map_or_else(UrlCall::Malformed, UrlCall::Review)
}

/// Whether `path` is `taken`. Takes as long for every path of one length. The empty path opens nothing.
fn opens(taken: &str, path: &str) -> bool {
    let (taken, path) = (taken.as_bytes(), path.as_bytes());
    let differences = taken
        .iter()
        .zip(path)
        .fold(0, |differences, (taken, path)| black_box(differences | (taken ^ path)));
    !taken.is_empty() && taken.len() == path.len() && differences == 0
}

fn review(body: &str) -> Result<AdmissionRequest, String> {
    let review: Review =
        serde_json::from_str(body).map_err(|error| format!("AdmissionReview: {error}"))?;
    let Review { api_version, kind, request } = review;
    if api_version != API_VERSION || kind != KIND {
        return Err(format!(
            "AdmissionReview: only kind {KIND} of apiVersion {API_VERSION} is supported"
        ));
    }
    if request.uid.is_empty() || UID_BYTES_MAX < request.uid.len() {
        return Err(format!(
            "AdmissionReview: request.uid: 1 to {UID_BYTES_MAX} bytes are allowed"
        ));
    }
    Ok(AdmissionRequest {
        uid: request.uid,
        group: request.kind.group,
        kind: request.kind.kind,
        operation: AdmissionOperation::parse(&request.operation),
        is_dry_run: request.dry_run.unwrap_or_default(),
    })
}

/// What the URL answers. An AdmissionReview is always allowed; a dry run gets a warning.
pub fn url_answer(call: &UrlCall) -> String {
    let (status, body) = match call {
        UrlCall::Review(request) => {
            let warnings: &[&str] = if request.is_dry_run { &[PROBE_WARNING] } else { &[] };
            let response = json!({"uid": request.uid, "allowed": true, "warnings": warnings});
            (200, json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}))
        }
        UrlCall::NotFound => (404, json!({"message": "not found"})),
        UrlCall::Malformed(why) => (400, json!({"message": why})),
    };
    let headers = json!({"content-type": "application/json"});
    json!({"statusCode": status, "headers": headers, "body": body.to_string()}).to_string()
}

#[cfg(test)]
mod tests;

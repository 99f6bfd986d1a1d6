//! Calls of the URL of `wake`: what is answered, and when.

use std::time::Duration;

use model::{
    ClusterName,
    wake::{AdmissionRequest, WakeKey},
};
use ports::Invocation;
use serde_json::Value;
use tokio::time::timeout;
use wire::admission::{UrlCall, url_answer, url_call};

use super::Call;
use crate::{Failure, metrics::Counts};

/// How long a call waits for the functions to be woken. The API server waits for a second, on its way to the URL too, and
/// goes on without the answer after it.
const WAKE_WAIT: Duration = Duration::from_millis(800);

/// What the URL opens, and what it is for.
pub(super) struct Url<'a, H> {
    pub(super) cluster: &'a ClusterName,
    pub(super) key: &'a WakeKey,
    pub(super) handle: H,
}

impl<H> Url<'_, H>
where
    H: AsyncFn(AdmissionRequest, &Invocation) -> Result<(), handlers::Error>,
{
    /// The answer to one call, and what to count about it.
    pub(super) async fn answer(
        &self,
        event: Value,
        call: &Call<'_>,
    ) -> (Result<Value, Failure>, Counts) {
        let mut counts = Counts { deliveries: 1, ..Counts::default() };
        let called = url_call(&event.to_string(), &self.key.paths(self.cluster, call.now));
        match &called {
            UrlCall::Review(request) => counts.failed = self.woken(request, call).await,
            // Everyone can send these.
            UrlCall::NotFound | UrlCall::Malformed(_) => counts.ignored = 1,
        }
        (serde_json::from_str(&url_answer(&called)).map_err(Failure::malformed), counts)
    }

    /// Does what `request` asks; how many failed. An API server is not told: the schedules look within a minute.
    async fn woken(&self, request: &AdmissionRequest, call: &Call<'_>) -> u64 {
        let id = call.request_id.to_owned();
        let (cluster, now, deadline) = (self.cluster.clone(), call.now, call.deadline);
        let at = Invocation { id, cluster, now, deadline };
        let story = match timeout(WAKE_WAIT, (self.handle)(request.clone(), &at)).await {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => handlers::story(&error),
            Err(_) => format!("no answer within {WAKE_WAIT:?}"),
        };
        let kind = request.kind.as_str();
        tracing::warn!(story, kind, "functions not woken: their schedules will");
        1
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use jiff::{SignedDuration, Timestamp};
    use ports::{Fault, PortError};
    use serde_json::json;

    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    /// What becomes of a request.
    #[derive(Clone, Copy, Debug)]
    enum Waking {
        Works,
        Fails,
        Hangs,
    }

    fn review(dry_run: bool) -> String {
        let request = json!({"uid": "u-1", "kind": {"group": "", "version": "v1", "kind": "Event"},
            "operation": "CREATE", "dryRun": dry_run, "object": null});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
            .to_string()
    }

    /// The answer to a call of the path of `day`, its body, what is counted, and the requests that were handled.
    async fn called(
        day: &str,
        body: &str,
        waking: Waking,
    ) -> (Value, Value, Counts, Vec<AdmissionRequest>) {
        let (cluster, key) = (ClusterName::new("demo").unwrap(), WakeKey::new(KEY).unwrap());
        let path = key.path(&cluster, day.parse().unwrap());
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let deadline = now + SignedDuration::from_secs(4);
        let call = Call { request_id: "r-1", now, deadline };
        let handled = RefCell::new(Vec::new());
        let handle = async |request: AdmissionRequest, at: &Invocation| {
            assert_eq!((at.now, at.id.as_str(), &at.cluster), (now, "r-1", &cluster));
            handled.borrow_mut().push(request);
            match waking {
                Waking::Works => Ok(()),
                Waking::Fails => Err(PortError::new("SendMessageBatch", Fault::Permanent).into()),
                Waking::Hangs => std::future::pending().await,
            }
        };
        let event = json!({"rawPath": format!("/{path}"), "body": body, "isBase64Encoded": false,
            "requestContext": {"http": {"method": "POST"}}});
        let (answer, counts) =
            Url { cluster: &cluster, key: &key, handle }.answer(event, &call).await;
        let answer = answer.unwrap();
        let body = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        (answer, body, counts, handled.into_inner())
    }

    #[tokio::test]
    async fn a_review_is_allowed_however_waking_ends() {
        for (waking, failed) in [(Waking::Works, 0), (Waking::Fails, 1), (Waking::Hangs, 1)] {
            let (answer, body, counts, handled) =
                called("2026-11-30T00:00:00Z", &review(false), waking).await;
            assert_eq!(answer["statusCode"], 200, "{waking:?}");
            assert_eq!(
                (&body["response"]["allowed"], &body["response"]["uid"]),
                (&json!(true), &json!("u-1"))
            );
            assert_eq!(
                (counts.deliveries, counts.failed, handled.len()),
                (1, failed, 1),
                "{waking:?}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_call_of_the_api_server_wakes_nothing() {
        for (day, body, status) in [
            ("2026-11-28T00:00:00Z", review(false), 404),
            ("2026-11-30T00:00:00Z", "{}".to_owned(), 400),
        ] {
            let (answer, _, counts, handled) = called(day, &body, Waking::Works).await;
            assert_eq!((&answer["statusCode"], handled.len()), (&json!(status), 0));
            assert_eq!((counts.failed, counts.ignored), (0, 1));
        }
        for day in ["2026-11-29T00:00:00Z", "2026-12-01T00:00:00Z"] {
            let (answer, body, ..) = called(day, &review(true), Waking::Works).await;
            assert_eq!(answer["statusCode"], 200, "{day}");
            assert_eq!(body["response"]["warnings"], json!([model::wake::PROBE_WARNING]));
        }
    }
}

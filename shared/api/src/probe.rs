//! Whether an API server calls `wake`: a dry run of an event of a scheduler, which stores nothing.
//!
//! `wake` answers a dry run with a warning, which the API server hands to the client in a header `Warning`.
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response>

use model::{
    event::EventReason,
    labels::MANAGER,
    wake::{PROBE_REPORTER, PROBE_WARNING},
};
use serde_json::{Value, json};

/// Where the event is created, with `dryRun=All`.
pub const PATH: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// An event that the rule `unschedulable-pods` of [`model::wake::WAKE_RULES`] is about. Its name and its time are the
/// same in each probe, since it is never stored.
pub fn event() -> Value {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": PROBE_REPORTER,
    });
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": PROBE_REPORTER, "namespace": "default" },
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "action": "Scheduling",
        "reason": EventReason::FailedScheduling.as_str(),
        "regarding": pod,
        "note": "a dry run by which Journeyman sees whether the API server calls wake",
        "type": "Warning",
        "reportingController": PROBE_REPORTER,
        "reportingInstance": MANAGER,
    })
}

/// The AdmissionReview that an API server makes of the probe, as far as `wake` reads it.
pub fn review() -> Value {
    let kind = json!({ "group": "events.k8s.io", "version": "v1", "kind": "Event" });
    let request = json!({
        "uid": PROBE_REPORTER, "kind": kind, "operation": "CREATE", "object": event(), "dryRun": true,
    });
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request })
}

/// Whether `warning`, a header `Warning: 299 - "…"`, is of `wake`. Others warn too, also in one header with it.
pub fn is_of_wake(warning: &str) -> bool {
    warning.contains(&format!("\"{PROBE_WARNING}\""))
}

#[cfg(test)]
mod tests {
    use super::is_of_wake;

    #[test]
    fn others_that_warn_are_not_wake() {
        let others = "299 - \"spec.x: unknown field\"";
        assert!(!is_of_wake(others) && !is_of_wake(""));
        assert!(is_of_wake("299 - \"journeyman: wake is called\""));
        assert!(is_of_wake(&format!("{others}, 299 - \"journeyman: wake is called\"")));
        assert!(!is_of_wake("299 - \"no journeyman: wake is called\""));
    }
}

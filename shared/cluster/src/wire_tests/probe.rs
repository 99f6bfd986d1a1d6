//! The probe of `wake`, over the wire.

use model::wake::ProbeAnswer;
use ports::{Fault, NodePools as _, PortError};
use serde_json::json;

use super::{Server, refused};

const EVENTS: &str = "POST /apis/events.k8s.io/v1/namespaces/default/events";
const OURS: &str = "299 - \"journeyman: wake is called\"";

async fn probe(warnings: &[&'static str]) -> ProbeAnswer {
    let server = Server::new([(201, json!({ "kind": "Event" }))]).warning(warnings);
    let answer = server.cluster().probe_wake().await.unwrap();
    server.check_sent(&[EVENTS]);
    answer
}

#[tokio::test]
async fn a_warning_of_wake_is_an_answer_and_no_other_is() {
    assert_eq!(probe(&[OURS]).await, ProbeAnswer::Answered);
    let other = "299 - \"events.k8s.io/v1 Event is deprecated\"";
    assert_eq!(probe(&[other, OURS]).await, ProbeAnswer::Answered);
    // A proxy may join headers.
    let joined = "299 - \"other\", 299 - \"journeyman: wake is called\"";
    assert_eq!(probe(&[joined]).await, ProbeAnswer::Answered);
    for silent in [&[] as &[&str], &[other], &["299 - \"journeyman: wake is called for\""]] {
        assert_eq!(probe(silent).await, ProbeAnswer::Silent, "{silent:?}");
    }
}

#[tokio::test]
async fn a_probe_is_a_dry_run_of_the_event_of_a_scheduler() {
    let server = Server::new([(201, json!({}))]);
    server.cluster().probe_wake().await.unwrap();
    let sent = &server.sent()[0];
    assert!(sent.query.contains(&("dryRun".to_owned(), "All".to_owned())), "{:?}", sent.query);
    let body = &sent.body;
    for (pointer, value) in [
        ("/reason", "FailedScheduling"),
        ("/regarding/kind", "Pod"),
        ("/reportingController", "journeyman-probe"),
        ("/metadata/namespace", "default"),
    ] {
        assert_eq!(body.pointer(pointer).unwrap(), value, "{body}");
    }
}

async fn refusal(answer: (u16, serde_json::Value)) -> PortError {
    // A warning does not make a refusal an answer.
    let server = Server::new([answer]).warning(&[OURS]);
    server.cluster().probe_wake().await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_is_never_silence() {
    let forbidden = refusal(refused(403, "Forbidden", "events is forbidden")).await;
    assert_eq!(forbidden.fault, Fault::Permanent);
    let why = forbidden.source.unwrap().to_string();
    assert_eq!(why, "the API server answered 403 Forbidden: events is forbidden");
    assert_eq!(refusal(refused(404, "NotFound", "no such resource")).await.fault, Fault::NotFound);
    assert_eq!(refusal(refused(504, "Timeout", "slow")).await.fault, Fault::Transient);
    // Of a proxy.
    let bare = refusal((502, json!("bad gateway"))).await;
    assert_eq!(bare.fault, Fault::Transient);
    // No answer at all.
    let error = Server::new([]).cluster().probe_wake().await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient);
}
